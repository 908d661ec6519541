#include "call/returns.h"

#include <c10/util/Exception.h>

namespace opw {

Form::Form(const Operator &op, const torch::jit::Stack &stack) : op_(op) {
  const auto arguments = torch::jit::last(stack, op.plan.arguments.size());
  for (const int64_t place : op.plan.returned) returned_.push_back(arguments[static_cast<size_t>(place)]);
}

void Form::give(torch::jit::Stack *stack) {
  for (auto &argument : returned_) stack->push_back(std::move(argument));
  if (!op_.plan.listed) return;
  c10::List<at::Tensor> list;
  for (const auto &value : torch::jit::last(*stack, op_.returns())) list.push_back(tensor_of(value));
  torch::jit::drop(*stack, op_.returns());
  stack->emplace_back(std::move(list));
}

void take_apart(const Operator &op, torch::jit::Stack *stack) {
  if (C10_LIKELY(!op.has_form())) return;
  torch::jit::drop(*stack, op.plan.returned.size());
  if (!op.plan.listed) return;
  const c10::IValue list = torch::jit::pop(*stack);
  const auto tensors = list.toListRef();
  TORCH_CHECK(tensors.size() == op.returns(), op.kernel->name, "(): a list of ", tensors.size(), " results, expected ",
              op.returns());
  for (const auto &tensor : tensors) stack->push_back(tensor);
}

}  // namespace opw
