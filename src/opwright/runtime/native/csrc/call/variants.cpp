#include "call/variants.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/resize.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include <sstream>

#include "call/composite.h"
#include "errors.h"
#include "messages.h"
#include "torch_compat.h"
#include "torch_compat_autograd.h"

namespace opw {
namespace {

using Values = c10::ArrayRef<c10::IValue>;

// Calls `body` with each tensor among the values, those of lists too, and the number of the value. Stops where it returns true.
template <class F>
bool any_tensor(Values values, F body) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isTensor() && values[i].toTensor().defined() && body(values[i].toTensor(), i)) return true;
    if (!values[i].isTensorList()) continue;
    for (const auto &each : values[i].toListRef())
      if (tensor_of(each).defined() && body(tensor_of(each), i)) return true;
  }
  return false;
}

// Whether these tensors may go straight to our kernel: nobody else listens to the dispatcher.
bool are_plain(Values values) {
  c10::DispatchKeySet keys;
  const bool special = any_tensor(values, [&](const at::Tensor &t, size_t) {
    keys = keys | t.key_set();
    return t.is_inference() || compat::has_tangent(t);
  });
  const auto local = compat::local_keys();
  return !special && is_plain(((keys | local.included_) - local.excluded_) - c10::autograd_dispatch_keyset -
                              c10::DispatchKeySet(c10::DispatchKey::BackendSelect));
}

std::string text(c10::SymIntArrayRef sizes) {
  std::string shape;
  for (const auto &size : sizes) {
    std::ostringstream digits;
    digits << size;
    shape += (shape.empty() ? "" : ", ") + digits.str();
  }
  return "(" + shape + (sizes.size() == 1 ? ",)" : ")");
}

std::string text(at::ScalarType type) { return std::string(c10::getDtypeNames(type).first); }

// Composite: autograd, tracing and torch.func see the operator itself, and PyTorch's own copy of its results.
class VariantKernel final : public c10::OperatorKernel {
 public:
  VariantKernel(const Operator &op, VariantKind kind, const char *name) : op_(op), kind_(kind), name_(name) {}

  void operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet, torch::jit::Stack *stack) {
    const auto &schema = handle.schema();
    const size_t count = schema.arguments().size(), taken = op_.handle.schema().arguments().size();
    const auto arguments = torch::jit::last(*stack, count);
    const size_t first = kind_ == VariantKind::Inplace ? 0 : taken, results = schema.returns().size();
    const bool recorded = check_gradient(schema, arguments), plain = are_plain(arguments);
    if (plain) check_memory(schema, arguments, first, results);
    torch::jit::Stack inner(arguments.begin(), arguments.begin() + static_cast<long>(taken));
    if (recorded) inner[0] = at::clone(inner[0].toTensor());  // the backward may keep it, and it is overwritten
    const std::vector<c10::IValue> written(arguments.begin() + static_cast<long>(first),
                                           arguments.begin() + static_cast<long>(first + results));
    if (plain && !recorded && !op_.bound && !op_.plan.list_groups) run_directly(arguments, first, written, inner);
    else op_.handle.callBoxed(&inner);
    for (size_t i = 0; i < results; ++i)
      write(schema.arguments()[first + i].name(), written[i].toTensor(), inner[i].toTensor());
    torch::jit::drop(*stack, count);
    stack->insert(stack->end(), written.begin(), written.end());
  }

 private:
  std::string argument(const std::string &name) const { return name_ + "(): " + name; }

  // Whether a gradient will be needed; raises where there can't be one.
  bool check_gradient(const c10::FunctionSchema &schema, Values arguments) const {
    if (!c10::GradMode::is_enabled()) return false;
    return any_tensor(arguments, [&](const at::Tensor &t, size_t i) {
      if (!t.requires_grad()) return false;
      if (kind_ == VariantKind::Out)
        raise(Class::Unsupported,
              messages::out_with_gradient(argument(schema.arguments()[i].name()), op_.kernel->name));
      return true;
    });
  }

  void check_memory(const c10::FunctionSchema &schema, Values arguments, size_t first, size_t results) const {
    for (size_t i = first; i < first + results; ++i) {
      const at::Tensor &out = arguments[i].toTensor();
      const std::string name = argument(schema.arguments()[i].name());
      if (overlaps_itself(out)) raise(Class::Argument, messages::internal_overlap(name));
      any_tensor(arguments, [&](const at::Tensor &other, size_t number) {
        if (number == i) return false;
        const auto shared = shared_memory(out, other);
        const bool written_too = number >= first && number < first + results;
        if (shared == Shared::Partly || (shared == Shared::Same && written_too))
          raise(Class::Argument, messages::shared_memory(name, schema.arguments()[number].name()));
        return false;
      });
    }
  }

  // The tensor, if the kernel may write its result to it while it reads the arguments. A pointwise kernel with one result
  // reads each element before it writes it.
  const at::Tensor *memory(Values arguments, size_t i, const at::Tensor &out) const {
    const bool in_place = op_.plan.broadcast == Broadcast::Pointwise && op_.plan.outputs.size() == 1;
    const bool taken = any_tensor(arguments, [&](const at::Tensor &other, size_t number) {
      const auto shared = number == i && kind_ == VariantKind::Out ? Shared::No : shared_memory(out, other);
      return shared != Shared::No && !(shared == Shared::Same && in_place);
    });
    return taken ? nullptr : &out;
  }

  void run_directly(Values arguments, size_t first, const std::vector<c10::IValue> &written,
                    torch::jit::Stack &inner) const {
    c10::SmallVector<const at::Tensor *, 2> memories(op_.plan.outputs.size(), nullptr);
    for (size_t i = 0; i < written.size(); ++i) memories[i] = memory(arguments, first + i, written[i].toTensor());
    at::AutoDispatchBelowADInplaceOrView guard;
    run(op_, inner, memories);
    for (size_t i = 0; i < written.size(); ++i)  // a copy counts by itself
      if (inner[i].toTensor().is_same(written[i].toTensor())) inner[i].toTensor().unsafeGetTensorImpl()->bump_version();
  }

  void write(const std::string &name, const at::Tensor &out, const at::Tensor &result) const {
    if (result.is_same(out)) return;
    if (out.device() != result.device())
      raise(Class::Argument,
            messages::two_devices(argument(name), out.device().str(), "the result", result.device().str()));
    if (!c10::canCast(result.scalar_type(), out.scalar_type()))
      raise(Class::Argument,
            messages::result_type(argument(name), text(out.scalar_type()), text(result.scalar_type())));
    if (out.sym_sizes() != result.sym_sizes()) {
      if (kind_ == VariantKind::Inplace)
        raise(Class::Argument, messages::result_shape(argument(name), text(out.sym_sizes()), text(result.sym_sizes()),
                                                      op_.kernel->name));
      if (out.sym_numel() != 0)
        TORCH_WARN(messages::out_resized(argument(name), text(out.sym_sizes()), text(result.sym_sizes())));
      at::symint::resize_<c10::SymInt>(out, result.sym_sizes());
    }
    out.copy_(result);
  }

  const Operator &op_;
  const VariantKind kind_;
  const std::string name_;
};

}  // namespace

void register_variant(const Operator &op, VariantKind kind, const char *qualified, const char *overload,
                      const char *name) {
  register_composite(qualified, overload, [&] { return std::make_unique<VariantKernel>(op, kind, name); });
}

}  // namespace opw
