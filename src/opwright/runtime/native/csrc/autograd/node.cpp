#include "autograd/node.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/real.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "errors.h"
#include "messages.h"
#include "call/tensor_lists.h"
#include "torch_compat.h"

namespace opw {
namespace {

// The keys that the dispatcher would see, below autograd.
class Keys {
 public:
  void add(const at::Tensor &t) {
    if (!t.defined()) return;
    keys_ = keys_ | t.key_set();
    tangents_ |= compat::has_tangent(t);
  }
  // May these tensors go straight to our kernel? Only if nobody else listens to the dispatcher.
  bool may_skip_dispatcher() const {
    if (tangents_ || c10::GradMode::is_enabled() || at::hasThreadLocalCallbacks() || at::hasGlobalCallbacks())
      return false;
    const auto local = compat::local_keys();
    return is_plain(((keys_ | local.included_) - local.excluded_) - c10::autograd_dispatch_keyset -
                    c10::DispatchKeySet(c10::DispatchKey::BackendSelect));
  }

 private:
  c10::DispatchKeySet keys_;
  bool tangents_ = false;  // the backward's own Autograd kernel refuses them
};

// Sparse gradients come from embedding(..., sparse=True), for example; no kernel reads them.
at::Tensor dense(const at::Tensor &gradient) {
  return gradient.defined() && gradient.layout() != at::kStrided ? gradient.to_dense() : gradient;
}

c10::SymInt symbolic(const c10::IValue &value) {
  if (value.isBool()) return c10::SymInt(static_cast<int64_t>(value.toBool()));
  return value.isInt() ? c10::SymInt(value.toInt()) : value.toSymInt();
}

void learn(Bound<c10::SymInt> &bound, int64_t axis, const c10::IValue &size) {
  bound.axes[axis] = symbolic(size);
  bound.known[axis] = true;
}

}  // namespace

void bind_arguments(const Plan &plan, c10::ArrayRef<c10::IValue> arguments, Bound<c10::SymInt> &bound) {
  c10::SmallVector<const at::Tensor *, 8> inputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto &argument = plan.arguments[i];
    if (argument.kind == Kind::Tensor) inputs.push_back(&tensor_of(arguments[i]));
    if (argument.kind == Kind::Axis || argument.kind == Kind::Size) learn(bound, argument.index, arguments[i]);
    if (argument.kind == Kind::List) {
      const auto values = arguments[i].toListRef();
      for (size_t e = 0; e < values.size(); ++e)
        if (const auto &element = plan.lists[argument.index][e]; element.kind == Kind::Size)
          learn(bound, element.index, values[e]);
    }
    if (argument.kind == Kind::Ellipsis) {
      for (const auto &size : arguments[i].toListRef()) bound.ellipsis.push_back(symbolic(size));
      bound.has_ellipsis = true;
    }
  }
  bind(plan, inputs.data(), bound);
}

at::Tensor dependent(const Derivative &d, const at::Tensor &residual, compat::edge_list edges) {
  const Derivative *second = d.backward->derivative;
  if (!second || second->backward || !differentiable(residual) || residual.requires_grad()) return residual;
  const NodePtr refusal = compat::make_node<OperatorNode>(*second);
  refusal->set_next_edges(std::move(edges));
  at::Tensor alias;
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    alias = at::alias(residual);  // detach() would take the history of torch.func's levels below, too
  }
  compat::set_history(alias, refusal);
  return alias;
}

void OperatorNode::release_variables() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto &s : saved_) s.reset_data();
}

namespace {

// Zeros in the place of a gradient that nobody gave. Beside tensors of a class in Python, as DTensor, of that class.
at::Tensor zeros_beside(const variable_list &gradients, const compat::InputMetadata &of) {
  for (const auto &g : gradients)
    if (g.defined() && g.key_set().has(c10::DispatchKey::Python))
      return g.new_zeros_symint(of.shape_as_dim_vector(), at::TensorOptions().dtype(of.dtype()));
  return of.zeros_like();
}

template <class Value>
Bound<c10::SymInt> bound_by(const Plan &plan, c10::ArrayRef<Value> arguments) {
  Bound<c10::SymInt> bound(plan);
  c10::SmallVector<c10::IValue, 8> values;
  for (const auto &argument : arguments) values.push_back(boxed(argument));
  bind_arguments(plan, values, bound);
  return bound;
}

}  // namespace

template <class Value>
void OperatorNode::save_inputs(c10::ArrayRef<Value> arguments) {
  if (!derivative_.backward) return;
  std::optional<Bound<c10::SymInt>> bound;
  if (C10_UNLIKELY(derivative_.needs_axes)) bound = bound_by(derivative_.forward->plan, arguments);
  for (const auto &wire : derivative_.wires) {
    if (wire.source == Source::Input) saved_.emplace_back(tensor_of(arguments[wire.index]), false);
    if (wire.source == Source::Scalar) scalars_.push_back(boxed(arguments[wire.index]));
    if (wire.source == Source::Axis) scalars_.emplace_back(bound->axes[wire.index]);
    if (wire.source == Source::Ellipsis) scalars_.emplace_back(c10::SymIntArrayRef(bound->ellipsis));
    if (wire.source == Source::Output) saved_.emplace_back();
  }
}

template <class Value>
void OperatorNode::save_outputs(c10::ArrayRef<Value> outputs) {
  size_t next = 0;
  for (const auto &wire : derivative_.wires) {
    if (wire.source == Source::Output) saved_[next] = compat::SavedVariable(tensor_of(outputs[wire.index]), true);
    next += wire.source == Source::Input || wire.source == Source::Output;
  }
}

template void OperatorNode::save_inputs(c10::ArrayRef<c10::IValue>);
template void OperatorNode::save_inputs(c10::ArrayRef<Given>);
template void OperatorNode::save_outputs(c10::ArrayRef<c10::IValue>);
template void OperatorNode::save_outputs(c10::ArrayRef<at::Tensor>);

// The backward's tensors, in the order of its schema.
void OperatorNode::unpack(const variable_list &gradients, c10::SmallVectorImpl<at::Tensor> &tensors) {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t next = 0;
  for (const auto &wire : derivative_.wires) {
    if (wire.source == Source::Gradient || wire.source == Source::ZeroGradient) {
      const auto slot = static_cast<size_t>(derivative_.written[wire.index].slot);
      const auto &gradient = gradients[slot];
      const bool zeros = wire.source == Source::ZeroGradient && !gradient.defined();
      tensors.push_back(zeros ? zeros_beside(gradients, input_metadata(slot)) : dense(gradient));
    }
    if (wire.source != Source::Input && wire.source != Source::Output) continue;
    tensors.push_back(saved_[next++].unpack(compat::pointer_to(this)));
    const bool constant = wire.source == Source::Output && derivative_.written[wire.index].slot < 0;
    if (constant && c10::GradMode::is_enabled()) tensors.back() = dependent(derivative_, tensors.back(), next_edges());
  }
}

uint64_t OperatorNode::wanted() const {
  uint64_t bits = 0;
  for (size_t e = 0; e < derivative_.edges.size(); ++e)
    if (const int64_t i = derivative_.edges[e].gradient; i >= 0 && task_should_compute_output(e))
      bits |= uint64_t(1) << derivative_.backward->plan.outputs[static_cast<size_t>(i)].parameter;
  return bits;
}

variable_list OperatorNode::run_directly(const c10::SmallVectorImpl<at::Tensor> &tensors) {
  const Operator &backward = *derivative_.backward;
  Call call;
  size_t next_scalar = 0;
  for (const auto &t : tensors) call.inputs.push_back(&t);
  for (const auto &argument : backward.plan.arguments)
    if (argument.kind != Kind::Tensor && argument.kind != Kind::Mask)
      call.read(backward.plan, argument, scalars_[next_scalar++]);
  call.wanted = wanted();
  variable_list result(backward.returns());
  run(backward, call, result.data());
  return result;
}

variable_list call_backward(const Derivative &d, const c10::SmallVectorImpl<at::Tensor> &tensors,
                            c10::ArrayRef<c10::IValue> scalars, uint64_t wanted) {
  const Plan &plan = d.backward->plan;
  torch::jit::Stack stack;
  size_t next_tensor = 0, next_scalar = 0;
  for (const auto &argument : plan.arguments) {
    if (argument.kind == Kind::Tensor) {
      const auto &t = tensors[next_tensor++];
      stack.emplace_back(t.defined() ? c10::IValue(t) : c10::IValue());
    } else if (argument.kind == Kind::Mask) {
      c10::List<bool> mask;
      mask.resize(plan.results(), false);
      for (size_t i = 0; i < mask.size(); ++i) mask[i] = (wanted >> i & 1) != 0;
      stack.emplace_back(mask);
    } else {
      stack.emplace_back(scalars[next_scalar++]);
    }
  }
  call(*d.backward, &stack);
  variable_list result;
  for (auto &value : stack) result.emplace_back(tensor_of(value));
  return result;
}

variable_list OperatorNode::apply(variable_list &&gradients) {
  if (!derivative_.backward) raise(Class::Unsupported, derivative_.missing);
  if (std::none_of(gradients.begin(), gradients.end(), [](const at::Tensor &g) { return g.defined(); }))
    return variable_list(derivative_.edges.size());
  c10::SmallVector<at::Tensor, 8> tensors;
  unpack(gradients, tensors);
  Keys keys;
  for (const auto &t : tensors) keys.add(t);
  const bool directly = !derivative_.backward->bound && keys.may_skip_dispatcher();
  auto results =
      in_edge_order(directly ? run_directly(tensors) : call_backward(derivative_, tensors, scalars_, wanted()));
  const auto is_complex = [](const at::Tensor &t) { return t.defined() && t.is_complex(); };
  if (C10_UNLIKELY(std::any_of(results.begin(), results.end(), is_complex))) take_real_parts(results, real_edges());
  return results;
}

// An argument that was promoted to a complex type: autograd casts gradients to the argument's type, but no complex one.
std::vector<bool> OperatorNode::real_edges() const {
  std::vector<bool> real(derivative_.edges.size());
  for (size_t e = 0; e < real.size() && e < num_outputs(); ++e) {
    const auto &edge = next_edge(e);
    real[e] = edge.is_valid() &&
              !c10::isComplexType(c10::typeMetaToScalarType(edge.function->input_metadata(edge.input_nr).dtype()));
  }
  return real;
}

void take_real_parts(variable_list &gradients, const std::vector<bool> &real) {
  for (size_t e = 0; e < gradients.size() && e < real.size(); ++e)
    if (real[e] && gradients[e].defined() && gradients[e].is_complex()) gradients[e] = at::real(gradients[e]);
}

// The gradient of what was overwritten without being read is zero; CopySlices, which stands in for the node of a
// mutated view, wants to be given that zero.
variable_list OperatorNode::in_edge_order(variable_list &&results) const {
  const Plan &plan = derivative_.forward->plan;
  if (plan.mutated.empty()) return std::move(results);
  variable_list gradients(derivative_.edges.size());
  for (size_t e = 0; e < gradients.size(); ++e) {
    const int64_t output = derivative_.edges[e].gradient;
    if (output >= 0) gradients[e] = std::move(results[output]);
    else if (task_should_compute_output(e))
      gradients[e] = input_metadata(derivative_.written[plan.outputs.size() + e].slot).zeros_like();
  }
  return gradients;
}

}  // namespace opw
