// The C++ Node that autograd keeps of one call of an operator.
#pragma once
#include <string>
#include <vector>

#include "autograd/derivative.h"
#include "direct/given.h"
#include "torch_compat_autograd.h"

namespace opw {

using compat::NodePtr;
using compat::variable_list;

// PyTorch lets 8-bit floats require gradients, but can't add two of them.
inline bool differentiable(const at::Tensor &t) {
  return t.defined() && compat::is_differentiable(t.scalar_type()) && !only_converts(t.scalar_type());
}

class OperatorNode final : public compat::Node {
 public:
  explicit OperatorNode(const Derivative &derivative) : derivative_(derivative) {}
  std::string name() const override { return derivative_.node_name; }
  void release_variables() override;
  void compiled_args(compat::CompiledNodeArgs &) const override;  // compiled_autograd.cpp
  variable_list apply_with_saved(const variable_list &gradients, compat::SwapSavedVariables &saved) override;
  variable_list apply(variable_list &&gradients) override;

  template <class Value>  // IValue or Given
  void save_inputs(c10::ArrayRef<Value> arguments);
  template <class Value>  // IValue or Tensor
  void save_outputs(c10::ArrayRef<Value> outputs);

 private:
  void unpack(const variable_list &gradients, c10::SmallVectorImpl<at::Tensor> &tensors);
  variable_list in_edge_order(variable_list &&results) const;
  variable_list run_directly(const c10::SmallVectorImpl<at::Tensor> &tensors);
  std::vector<bool> real_edges() const;  // whether the argument at an edge has real numbers
  uint64_t wanted() const;               // bit i: somebody waits for output i of the backward

  const Derivative &derivative_;
  // In the order of the wires that need them. With six in place, nodes would be larger than what malloc keeps for the next one.
  c10::SmallVector<compat::SavedVariable, 5> saved_;
  c10::SmallVector<c10::IValue, 4> scalars_;  // likewise
};

// Calls a backward through the dispatcher: `tensors`, `scalars` and a mask of the wanted gradients, in its schema's order.
variable_list call_backward(const Derivative &d, const c10::SmallVectorImpl<at::Tensor> &tensors,
                            c10::ArrayRef<c10::IValue> scalars, uint64_t wanted);

// Makes complex gradients of arguments with real numbers real.
void take_real_parts(variable_list &gradients, const std::vector<bool> &real);

// A residual that has no gradient depends on the inputs all the same. Where a second derivative may be asked for, and
// there is none, it gets a history that ends in the error that says so: a constant would make it a zero.
at::Tensor dependent(const Derivative &d, const at::Tensor &residual, compat::edge_list edges);

// What the arguments of a call determine, sizes perhaps symbolic.
void bind_arguments(const Plan &plan, c10::ArrayRef<c10::IValue> arguments, Bound<c10::SymInt> &bound);

}  // namespace opw
