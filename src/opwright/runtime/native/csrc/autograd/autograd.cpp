#include <ATen/core/LegacyTypeDispatch.h>

#include "errors.h"
#include "autograd/forward_mode.h"
#include "call/kernels.h"
#include "autograd/mutated.h"
#include "autograd/recording.h"

namespace opw {
namespace {

void below_autograd(const Operator &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  const auto below = keys & c10::after_autograd_keyset;
  if (!op.bound && is_plain(below)) {
    const Mutated mutated(op, *stack);
    run(op, *stack);
    return mutated.bump();
  }
  check_dense(op, torch::jit::last(*stack, op.plan.arguments.size()));
  at::AutoDispatchBelowADInplaceOrView guard;
  redispatch(op, below, stack);
}

}  // namespace

void AutogradKernel::run(const Operator &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  const auto arguments = torch::jit::last(*stack, op.plan.arguments.size());
  const Derivative &d = *op.derivative;
  const bool recorded = requires_grad<c10::IValue>(d, arguments);
  const Mutated mutated(op, *stack);
  mutated.check(recorded);
  if (recorded && C10_UNLIKELY(mutated.have_view_beside(d.result_slots))) {
    if (is_plain(keys & c10::after_autograd_keyset)) check_overlap(op, arguments);
    return run_on_copies(op, stack);
  }
  const Tangents tangents(op, arguments);
  if (!recorded) {
    below_autograd(op, keys, stack);
    return tangents.set(torch::jit::last(*stack, op.returns()), mutated);
  }
  const NodePtr node = record<c10::IValue>(d, arguments);
  const Operator &forward = recorded_form(op);
  const Absent absent(forward, arguments);
  below_autograd(forward, keys, stack);
  const auto outputs = torch::jit::last(*stack, forward.returns());
  connect<c10::IValue>(d, node, outputs, &absent);
  mutated.rebase(d, node);
  tangents.set(outputs, mutated);
  if (d.backward) static_cast<OperatorNode &>(*node).save_outputs<c10::IValue>(outputs);
  // Whoever asks for residuals, as torch.func does for a level above this one, computes with them.
  for (size_t i = 0; d.backward && op.returns_residuals && i < outputs.size(); ++i)
    if (d.written[i].slot < 0)
      (*stack)[stack->size() - forward.returns() + i] = dependent(d, tensor_of(outputs[i]), node->next_edges());
  torch::jit::drop(*stack, forward.returns() - op.returns());
}

}  // namespace opw
