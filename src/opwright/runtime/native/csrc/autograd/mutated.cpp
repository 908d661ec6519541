#include "autograd/mutated.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/clone.h>

#include <algorithm>
#include <utility>

#include "errors.h"
#include "call/kernels.h"

namespace opw {

Mutated::Mutated(const Operator &op, const torch::jit::Stack &stack) : op_(op) {
  if (C10_LIKELY(op.plan.mutated.empty())) return;
  const auto arguments = torch::jit::last(stack, op.plan.arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (op.plan.arguments[i].kind == Kind::Tensor && op.plan.inputs[op.plan.arguments[i].index].mutated)
      tensors_.push_back(tensor_of(arguments[i]));
}

void Mutated::check(bool requires_grad) const {
  for (const auto &t : tensors_)
    if (t.defined()) compat::check_inplace(t, requires_grad);
}

bool Mutated::have_view_beside(size_t results) const {
  return results + tensors_.size() > 1 && std::any_of(tensors_.begin(), tensors_.end(), [](const at::Tensor &t) {
           return t.defined() && t.is_view() && differentiable(t);
         });
}

void run_on_copies(const Operator &op, torch::jit::Stack *stack) {
  const size_t count = op.plan.arguments.size(), first = stack->size() - count;
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 2> back;
  for (size_t i = 0; i < count; ++i) {
    if (op.plan.arguments[i].kind != Kind::Tensor || !op.plan.inputs[op.plan.arguments[i].index].mutated) continue;
    const at::Tensor t = tensor_of((*stack)[first + i]);
    if (!t.defined()) continue;
    back.emplace_back(t, at::clone(t));
    (*stack)[first + i] = back.back().second;
  }
  call(op, stack);
  for (const auto &[to, from] : back) to.copy_(from);
}

void Mutated::set_tangent(size_t i, const at::Tensor &tangent) const {
  const auto &t = tensors_[i];
  if (!t.defined()) return;
  const at::Tensor known = compat::tangent(t);
  compat::set_tangent(t, known.defined() ? known.copy_(tangent) : tangent.to(t.scalar_type()), /*in_place=*/true);
}

void Mutated::bump() const {
  for (const auto &t : tensors_)
    if (t.defined() && !t.is_inference()) compat::bump_version(t);
}

void Mutated::rebase(const Derivative &d, const NodePtr &node) const {
  for (size_t m = 0; m < tensors_.size(); ++m) {
    const auto &t = tensors_[m];
    if (!t.defined()) {
      compat::add_undefined_input(*node);
      continue;
    }
    const auto nr = node->add_input_metadata(t);
    if (d.written[op_.plan.outputs.size() + m].differentiable && differentiable(t))
      compat::rebase_history(t, node, static_cast<uint32_t>(nr));
  }
}

void InplaceKernel::run(const Operator &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  const Mutated mutated(op, *stack);
  redispatch(op, keys & c10::after_ADInplaceOrView_keyset, stack);
  mutated.bump();
}

void LazyKernel::run(const Operator &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  const size_t count = op.plan.arguments.size(), first = stack->size() - count;
  at::AutoDispatchBelowADInplaceOrView guard;
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 2> back;
  for (size_t i = 0; i < count; ++i) {
    const at::Tensor t = tensor_of((*stack)[first + i]);
    if (!t.defined() || !(t.is_neg() || t.is_conj())) continue;
    const at::Tensor plain = at::clone(t);
    if (op.plan.inputs[op.plan.arguments[i].index].mutated) back.emplace_back(t, plain);
    (*stack)[first + i] = plain;
  }
  redispatch(op, keys - c10::DispatchKeySet({c10::DispatchKey::Negative, c10::DispatchKey::Conjugate}), stack);
  for (const auto &[to, from] : back) to.copy_(from);
}

}  // namespace opw
