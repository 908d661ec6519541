#include "direct/direct.h"

#include <ATen/record_function.h>

#include "call/kernels.h"
#include "autograd/recording.h"
#include "torch_compat.h"

namespace opw {
namespace {

using Is = Given::Is;

Is taken_by(Kind kind) {
  switch (kind) {
    case Kind::Tensor: return Is::Tensor;
    case Kind::Float:
    case Kind::OptionalFloat: return Is::Float;
    case Kind::Int:
    case Kind::Size:
    case Kind::OptionalInt: return Is::Int;
    case Kind::Bool:
    case Kind::OptionalBool: return Is::Bool;
    case Kind::String:
    case Kind::Choice:
    case Kind::OptionalString: return Is::Text;
    default: return Is::None;
  }
}

bool takes_none(const Plan &plan, const Argument &argument) {
  switch (argument.kind) {
    case Kind::Tensor: return plan.inputs[argument.index].optional;
    case Kind::OptionalFloat:
    case Kind::OptionalInt:
    case Kind::OptionalBool:
    case Kind::OptionalString:
    case Kind::Generator: return true;
    default: return false;
  }
}

// Whether `value`, a default, can be given.
bool set_default(Parameter &parameter, const c10::IValue &value) {
  Given &given = parameter.otherwise;
  parameter.can_be_left_out = true;
  if (value.isNone()) return parameter.takes_none;
  given.is = parameter.takes;
  switch (parameter.takes) {
    case Is::Float: given.number.f = value.toDouble(); return true;
    case Is::Int: given.number.i = value.toInt(); return true;
    case Is::Bool: given.number.i = value.toBool(); return true;
    case Is::Text: parameter.default_text = value.toStringRef(); return true;
    default: return false;
  }
}

}  // namespace

std::unique_ptr<Direct> direct(const Operator &op) {
  if (op.bound || op.plan.factory || op.plan.masked || op.plan.counts || op.plan.list_groups || op.plan.listed)
    return nullptr;
  auto known = std::make_unique<Direct>(Direct{op, {}});
  const auto &schema = op.handle.schema().arguments();
  for (size_t i = 0; i < op.plan.arguments.size(); ++i) {
    const auto &argument = op.plan.arguments[i];
    if (taken_by(argument.kind) == Is::None && argument.kind != Kind::Generator) return nullptr;
    Parameter parameter;
    parameter.takes = schema[i].type()->kind() == c10::TypeKind::BoolType ? Is::Bool : taken_by(argument.kind);
    parameter.takes_none = takes_none(op.plan, argument);
    if (const auto &value = schema[i].default_value(); value && !set_default(parameter, *value)) return nullptr;
    known->parameters.push_back(std::move(parameter));
  }
  for (auto &parameter : known->parameters)  // they don't move any more
    if (parameter.otherwise.is == Is::Text) parameter.otherwise.text = parameter.default_text;
  return known;
}

std::unique_ptr<Direct> direct(const Chooser &chooser) {
  std::unique_ptr<Direct> known;
  for (const auto &each : chooser.alternatives) {
    auto own = each.op ? direct(*each.op) : nullptr;
    if (!own) return nullptr;
    if (!known) known = direct(*each.op);
    known->alternatives.push_back(std::move(own));
  }
  if (known) known->chooser = &chooser;
  return known;
}

const Direct *Direct::chosen(const Arguments &arguments) const {
  if (C10_LIKELY(!chooser)) return this;
  const at::Tensor none;
  const auto *found = chooser->find(
      [&](int64_t i) -> const at::Tensor & { return arguments[i].is == Is::Tensor ? *arguments[i].tensor : none; });
  return found ? alternatives[found - chooser->alternatives.data()].get() : nullptr;
}

namespace {

// The keys that the dispatcher would see; those of autocast and of transforms are excluded unless one is active.
c10::DispatchKeySet keys_of(const Arguments &arguments) {
  c10::DispatchKeySet keys;
  for (const auto &given : arguments)
    if (given.is == Is::Tensor) keys = keys | given.tensor->key_set();
  const auto local = compat::local_keys();
  return ((keys | local.included_) - local.excluded_) - c10::DispatchKeySet(c10::DispatchKey::BackendSelect);
}

bool has_tangents(const Arguments &arguments) {
  for (const auto &given : arguments)
    if (given.is == Is::Tensor && compat::has_tangent(*given.tensor)) return true;
  return false;
}

}  // namespace

Way way_of(const Direct &direct, const Arguments &arguments) {
  if (compat::function_mode_enabled() || at::hasThreadLocalCallbacks() || at::hasGlobalCallbacks())
    return Way::Dispatcher;
  const auto keys = keys_of(arguments);
  if (!is_plain(keys - c10::autograd_dispatch_keyset) || has_tangents(arguments)) return Way::Dispatcher;
  const bool below_autograd = (keys & c10::autograd_dispatch_keyset).empty();
  if (!direct.op.plan.mutated.empty()) return below_autograd ? Way::Dispatcher : Way::Autograd;
  const bool recorded = !below_autograd && requires_grad<Given>(*direct.op.derivative, arguments);
  return recorded ? Way::Autograd : Way::Kernel;
}

namespace {

void read(const Operator &op, const Arguments &arguments, Call &call) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto &given = arguments[i];
    const auto &argument = op.plan.arguments[i];
    if (argument.kind == Kind::Tensor) call.inputs.push_back(&*given.tensor);
    else if (given.is == Is::Text) call.read_text(op.plan, argument, given.text);
    else if (argument.kind != Kind::Generator) call.read_number(argument, given.number, given.is != Is::None);
  }
}

}  // namespace

void run(const Direct &direct, Way way, const Arguments &arguments, Results &results) {
  const Operator &op = direct.op;
  if (way == Way::Autograd && (!op.plan.mutated.empty() || op.returns_residuals)) {
    torch::jit::Stack stack;
    stack.reserve(std::max(arguments.size(), op.plan.outputs.size()));
    for (const auto &given : arguments) stack.push_back(boxed(given));
    AutogradKernel{&op}(op.handle, keys_of(arguments), &stack);
    for (auto &value : stack) results.push_back(value.isTensor() ? std::move(value).toTensor() : at::Tensor());
    return;
  }
  Call call;
  read(op, arguments, call);
  if (way == Way::Kernel) {
    results.resize(op.returns());
    return run(op, call, results.data());
  }
  const Derivative &d = *op.derivative;
  const Operator &forward = recorded_form(op);
  const NodePtr node = record<Given>(d, arguments);
  results.resize(forward.returns());
  run(forward, call, results.data());
  connect<at::Tensor>(d, node, results, nullptr);
  if (d.backward) static_cast<OperatorNode &>(*node).save_outputs<at::Tensor>(results);
  results.resize(op.returns());
}

}  // namespace opw
