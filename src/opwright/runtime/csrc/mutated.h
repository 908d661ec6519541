// What an operator overwrites, as autograd sees it: checks, version counters, histories.
#pragma once
#include <ATen/core/stack.h>

#include "node.h"

namespace opw {

// The tensors that a call mutates, remembered before it takes its arguments off the stack.
class Mutated {
 public:
  Mutated(const Operator& op, const torch::jit::Stack& stack);
  // PyTorch's own errors for what may not be overwritten: leaves, some views. `results`: how many the node has besides.
  void check(bool requires_grad, size_t results) const;
  void bump() const;
  // Makes the node their history: for all of them it gets one input more.
  void rebase(const Derivative& d, const NodePtr& node) const;

 private:
  const Operator& op_;
  c10::SmallVector<at::Tensor, 2> tensors_;
};

}  // namespace opw
