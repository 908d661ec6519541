#include <ATen/autocast_mode.h>
#include <ATen/ops/to.h>

#include "call/kernels.h"
#include "torch_compat.h"

namespace opw {
namespace {

// Whether autocast may cast a tensor; 8-bit floats are left alone, as their scale is known to the caller only.
bool is_cast(const at::Tensor &t) { return t.defined() && t.is_floating_point() && !only_converts(t.scalar_type()); }

// What each type variable of a call is under autocast; nothing where no floating input tells.
class Widest {
 public:
  Widest(const Plan &plan, c10::ArrayRef<c10::IValue> arguments) : plan_(plan), types_(plan.variables.size()) {
    for (size_t i = 0; i < arguments.size() && !promotes(); ++i) {
      if (plan.arguments[i].kind != Kind::Tensor) continue;
      const auto &p = plan.inputs[plan.arguments[i].index];
      const at::Tensor &t = tensor_of(arguments[i]);
      if (p.type_kind == TypeKind::Variable && is_cast(t)) widen(types_[p.type], p, t.scalar_type());
    }
    for (size_t v = 0; v < types_.size(); ++v) settle(static_cast<int64_t>(v));
  }
  std::optional<at::ScalarType> of(const TensorPlan &p) const {
    if (p.type_kind == TypeKind::Concrete) return static_cast<at::ScalarType>(p.type);
    const auto &type = types_[p.type].type;
    return type && p.type_kind == TypeKind::Accumulate ? std::optional(accumulate(*type)) : type;
  }

 private:
  // Whether the operator promotes its arguments itself, as PyTorch's own pointwise ones go on doing under autocast.
  bool promotes() const { return plan_.broadcast == Broadcast::Pointwise && plan_.autocast < 0; }
  struct Type {
    std::optional<at::ScalarType> type;
    bool fixed = false;  // by what is mutated, which can't be a copy
  };
  static void widen(Type &known, const TensorPlan &p, at::ScalarType type) {
    if (known.fixed) return;
    known.type = known.type && !p.mutated ? c10::promoteTypes(*known.type, type) : type;
    known.fixed = p.mutated;
  }
  void settle(int64_t variable) {
    auto &known = types_[variable];
    const auto asked = static_cast<at::ScalarType>(plan_.autocast);
    const bool asks = plan_.autocast >= 0 && allows(plan_, variable, asked);
    if (plan_.broadcast ==
        Broadcast::Pointwise) {  // promotes by itself, so that only what its signature asks for remains
      known.type = known.type && asks ? std::optional(asked) : std::nullopt;
      return;
    }
    if (known.type && !known.fixed && asks) known.type = asked;
    if (known.type && !allows(plan_, variable, *known.type)) known.type.reset();
  }
  const Plan &plan_;
  std::vector<Type> types_;
};

}  // namespace

void AutocastKernel::run(const Operator &op, c10::DispatchKeySet, torch::jit::Stack *stack) {
  const compat::ExcludeKeys no_autocast(c10::autocast_dispatch_keyset);
  const size_t count = op.plan.arguments.size(), first = stack->size() - count;
  const Widest widest(op.plan, torch::jit::last(*stack, count));
  for (size_t i = 0; i < count; ++i) {
    if (op.plan.arguments[i].kind != Kind::Tensor) continue;
    const auto &p = op.plan.inputs[op.plan.arguments[i].index];
    const at::Tensor &t = tensor_of((*stack)[first + i]);
    const auto type = widest.of(p);
    if (is_cast(t) && !p.mutated && type && c10::isFloatingType(*type) && !only_converts(*type) &&
        *type != t.scalar_type())
      (*stack)[first + i] = t.to(*type);
  }
  call(op, stack);
}

}  // namespace opw
