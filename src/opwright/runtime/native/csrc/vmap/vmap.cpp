#include "vmap/vmap.h"

#include <ATen/ops/movedim.h>
#include <ATen/ops/select.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/unsqueeze.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

#include "autograd/mutated.h"
#include "call/kernels.h"
#include "errors.h"
#include "messages.h"
#include "torch_compat.h"
#include "torch_compat_functorch.h"

namespace opw {

bool maps(const Operator &op) {
  const Plan &plan = op.plan;
  return plan.broadcast == Broadcast::None && !op.bound && !op.has_form() && !plan.list_groups && !plan.random &&
         !plan.factory && !plan.counts && !plan.decided;
}

namespace {

using Stack = torch::jit::Stack;

// The first axis of all tensors.
Independent first_axis(const Plan &plan) {
  return {-1, std::vector<int64_t>(plan.inputs.size(), -1), std::vector<int64_t>(plan.outputs.size(), -1)};
}

// The arguments of a call below a vmap.
class Batch {
 public:
  Batch(const Operator &op, const compat::VmapLevel &at, c10::ArrayRef<c10::IValue> arguments)
      : op_(op), at_(at), values_(arguments.begin(), arguments.end()), axes_(arguments.size(), -1) {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (op.plan.arguments[i].kind != Kind::Tensor || !values_[i].isTensor()) continue;
      auto [tensor, axis] = compat::unwrapped(values_[i].toTensor(), at.level);
      values_[i] = std::move(tensor);
      axes_[i] = axis;
    }
  }

  void check_overwritten() const;
  // Whether our kernels may be called as they are: nobody else listens, and all tensors are plain.
  bool is_plain() const;
  bool is_traced() const;

  void run(Stack *stack) const;

 private:
  const at::Tensor &tensor(size_t i) const { return tensor_of(values_[i]); }
  const Independent *foldable() const;
  bool takes(const Independent &axis) const;
  void run_folded(const Independent &axis, Stack *stack, bool plain) const;
  at::Tensor folded(size_t i, int64_t from_last, c10::SymInt &slices) const;
  void push_stacked(Stack *stack) const;
  void run_one_by_one(Stack *stack) const;
  void push_element(int64_t number, Stack *stack) const;
  void wrap(Stack *stack, size_t results) const;

  const Operator &op_;
  const compat::VmapLevel &at_;
  Stack values_;
  c10::SmallVector<int64_t, 8> axes_;  // where the batch is in each argument; -1: it has none
};

void Batch::check_overwritten() const {
  for (size_t i = 0; i < values_.size(); ++i) {
    const auto &argument = op_.plan.arguments[i];
    if (argument.kind != Kind::Tensor || axes_[i] >= 0 || !tensor(i).defined()) continue;
    if (op_.plan.inputs[argument.index].mutated)
      raise(Class::Unsupported,
            messages::overwritten_without_batch(op_.kernel->name, argument_name(op_, argument.index)));
  }
}

bool Batch::is_plain() const {
  if (compat::dispatch_mode_enabled() || at::hasThreadLocalCallbacks() || at::hasGlobalCallbacks()) return false;
  const auto excluded = compat::local_keys().excluded_;
  for (size_t i = 0; i < values_.size(); ++i) {
    const at::Tensor &t = tensor(i);
    if (!t.defined()) continue;
    const auto keys = t.key_set();
    if (!((keys & c10::autocast_dispatch_keyset) - excluded).empty()) return false;
    if (!opw::is_plain(keys - c10::autograd_dispatch_keyset - c10::autocast_dispatch_keyset)) return false;
    if ((c10::GradMode::is_enabled() && t.requires_grad()) || compat::has_tangent(t)) return false;
  }
  return true;
}

bool Batch::is_traced() const {
  if (compat::dispatch_mode_enabled()) return true;
  for (size_t i = 0; i < values_.size(); ++i)
    if (tensor(i).defined() && tensor(i).key_set().has(c10::DispatchKey::Python)) return true;
  return false;
}

// Whether all that has the batch has the axis, results that are wanted included.
bool Batch::takes(const Independent &axis) const {
  uint64_t wanted = ~uint64_t(0);
  for (size_t i = 0; i < values_.size(); ++i) {
    const auto &argument = op_.plan.arguments[i];
    if (argument.kind == Kind::Tensor && axes_[i] >= 0 && !axis.inputs[argument.index]) return false;
    if (argument.kind != Kind::Mask) continue;
    const auto mask = values_[i].toBoolList();
    for (size_t bit = 0; bit < mask.size(); ++bit)
      if (!mask.get(bit)) wanted &= ~(uint64_t(1) << bit);
  }
  for (size_t i = 0; i < op_.returns(); ++i)
    if (((wanted >> i) & 1) && !axis.outputs[i]) return false;
  return true;
}

const Independent *Batch::foldable() const {
  if (!op_.plan.mutated.empty()) return nullptr;  // a copy would be overwritten
  for (const auto &axis : op_.plan.independent)
    if (takes(axis)) return &axis;
  return nullptr;
}

// A tensor with the batch before the slices along an axis, as one axis. `slices`: how many there were.
at::Tensor Batch::folded(size_t i, int64_t from_last, c10::SymInt &slices) const {
  at::Tensor t = tensor(i);
  const int64_t place = from_last < 0 ? 0 : t.dim() - (axes_[i] >= 0 ? 1 : 0) - from_last;
  slices = t.sym_size(axes_[i] >= 0 && axes_[i] <= place ? place + 1 : place);
  if (axes_[i] < 0) {
    t = t.unsqueeze(place);
    c10::SmallVector<c10::SymInt, 6> sizes(t.sym_sizes().begin(), t.sym_sizes().end());
    sizes[place] = at_.size;
    t = t.expand_symint(sizes);
  } else if (axes_[i] != place) {
    t = t.movedim(axes_[i], place);
  }
  c10::SmallVector<c10::SymInt, 6> sizes(t.sym_sizes().begin(), t.sym_sizes().end());
  sizes[place + 1] = at_.size * sizes[place + 1];
  sizes.erase(sizes.begin() + place);
  return t.reshape_symint(sizes);
}

void Batch::run_folded(const Independent &axis, Stack *stack, bool plain) const {
  c10::SymInt slices(0);
  for (size_t i = 0; i < values_.size(); ++i) {
    const auto &argument = op_.plan.arguments[i];
    if (argument.kind == Kind::Tensor && tensor(i).defined() && axis.inputs[argument.index]) {
      stack->emplace_back(folded(i, axis.inputs[argument.index], slices));
    } else if (argument.kind == Kind::Axis && argument.index == axis.axis) {
      slices = values_[i].isInt() ? c10::SymInt(values_[i].toInt()) : values_[i].toSymInt();
      stack->emplace_back(slices * at_.size);
    } else {
      stack->push_back(values_[i]);
    }
  }
  if (plain) opw::run(op_, *stack);
  else op_.handle.callBoxed(stack);
  for (size_t i = 0; i < op_.returns(); ++i) {
    auto &value = (*stack)[stack->size() - op_.returns() + i];
    const at::Tensor t = tensor_of(value);
    if (!t.defined()) continue;
    const int64_t place = axis.outputs[i] < 0 ? 0 : t.dim() - axis.outputs[i];
    c10::SmallVector<c10::SymInt, 6> sizes(t.sym_sizes().begin(), t.sym_sizes().end());
    sizes[place] = slices;
    sizes.insert(sizes.begin() + place, at_.size);
    value = compat::wrapped(t.view_symint(sizes), place, at_.level);
  }
}

// Every tensor with the batch as its first axis.
void Batch::push_stacked(Stack *stack) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (op_.plan.arguments[i].kind != Kind::Tensor || !tensor(i).defined() || axes_[i] == 0) {
      stack->push_back(values_[i]);
    } else if (axes_[i] > 0) {
      stack->emplace_back(tensor(i).movedim(axes_[i], 0));
    } else {
      c10::SmallVector<c10::SymInt, 6> sizes{at_.size};
      sizes.append(tensor(i).sym_sizes().begin(), tensor(i).sym_sizes().end());
      stack->emplace_back(tensor(i).expand_symint(sizes));
    }
  }
}

// An element of the batch; of an empty one, zeros of its shape with its history.
void Batch::push_element(int64_t number, Stack *stack) const {
  const bool empty = at_.size.guard_int(__FILE__, __LINE__) == 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (axes_[i] < 0) {
      stack->push_back(values_[i]);
      continue;
    }
    const at::Tensor &t = tensor(i);
    c10::SmallVector<c10::SymInt, 6> sizes(t.sym_sizes().begin(), t.sym_sizes().end());
    sizes.erase(sizes.begin() + axes_[i]);
    if (!empty) stack->emplace_back(at::select(t, axes_[i], number));
    else stack->emplace_back(t.requires_grad() ? t.sum(axes_[i]) : t.new_zeros_symint(sizes));
  }
}

// Through the dispatcher, for those who trace or count calls.
void Batch::run_one_by_one(Stack *stack) const {
  const int64_t size = at_.size.guard_int(__FILE__, __LINE__);
  std::vector<std::vector<at::Tensor>> results(op_.returns());
  for (int64_t number = 0; number < std::max<int64_t>(size, 1); ++number) {
    Stack element;
    push_element(number, &element);
    op_.handle.callBoxed(&element);
    for (size_t i = 0; i < results.size(); ++i) results[i].push_back(tensor_of(element[i]));
  }
  for (const auto &each : results)
    stack->emplace_back(each[0].defined() ? at::stack(each).narrow(0, 0, size) : at::Tensor());
}

void Batch::wrap(Stack *stack, size_t results) const {
  for (size_t i = stack->size() - results; i < stack->size(); ++i)
    if (const at::Tensor t = tensor_of((*stack)[i]); t.defined()) (*stack)[i] = compat::wrapped(t, 0, at_.level);
}

void Batch::run(Stack *stack) const {
  const bool plain = is_plain();
  std::optional<compat::ForceKeys> below;
  if (plain)
    below.emplace(c10::default_included_set,
                  c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::default_excluded_set);
  if (op_.element) return run_folded(first_axis(op_.plan), stack, plain);  // for a batch already: both are one
  if (const auto *axis = foldable()) return run_folded(*axis, stack, plain);
  const size_t before = stack->size();
  if (plain) {
    const Mutated mutated(op_, values_);
    push_stacked(stack);
    run_over_batch(op_, *stack);
    mutated.bump();
  } else if (const Operator *whole = is_traced() ? nullptr : over_batch(op_)) {
    push_stacked(stack);
    whole->handle.callBoxed(stack);
  } else {
    run_one_by_one(stack);
  }
  wrap(stack, stack->size() - before);
}

}  // namespace

void BatchKernel::run(const Operator &op, c10::DispatchKeySet, torch::jit::Stack *stack) {
  const auto at = compat::vmap_level();
  const compat::ExcludeKeys below(c10::DispatchKeySet(c10::DispatchKey::FuncTorchBatched));
  const Batch batch(op, at, torch::jit::last(*stack, op.plan.arguments.size()));
  batch.check_overwritten();
  torch::jit::drop(*stack, op.plan.arguments.size());
  batch.run(stack);
}

}  // namespace opw
