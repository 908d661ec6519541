// The form in which a caller gets results: in a list, or as arguments that the kernel overwrites. Inside, an operator has its
// results one by one, and none where it returns arguments.
#pragma once
#include "call/operator.h"

namespace opw {

// Gives the results of a call that form. Takes what is returned from the arguments, before they are gone.
class Form {
 public:
  Form(const Operator &op, const torch::jit::Stack &stack);
  void give(torch::jit::Stack *stack);

 private:
  const Operator &op_;
  c10::SmallVector<c10::IValue, 1> returned_;
};

// Takes results in that form apart.
void take_apart(const Operator &op, torch::jit::Stack *stack);

}  // namespace opw
