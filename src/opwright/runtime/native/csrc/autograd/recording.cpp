#include "autograd/recording.h"

#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

namespace opw {

template <class Value>
bool requires_grad(const Derivative &d, c10::ArrayRef<Value> arguments) {
  if (!c10::GradMode::is_enabled()) return false;
  for (const auto &edge : d.edges) {
    const auto &t = tensor_of(arguments[edge.argument]);
    if (t.defined() && t.requires_grad() && differentiable(t)) return true;
  }
  return false;
}

template <class Value>
NodePtr record(const Derivative &d, c10::ArrayRef<Value> arguments) {
  compat::edge_list edges;
  edges.reserve(d.edges.size());
  for (const auto &edge : d.edges) {
    const auto &t = tensor_of(arguments[edge.argument]);
    edges.push_back(differentiable(t) ? compat::gradient_edge(t) : compat::Edge());
  }
  NodePtr node = compat::make_node<OperatorNode>(d);
  node->set_next_edges(std::move(edges));
  static_cast<OperatorNode &>(*node).save_inputs(arguments);
  return node;
}

Absent::Absent(const Operator &op, c10::ArrayRef<c10::IValue> arguments) : plan_(op.plan) {
  if (C10_LIKELY(!plan_.masked)) return;
  bind_arguments(plan_, arguments, bound_.emplace(plan_));
  for (const auto &value : arguments)
    if (value.isTensor() && value.toTensor().defined()) {
      device_ = value.toTensor().device();
      if (plan_.over_batch) batch_ = value.toTensor().sym_size(0);
    }
}

at::Tensor Absent::like(size_t output) const {
  c10::SmallVector<c10::SymInt, 6> sizes;
  if (!bound_ || !output_sizes(plan_.outputs[output], *bound_, sizes)) return {};
  if (plan_.over_batch) sizes.insert(sizes.begin(), batch_);
  const auto options = at::TensorOptions(output_type(plan_.outputs[output], *bound_)).device(device_);
  return at::zeros({}, options).expand_symint(sizes);
}

template <class Value>
void connect(const Derivative &d, const NodePtr &node, c10::ArrayRef<Value> outputs, const Absent *absent) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (d.written[i].slot < 0) continue;
    const auto &t = tensor_of(outputs[i]);
    if (d.written[i].differentiable && differentiable(t)) {
      compat::set_history(t, node);
    } else if (t.defined()) {
      node->add_input_metadata(t);  // an integer: a backward that takes its gradient gets zeros
    } else {
      const auto like = absent ? absent->like(i) : at::Tensor();
      if (like.defined()) node->add_input_metadata(like);
      else compat::add_undefined_input(*node);
    }
  }
}

template bool requires_grad(const Derivative &, c10::ArrayRef<c10::IValue>);
template bool requires_grad(const Derivative &, c10::ArrayRef<Given>);
template NodePtr record(const Derivative &, c10::ArrayRef<c10::IValue>);
template NodePtr record(const Derivative &, c10::ArrayRef<Given>);
template void connect(const Derivative &, const NodePtr &, c10::ArrayRef<c10::IValue>, const Absent *);
template void connect(const Derivative &, const NodePtr &, c10::ArrayRef<at::Tensor>, const Absent *);

}  // namespace opw
