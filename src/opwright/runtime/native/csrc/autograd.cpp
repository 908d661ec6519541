#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "errors.h"
#include "forward_mode.h"
#include "kernels.h"
#include "mutated.h"
#include "node.h"

namespace opw {
namespace {

bool requires_grad(const Derivative &d, c10::ArrayRef<c10::IValue> arguments) {
  if (!c10::GradMode::is_enabled()) return false;
  for (const auto &edge : d.edges) {
    const auto &t = tensor_of(arguments[edge.argument]);
    if (t.defined() && t.requires_grad() && differentiable(t)) return true;
  }
  return false;
}

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

compat::edge_list edges_of(const Derivative &d, c10::ArrayRef<c10::IValue> arguments) {
  compat::edge_list edges;
  edges.reserve(d.edges.size());
  for (const auto &edge : d.edges) {
    const auto &t = tensor_of(arguments[edge.argument]);
    edges.push_back(differentiable(t) ? compat::gradient_edge(t) : compat::Edge());
  }
  return edges;
}

NodePtr record(const Derivative &d, c10::ArrayRef<c10::IValue> arguments) {
  NodePtr node = compat::make_node<OperatorNode>(d);
  node->set_next_edges(edges_of(d, arguments));
  static_cast<OperatorNode &>(*node).save_inputs(arguments);
  return node;
}

// Stands for an output that the mask left out: no memory, but the shape and type that a zero gradient for it has.
class Absent {
 public:
  Absent(const Operator &op, c10::ArrayRef<c10::IValue> arguments) : plan_(op.plan) {
    if (C10_LIKELY(!plan_.masked)) return;
    bind_arguments(plan_, arguments, bound_.emplace(plan_));
    for (const auto &value : arguments)
      if (value.isTensor() && value.toTensor().defined()) device_ = value.toTensor().device();
  }
  at::Tensor like(size_t output) const {
    c10::SmallVector<c10::SymInt, 6> sizes;
    if (!bound_ || !output_sizes(plan_.outputs[output], *bound_, sizes)) return {};
    const auto options = at::TensorOptions(output_type(plan_.outputs[output], *bound_)).device(device_);
    return at::zeros({}, options).expand_symint(sizes);
  }

 private:
  const Plan &plan_;
  std::optional<Bound<c10::SymInt>> bound_;
  c10::Device device_ = c10::kCPU;
};

// Makes the node the history of the outputs: one input for each that has a slot.
void connect(const Derivative &d, const NodePtr &node, c10::ArrayRef<c10::IValue> outputs, const Absent &absent) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto &t = tensor_of(outputs[i]);
    if (d.written[i].slot < 0) continue;
    if (d.written[i].differentiable && differentiable(t)) compat::set_history(t, node);
    else if (t.defined()) node->add_input_metadata(t);  // an integer: a backward that takes its gradient gets zeros
    else if (const auto like = absent.like(i); like.defined()) node->add_input_metadata(like);
    else compat::add_undefined_input(*node);
  }
}

}  // namespace

void AutogradKernel::run(const Operator &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  const auto arguments = torch::jit::last(*stack, op.plan.arguments.size());
  const Derivative &d = *op.derivative;
  const bool recorded = requires_grad(d, arguments);
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
  const NodePtr node = record(d, arguments);
  const Operator &forward = d.backward ? *d.forward : op;
  const Absent absent(forward, arguments);
  below_autograd(forward, keys, stack);
  const auto outputs = torch::jit::last(*stack, forward.returns());
  connect(d, node, outputs, absent);
  mutated.rebase(d, node);
  tangents.set(outputs, mutated);
  if (d.backward) static_cast<OperatorNode &>(*node).save_outputs(outputs);
  // Whoever asks for residuals, as torch.func does for a level above this one, computes with them.
  for (size_t i = 0; d.backward && op.returns_residuals && i < outputs.size(); ++i)
    if (d.written[i].slot < 0)
      (*stack)[stack->size() - forward.returns() + i] = dependent(d, tensor_of(outputs[i]), node->next_edges());
  torch::jit::drop(*stack, forward.returns() - op.returns());
}

}  // namespace opw
