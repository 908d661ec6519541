// A call that autograd keeps: its node, the edges to its arguments, the history of its results. For arguments and results on the
// dispatcher's stack (IValue), and for those of the direct path (Given, Tensor).
#pragma once
#include "autograd/node.h"

namespace opw {

// Whether a gradient will be needed: `Value` is IValue or Given.
template <class Value>
bool requires_grad(const Derivative &derivative, c10::ArrayRef<Value> arguments);

// The form of the operator that such a call runs: with residuals, where the backward takes some.
inline const Operator &recorded_form(const Operator &op) {
  return op.derivative->backward ? *op.derivative->forward : op;
}

// Makes the node of a call of these arguments, which it keeps where the backward takes them.
template <class Value>
NodePtr record(const Derivative &derivative, c10::ArrayRef<Value> arguments);

// Stands for an output that the mask left out: no memory, but the shape and type that a zero gradient for it has.
class Absent {
 public:
  Absent(const Operator &op, c10::ArrayRef<c10::IValue> arguments);
  at::Tensor like(size_t output) const;

 private:
  const Plan &plan_;
  std::optional<Bound<c10::SymInt>> bound_;
  c10::SymInt batch_ = 0;  // how many elements it has, where the operator is for one
  c10::Device device_ = c10::kCPU;
};

// Makes the node the history of the outputs: one input for each that has a slot. `Value` is IValue or Tensor; `absent`: none
// where there is no mask.
template <class Value>
void connect(const Derivative &derivative, const NodePtr &node, c10::ArrayRef<Value> outputs, const Absent *absent);

}  // namespace opw
