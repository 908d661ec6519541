// How autograd gets from an operator to its backward: decoded once from the integers that runtime/native/plan.py writes.
#pragma once
#include <string>
#include <vector>

#include "call/operator.h"

namespace opw {

struct Wire {
  Source source;
  int64_t index;
};

// An edge of the node, to a schema argument of foo. What is mutated comes first.
struct EdgePlan {
  int64_t argument;
  int64_t gradient;  // the output of the backward; -1: it is zero, the argument being overwritten without being read
};

// A tensor that foo writes: its results, its residuals, what it mutates.
struct WrittenPlan {
  bool differentiable;
  int64_t slot;  // which of the node's inputs its gradient is; -1 for a residual that has none
};

// The forward-mode derivative of foo: takes the tangents of these schema arguments of foo, each perhaps None, then all that
// foo's signature has; gives the tangents of these of what foo writes.
struct ForwardMode {
  struct Old { int64_t written, argument; };
  const Operator *op = nullptr;  // none: an error where there is a tangent
  std::vector<int64_t> inputs, results;
  std::vector<Old> old;  // the residuals that are old values of arguments, and have their tangents
};

// signature/wiring.py says what is in it.
struct Derivative {
  const Operator *forward = nullptr;   // with residuals, where there are any
  const Operator *backward = nullptr;  // none: differentiating is an error, and `missing` says what to write
  std::vector<Wire> wires;             // one per schema argument of the backward
  std::vector<EdgePlan> edges;
  std::vector<WrittenPlan> written;
  ForwardMode forward_mode;
  size_t result_slots = 0;  // how many results and residuals have a slot
  bool needs_axes = false;  // whether a wire's source is an axis or the ellipsis
  std::string node_name;    // "MyOpBackward"
  std::string missing;

  static Derivative *decode(const Plan &plan, const int64_t *words, int64_t count);
};

}  // namespace opw
