#include "autograd.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <c10/core/AutogradState.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/headeronly/version.h>

#include "errors.h"

namespace opw {
namespace {

using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
using Stack = torch::jit::Stack;

// Nodes moved from shared_ptr to intrusive_ptr in PyTorch 2.13.
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13
using NodePtr = c10::intrusive_ptr<Node>;
template <class T>
NodePtr make_node(const Derivative& d) {
  return c10::make_intrusive<T>(d);
}
NodePtr pointer_to(Node* node) {
  return NodePtr::reclaim_copy(node);
}
#else
using NodePtr = std::shared_ptr<Node>;
template <class T>
NodePtr make_node(const Derivative& d) {
  return NodePtr(new T(d), torch::autograd::deleteNode);
}
NodePtr pointer_to(Node* node) {
  return node->getptr();
}
#endif

// The keys that the dispatcher would see, below autograd.
class Keys {
 public:
  void add(const at::Tensor& t) {
    if (!t.defined()) return;
    keys_ = keys_ | t.key_set();
    tangents_ |= torch::autograd::isFwGradDefined(t);
  }
  // May these tensors go straight to the CPU kernel? Only if nobody else listens to the dispatcher.
  bool may_skip_dispatcher() const {
    if (tangents_ || c10::GradMode::is_enabled() || at::hasThreadLocalCallbacks() || at::hasGlobalCallbacks()) return false;
    const auto local = c10::impl::tls_local_dispatch_key_set();
    return is_plain_cpu(((keys_ | local.included_) - local.excluded_) - c10::autograd_dispatch_keyset -
                        c10::DispatchKeySet(c10::DispatchKey::BackendSelect));
  }

 private:
  c10::DispatchKeySet keys_;
  bool tangents_ = false;  // the backward's own Autograd kernel refuses them
};

c10::SymInt symbolic(const c10::IValue& value) {
  return value.isInt() ? c10::SymInt(value.toInt()) : value.toSymInt();
}

// What the arguments of a call determine, sizes perhaps symbolic.
void bind_arguments(const Plan& plan, c10::ArrayRef<c10::IValue> arguments, Bound<c10::SymInt>& bound) {
  c10::SmallVector<const at::Tensor*, 8> inputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = plan.arguments[i];
    if (argument.kind == Kind::Tensor) inputs.push_back(&tensor_of(arguments[i]));
    if (argument.kind == Kind::Axis || argument.kind == Kind::Size) {
      bound.axes[argument.index] = symbolic(arguments[i]);
      bound.known[argument.index] = true;
    }
    if (argument.kind == Kind::Ellipsis) {
      for (const auto& size : arguments[i].toListRef()) bound.ellipsis.push_back(symbolic(size));
      bound.has_ellipsis = true;
    }
  }
  bind(plan, inputs.data(), bound);
}

bool differentiable(const at::Tensor& t) {
  return t.defined() && torch::autograd::isDifferentiableType(t.scalar_type());
}

class OperatorNode final : public Node {
 public:
  explicit OperatorNode(const Derivative& derivative) : derivative_(derivative) {}
  std::string name() const override {
    return derivative_.node_name;
  }
  void release_variables() override {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& s : saved_) s.reset_data();
  }
  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs&) const override {
    raise(Class::Unsupported, name() + ": compiled autograd can't trace a native node of an Opwright operator; call "
                                       "backward() without it (torch._dynamo.config.compiled_autograd = False)");
  }
  variable_list apply(variable_list&& gradients) override;

  void save_inputs(c10::ArrayRef<c10::IValue> arguments);
  void save_outputs(c10::ArrayRef<c10::IValue> outputs);

 private:
  bool nothing_to_do(const variable_list& gradients) const;
  void unpack(const variable_list& gradients, c10::SmallVectorImpl<at::Tensor>& tensors);
  variable_list in_edge_order(variable_list&& results) const;
  variable_list run_directly(const c10::SmallVectorImpl<at::Tensor>& tensors);
  variable_list dispatch(const c10::SmallVectorImpl<at::Tensor>& tensors);

  const Derivative& derivative_;
  c10::SmallVector<SavedVariable, 6> saved_;   // in the order of the wires that need them
  c10::SmallVector<c10::IValue, 4> scalars_;   // likewise
};

void OperatorNode::save_inputs(c10::ArrayRef<c10::IValue> arguments) {
  if (!derivative_.backward) return;
  Bound<c10::SymInt> bound(derivative_.forward->plan);
  if (derivative_.needs_axes) bind_arguments(derivative_.forward->plan, arguments, bound);
  for (const auto& wire : derivative_.wires) {
    if (wire.source == Source::Input) saved_.emplace_back(tensor_of(arguments[wire.index]), false);
    if (wire.source == Source::Scalar) scalars_.push_back(arguments[wire.index]);
    if (wire.source == Source::Axis) scalars_.emplace_back(bound.axes[wire.index]);
    if (wire.source == Source::Ellipsis) scalars_.emplace_back(c10::SymIntArrayRef(bound.ellipsis));
    if (wire.source == Source::Output) saved_.emplace_back();
  }
}

void OperatorNode::save_outputs(c10::ArrayRef<c10::IValue> outputs) {
  size_t next = 0;
  for (const auto& wire : derivative_.wires) {
    if (wire.source == Source::Output) saved_[next] = SavedVariable(tensor_of(outputs[wire.index]), true);
    next += wire.source == Source::Input || wire.source == Source::Output;
  }
}

bool OperatorNode::nothing_to_do(const variable_list& gradients) const {
  for (const auto& g : gradients)
    if (g.defined()) return false;
  return true;
}

// A residual that has no gradient depends on the inputs all the same. Where a second derivative may be asked for, and there is
// none, it gets a history that ends in the error that says so: a constant would make it a zero.
at::Tensor dependent(const Derivative& d, const at::Tensor& residual, torch::autograd::edge_list edges) {
  const Derivative* second = d.backward->derivative;
  if (!second || second->backward || !differentiable(residual) || residual.requires_grad()) return residual;
  const NodePtr refusal = make_node<OperatorNode>(*second);
  refusal->set_next_edges(std::move(edges));
  at::Tensor alias;
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    alias = at::alias(residual);  // detach() would take the history of torch.func's levels below, too
  }
  torch::autograd::set_history(alias, refusal);
  return alias;
}

// The backward's tensors, in the order of its schema.
void OperatorNode::unpack(const variable_list& gradients, c10::SmallVectorImpl<at::Tensor>& tensors) {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t next = 0;
  for (const auto& wire : derivative_.wires) {
    if (wire.source == Source::Gradient || wire.source == Source::ZeroGradient) {
      const auto slot = static_cast<size_t>(derivative_.slots[wire.index]);
      const auto& gradient = gradients[slot];
      const bool zeros = wire.source == Source::ZeroGradient && !gradient.defined();
      tensors.push_back(zeros ? input_metadata(slot).zeros_like() : gradient);
    }
    if (wire.source != Source::Input && wire.source != Source::Output) continue;
    tensors.push_back(saved_[next++].unpack(pointer_to(this)));
    if (wire.source == Source::Output && derivative_.slots[wire.index] < 0 && c10::GradMode::is_enabled())
      tensors.back() = dependent(derivative_, tensors.back(), next_edges());
  }
}

variable_list OperatorNode::run_directly(const c10::SmallVectorImpl<at::Tensor>& tensors) {
  const Operator& backward = *derivative_.backward;
  Call call;
  size_t next_scalar = 0;
  for (const auto& t : tensors) call.inputs.push_back(&t);
  for (const auto& argument : backward.plan.arguments)
    if (argument.kind != Kind::Tensor && argument.kind != Kind::Mask) call.read(argument.kind, scalars_[next_scalar++]);
  call.wanted = 0;
  for (size_t e = 0; e < derivative_.edges.size(); ++e)
    if (const int64_t i = derivative_.edge_outputs[e]; i >= 0)
      call.wanted |= static_cast<uint64_t>(task_should_compute_output(e)) << i;
  variable_list result(backward.returns());
  run(backward, call, result.data());
  return result;
}

variable_list OperatorNode::dispatch(const c10::SmallVectorImpl<at::Tensor>& tensors) {
  Stack stack;
  size_t next_tensor = 0, next_scalar = 0;
  for (const auto& argument : derivative_.backward->plan.arguments) {
    if (argument.kind == Kind::Tensor) {
      const auto& t = tensors[next_tensor++];
      stack.emplace_back(t.defined() ? c10::IValue(t) : c10::IValue());
    } else if (argument.kind == Kind::Mask) {
      std::vector<bool> wanted(derivative_.inputs.size());
      for (size_t e = 0; e < derivative_.edges.size(); ++e)
        if (const int64_t i = derivative_.edge_outputs[e]; i >= 0) wanted[i] = task_should_compute_output(e);
      c10::List<bool> mask;
      for (const bool one : wanted) mask.push_back(one);
      stack.emplace_back(mask);
    } else {
      stack.emplace_back(scalars_[next_scalar++]);
    }
  }
  derivative_.backward->handle.callBoxed(stack);
  variable_list result;
  for (auto& value : stack) result.emplace_back(tensor_of(value));
  return result;
}

variable_list OperatorNode::apply(variable_list&& gradients) {
  if (!derivative_.backward) raise(Class::Unsupported, derivative_.missing);
  if (nothing_to_do(gradients)) return variable_list(derivative_.edges.size());
  c10::SmallVector<at::Tensor, 8> tensors;
  unpack(gradients, tensors);
  Keys keys;
  for (const auto& t : tensors) keys.add(t);
  return in_edge_order(keys.may_skip_dispatcher() ? run_directly(tensors) : dispatch(tensors));
}

// The gradient of what was overwritten without being read is zero; CopySlices wants to be given that zero.
variable_list OperatorNode::in_edge_order(variable_list&& results) const {
  const Plan& plan = derivative_.forward->plan;
  if (plan.mutated.empty()) return std::move(results);
  variable_list gradients(derivative_.edges.size());
  for (size_t e = 0; e < gradients.size(); ++e) {
    const int64_t output = derivative_.edge_outputs[e];
    if (output >= 0) gradients[e] = std::move(results[output]);
    else if (task_should_compute_output(e)) gradients[e] = input_metadata(derivative_.slots[plan.outputs.size() + e]).zeros_like();
  }
  return gradients;
}

bool requires_grad(const Derivative& d, c10::ArrayRef<c10::IValue> arguments) {
  if (!c10::GradMode::is_enabled()) return false;
  for (const int64_t i : d.edges) {
    const auto& t = tensor_of(arguments[i]);
    if (t.defined() && t.requires_grad() && differentiable(t)) return true;
  }
  return false;
}

void refuse_forward_mode(const Operator& op, c10::ArrayRef<c10::IValue> arguments) {
  for (const auto& value : arguments)
    if (const auto& t = tensor_of(value); t.defined() && t._fw_grad(/*level=*/0).defined())
      raise(Class::Unsupported, op.kernel->name + "(): there is no forward-mode derivative (jvp) of this operator; use "
                                                  "reverse mode (torch.autograd.grad, torch.func.vjp)");
}

// The tensors that a call mutates, remembered before it takes its arguments off the stack.
class Mutated {
 public:
  Mutated(const Operator& op, const Stack& stack) : op_(op) {
    if (C10_LIKELY(op.plan.mutated.empty())) return;
    const auto arguments = torch::jit::last(stack, op.plan.arguments.size());
    size_t input = 0, next = 0;
    for (size_t i = 0; i < arguments.size() && next < op.plan.mutated.size(); ++i)
      if (op.plan.arguments[i].kind == Kind::Tensor && static_cast<int64_t>(input++) == op.plan.mutated[next]) {
        ++next;
        tensors_.push_back(tensor_of(arguments[i]));
      }
  }
  // PyTorch's own errors for what may not be overwritten: leaves, some views.
  void check(bool requires_grad, size_t results) const {
    for (const auto& t : tensors_) {
      if (!t.defined()) continue;
      torch::autograd::check_inplace(t, requires_grad);
      if (requires_grad && results + tensors_.size() > 1 && t.is_view() && differentiable(t))
        raise(Class::Unsupported, op_.kernel->name + "(): an operator with several results can't overwrite a view where "
                                                     "gradients are recorded\n  likely fix:   pass a clone() of it");
    }
  }
  void bump() const {
    for (const auto& t : tensors_)
      if (t.defined() && !t.is_inference()) torch::autograd::impl::bump_version(t);
  }
  void rebase(const Derivative& d, const NodePtr& node, size_t first) const {
    for (size_t m = 0; m < tensors_.size(); ++m) {
      const auto& t = tensors_[m];
      if (!t.defined()) node->add_input_metadata(Node::undefined_input());
      else if (const auto nr = node->add_input_metadata(t); d.differentiable[first + m] && differentiable(t))
        torch::autograd::impl::rebase_history(t, {node, static_cast<uint32_t>(nr)});
    }
  }

 private:
  const Operator& op_;
  c10::SmallVector<at::Tensor, 2> tensors_;
};

void below_autograd(const Operator& op, c10::DispatchKeySet keys, Stack* stack) {
  const auto below = keys & c10::after_autograd_keyset;
  if (is_plain_cpu(below)) {
    const Mutated mutated(op, *stack);
    run(op, *stack);
    return mutated.bump();
  }
  check_dense(op, torch::jit::last(*stack, op.plan.arguments.size()));
  at::AutoDispatchBelowADInplaceOrView guard;
  op.handle.redispatchBoxed(below, stack);
}

torch::autograd::edge_list edges_of(const Derivative& d, c10::ArrayRef<c10::IValue> arguments) {
  torch::autograd::edge_list edges;
  edges.reserve(d.edges.size());
  for (const int64_t i : d.edges) {
    const auto& t = tensor_of(arguments[i]);
    edges.push_back(differentiable(t) ? torch::autograd::impl::gradient_edge(t) : torch::autograd::Edge());
  }
  return edges;
}

NodePtr record(const Derivative& d, c10::ArrayRef<c10::IValue> arguments) {
  NodePtr node = make_node<OperatorNode>(d);
  node->set_next_edges(edges_of(d, arguments));
  static_cast<OperatorNode&>(*node).save_inputs(arguments);
  return node;
}

// Stands for an output that the mask left out: no memory, but the shape and type that a zero gradient for it has.
class Absent {
 public:
  Absent(const Operator& op, c10::ArrayRef<c10::IValue> arguments) : plan_(op.plan), bound_(op.plan) {
    if (!plan_.masked) return;
    bind_arguments(plan_, arguments, bound_);
    for (const auto& value : arguments)
      if (value.isTensor() && value.toTensor().defined()) device_ = value.toTensor().device();
  }
  at::Tensor like(size_t output) const {
    c10::SmallVector<c10::SymInt, 6> sizes;
    if (!plan_.masked || !output_sizes(plan_.outputs[output], bound_, sizes)) return {};
    const auto options = at::TensorOptions(output_type(plan_.outputs[output], bound_)).device(device_);
    return at::zeros({}, options).expand_symint(sizes);
  }

 private:
  const Plan& plan_;
  Bound<c10::SymInt> bound_;
  c10::Device device_ = c10::kCPU;
};

}  // namespace

void AutogradKernel::operator()(const c10::OperatorHandle&, c10::DispatchKeySet keys, Stack* stack) {
  const auto arguments = torch::jit::last(*stack, op->plan.arguments.size());
  refuse_forward_mode(*op, arguments);
  const Derivative& d = *op->derivative;
  const bool recorded = requires_grad(d, arguments);
  const Mutated mutated(*op, *stack);
  mutated.check(recorded, op->returns() + d.residuals_with_slots());
  if (!recorded) return below_autograd(*op, keys, stack);
  const NodePtr node = record(d, arguments);
  const Operator& forward = d.backward ? *d.forward : *op;
  const Absent absent(forward, arguments);
  below_autograd(forward, keys, stack);
  const auto outputs = torch::jit::last(*stack, forward.returns());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& t = tensor_of(outputs[i]);
    if (d.slots[i] < 0) continue;
    if (d.differentiable[i] && differentiable(t)) torch::autograd::set_history(t, node);
    else if (t.defined()) node->add_input_metadata(t);  // an integer: a backward that takes its gradient gets zeros
    else if (const auto like = absent.like(i); like.defined()) node->add_input_metadata(like);
    else node->add_input_metadata(Node::undefined_input());
  }
  mutated.rebase(d, node, forward.plan.outputs.size());
  if (d.backward) static_cast<OperatorNode&>(*node).save_outputs(outputs);
  // Whoever asks for residuals, as torch.func does for a level above this one, computes with them.
  for (size_t i = 0; d.backward && op->returns_residuals && i < outputs.size(); ++i)
    if (d.slots[i] < 0) (*stack)[stack->size() - forward.returns() + i] = dependent(d, tensor_of(outputs[i]), node->next_edges());
  torch::jit::drop(*stack, forward.returns() - op->returns());
}

void InplaceKernel::operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack) {
  const Mutated mutated(*op, *stack);
  handle.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
  mutated.bump();
}

void LazyKernel::operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack) {
  const size_t count = op->plan.arguments.size(), first = stack->size() - count;
  at::AutoDispatchBelowADInplaceOrView guard;
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 2> back;
  for (size_t i = 0; i < count; ++i) {
    const at::Tensor t = tensor_of((*stack)[first + i]);
    if (!t.defined() || !(t.is_neg() || t.is_conj())) continue;
    const at::Tensor plain = at::clone(t);
    if (op->plan.inputs[op->plan.arguments[i].index].mutated) back.emplace_back(t, plain);
    (*stack)[first + i] = plain;
  }
  handle.redispatchBoxed(keys - c10::DispatchKeySet({c10::DispatchKey::Negative, c10::DispatchKey::Conjugate}), stack);
  for (const auto& [to, from] : back) to.copy_(from);
}

void FactoryKernel::operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet, Stack* stack) {
  const auto& device = torch::jit::peek(*stack, 0, 1);
  const auto on = device.isNone() ? c10::Device(c10::kCPU) : device.toDevice();
  handle.redispatchBoxed(c10::DispatchKeySet(c10::computeDispatchKey(std::nullopt, std::nullopt, on)), stack);
}

Derivative* Derivative::decode(const Plan& plan, const int64_t* words, int64_t count) {
  const int64_t *at = words, *end = words + count;
  const auto next = [&] {
    TORCH_CHECK(at < end, "opwright: a derivative's plan ended early");
    return *at++;
  };
  auto* d = new Derivative;
  for (int64_t n = next(); n > 0; --n) {
    const auto source = static_cast<Source>(next());
    d->wires.push_back({source, next()});
    d->needs_axes |= source == Source::Axis || source == Source::Ellipsis;
  }
  for (int64_t n = next(); n > 0; --n) d->inputs.push_back(next());
  for (int64_t n = next(); n > 0; --n) d->differentiable.push_back(next() != 0);
  const size_t results = plan.outputs.size(), returned = results - plan.residuals;
  int64_t slot = 0;
  for (size_t i = 0; i < results + plan.mutated.size(); ++i) {
    const bool taken = std::any_of(d->wires.begin(), d->wires.end(), [i](const Wire& wire) {
      return wire.source <= Source::ZeroGradient && wire.index == static_cast<int64_t>(i);
    });
    const bool none = i >= returned && i < results && !taken;
    d->slots.push_back(none ? -1 : slot++);
  }
  d->first_residual = returned, d->results = results;
  const auto add = [d](int64_t argument) {
    if (std::find(d->edges.begin(), d->edges.end(), argument) != d->edges.end()) return;
    const auto at = std::find(d->inputs.begin(), d->inputs.end(), argument);
    d->edges.push_back(argument);
    d->edge_outputs.push_back(at == d->inputs.end() ? -1 : at - d->inputs.begin());
  };
  for (size_t i = 0; i < plan.arguments.size(); ++i)
    if (plan.arguments[i].kind == Kind::Tensor && plan.inputs[plan.arguments[i].index].mutated) add(static_cast<int64_t>(i));
  for (const int64_t argument : d->inputs) add(argument);
  return d;
}

}  // namespace opw
