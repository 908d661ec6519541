// What an operator overwrites, as autograd sees it: checks, version counters, histories.
#pragma once
#include <ATen/core/stack.h>

#include "autograd/node.h"

namespace opw {

// The tensors that a call mutates, remembered before it takes its arguments off the stack.
class Mutated {
 public:
  Mutated(const Operator &op, const torch::jit::Stack &stack);
  void check(bool requires_grad) const;  // PyTorch's own errors for what may not be overwritten: leaves, some views
  // Whether a view is overwritten beside other results (so many of the node's): autograd's CopySlices, which stands in for
  // the node of a mutated view, wants one that has a single result.
  bool have_view_beside(size_t results) const;
  void bump() const;
  // Gives the i-th one another tangent. One that it has is overwritten, as PyTorch wants it.
  void set_tangent(size_t i, const at::Tensor &tangent) const;
  // Makes the node their history: for all of them it gets one input more.
  void rebase(const Derivative &d, const NodePtr &node) const;

 private:
  const Operator &op_;
  c10::SmallVector<at::Tensor, 2> tensors_;
};

// Runs the operator, from the Autograd key on, on copies of what it overwrites, and copies them back.
void run_on_copies(const Operator &op, torch::jit::Stack *stack);

}  // namespace opw
