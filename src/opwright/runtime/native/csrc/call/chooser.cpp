#include "call/chooser.h"

#include <c10/core/DefaultDtype.h>
#include <torch/library.h>

#include "call/composite.h"
#include "errors.h"
#include "messages.h"
#include "torch_compat.h"

namespace opw {
namespace {

at::ScalarType promoted(c10::ArrayRef<const at::Tensor *> tensors) {
  if (tensors.size() == 1) return tensors[0]->scalar_type();
  try {
    compat::Promotion state;
    for (const at::Tensor *t : tensors) state = compat::promoted(*t, state);
    return compat::promoted(state);
  } catch (const c10::Error &) {  // PyTorch has no common type
    return at::ScalarType::Undefined;
  }
}

std::string arrived(const Chooser &chooser, const c10::FunctionSchema &schema, c10::ArrayRef<c10::IValue> arguments) {
  std::string all;
  for (const int64_t i : chooser.deciding) {
    const at::Tensor &t = tensor_of(arguments[i]);
    const std::string &name = schema.arguments()[i].name();
    if (!all.empty()) all += ", ";
    if (!t.defined()) {
      all += messages::arrived_none(name);
      continue;
    }
    const std::string axes = t.dim() == 1 ? "1 axis" : std::to_string(t.dim()) + " axes";
    all += messages::arrived(name, std::string(c10::getDtypeNames(t.scalar_type()).first), axes);
  }
  return all;
}

class ChoosingKernel final : public c10::OperatorKernel {
 public:
  explicit ChoosingKernel(const Chooser &chooser) : chooser_(chooser) {}

  void operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet, torch::jit::Stack *stack) {
    const auto arguments = torch::jit::last(*stack, handle.schema().arguments().size());
    const Alternative *found = chooser_.find([&](int64_t i) -> const at::Tensor & { return tensor_of(arguments[i]); });
    if (!found)
      raise(Class::Argument, messages::no_alternative(chooser_.name, arrived(chooser_, handle.schema(), arguments),
                                                      std::to_string(chooser_.alternatives.size()), chooser_.takes));
    found->handle.callBoxed(stack);
  }

 private:
  const Chooser &chooser_;
};

}  // namespace

bool Chooser::allows(const Requirement &each, c10::ArrayRef<const at::Tensor *> tensors) {
  auto type = promoted(tensors);
  if (each.defaults && c10::isIntegralType(type, /*includeBool=*/true)) type = c10::get_default_dtype_as_scalartype();
  const auto code = static_cast<uint64_t>(type);
  return code < 64 && ((each.types >> code) & 1);
}

Chooser Chooser::decode(const char *name, const char *takes, const int64_t *words, int64_t count) {
  Chooser chooser{name, takes, {}, {}, {}};
  const int64_t *const end = words + count;
  const auto next = [&] {
    TORCH_CHECK(words < end, "a choice between alternatives ends too early");
    return *words++;
  };
  const auto numbers = [&] {
    std::vector<int64_t> all(static_cast<size_t>(next()));
    for (auto &each : all) each = next();
    return all;
  };
  for (int64_t alternatives = next(); alternatives > 0; --alternatives) {
    auto &all_of = chooser.required.emplace_back();
    for (int64_t left = next(); left > 0; --left) {
      Requirement each{next(), next(), next(), next() != 0, static_cast<uint64_t>(next()), {}};
      each.among = numbers();
      all_of.push_back(std::move(each));
    }
  }
  chooser.deciding = numbers();
  return chooser;
}

void Chooser::add(const Operator *op, const char *qualified, const char *overload) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(qualified, overload);
  alternatives.push_back({required.at(alternatives.size()), handle, op});
}

void register_chooser(const Chooser &chooser, const char *qualified, const char *overload) {
  register_composite(qualified, overload, [&] { return std::make_unique<ChoosingKernel>(chooser); });
}

}  // namespace opw
