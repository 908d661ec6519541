// Autograd for operators: a boxed kernel at the Autograd key, and the C++ Node that it makes.
#pragma once
#include <torch/library.h>

#include <string>
#include <vector>

#include "operator.h"

namespace opw {

// Where an argument of `foo_backward` comes from. The index counts: an output of foo (Gradient), a schema argument of foo
// (Input, Scalar), an output or residual of foo (Output), an axis of foo (Axis).
enum class Source : int64_t { Gradient, ZeroGradient, Input, Output, Scalar, Axis, Ellipsis, Mask };
struct Wire {
  Source source;
  int64_t index;
};

struct Derivative {
  const Operator* forward = nullptr;   // with residuals, where there are any
  const Operator* backward = nullptr;  // none: differentiating is an error, and `missing` says what to write
  std::vector<Wire> wires;             // one per schema argument of the backward
  std::vector<int64_t> inputs;         // per output of the backward: the schema argument of foo that it is the gradient of
  std::vector<bool> differentiable;    // per output (and residual) of foo
  bool needs_axes = false;
  std::string node_name;  // "MyOpBackward"
  std::string missing;

  static Derivative* decode(const int64_t* words, int64_t count);
};

struct AutogradKernel final : c10::OperatorKernel {
  explicit AutogradKernel(const Operator* op) : op(op) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet keys, torch::jit::Stack* stack);
  const Operator* op;
};

struct CPUKernel final : c10::OperatorKernel {
  explicit CPUKernel(const Operator* op) : op(op) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
    run(*op, *stack);
  }
  const Operator* op;
};

}  // namespace opw
