#include "autograd/forward_mode.h"

#include <ATen/ops/clone.h>
#include <ATen/ops/to.h>

#include <algorithm>

#include "errors.h"
#include "messages.h"

namespace opw {
namespace {

// PyTorch has a single level of forward mode; torch.func nests in another way.
at::Tensor tangent(const at::Tensor &t) { return compat::tangent(t); }

bool has_tangent(const c10::IValue &value) { return compat::has_tangent(tensor_of(value)); }

}  // namespace

Tangents::Tangents(const Operator &op, c10::ArrayRef<c10::IValue> arguments)
    : plan_(op.plan), mode_(op.derivative->forward_mode) {
  if (C10_LIKELY(std::none_of(arguments.begin(), arguments.end(), has_tangent))) return;
  if (!mode_.op) raise(Class::Unsupported, messages::no_forward_mode(op.kernel->name));
  if (std::any_of(mode_.inputs.begin(), mode_.inputs.end(), [&](int64_t i) { return has_tangent(arguments[i]); }))
    compute(arguments);
}

// What is overwritten has another value in a moment, and so has its tangent: where a graph may hold them, copies go there.
at::Tensor Tangents::kept(int64_t argument, const at::Tensor &t) const {
  const bool changes = plan_.inputs[plan_.arguments[argument].index].mutated && c10::GradMode::is_enabled();
  return changes ? at::clone(t) : t;
}

void Tangents::compute(c10::ArrayRef<c10::IValue> arguments) {
  torch::jit::Stack stack;
  for (const int64_t i : mode_.inputs)
    stack.push_back(has_tangent(arguments[i]) ? c10::IValue(kept(i, tangent(arguments[i].toTensor()))) : c10::IValue());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (plan_.arguments[i].kind == Kind::Mask) continue;
    const auto &t = tensor_of(arguments[i]);
    stack.push_back(t.defined() ? c10::IValue(kept(static_cast<int64_t>(i), compat::without_tangent(t)))
                                : arguments[i]);
  }
  mode_.op->handle.callBoxed(stack);
  for (const auto &value : stack) results_.push_back(tensor_of(value));
  for (const auto &old : mode_.old) {
    const auto &t = tensor_of(arguments[old.argument]);
    old_.push_back(has_tangent(t) ? at::clone(tangent(t)) : at::Tensor());
  }
}

void Tangents::set(c10::ArrayRef<c10::IValue> outputs, const Mutated &mutated) const {
  if (C10_LIKELY(results_.empty())) return;
  for (size_t i = 0; i < results_.size(); ++i) {
    const auto written = static_cast<size_t>(mode_.results[i]);
    if (written >= plan_.outputs.size()) {
      mutated.set_tangent(written - plan_.outputs.size(), results_[i]);
    } else if (const auto &t = tensor_of(outputs[written]); t.defined()) {
      compat::set_tangent(t, results_[i], /*in_place=*/false);
    }
  }
  for (size_t i = 0; i < old_.size(); ++i) {
    const auto written = static_cast<size_t>(mode_.old[i].written);
    if (written >= outputs.size() || !old_[i].defined()) continue;  // without residuals
    const auto &t = outputs[written].toTensor();
    compat::set_tangent(t, old_[i].to(t.scalar_type()), /*in_place=*/false);
  }
}

}  // namespace opw
