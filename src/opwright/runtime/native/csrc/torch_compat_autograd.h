// Private names of PyTorch's autograd in C++: see torch_compat.h. Nothing public makes a node or connects one: the documented
// torch::autograd::Function runs at another place of the dispatcher's, and makes more nodes than there are operators.
#pragma once
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/dynamo/compiled_autograd.h>
#include <torch/headeronly/version.h>

#include <utility>

namespace opw::compat {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::InputMetadata;
using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// Compiled autograd: what a graph depends on, the graph's own tensors in place of a node's, and the way to the compiler.
using torch::dynamo::autograd::CompiledNodeArgs;
using torch::dynamo::autograd::SwapSavedVariables;
template <class T>
using Packer = torch::dynamo::autograd::IValuePacker<T>;
inline const auto &compiler_interface() { return torch::dynamo::autograd::getPyCompilerInterface(); }
inline c10::IValue packed_metadata(const edge_list &edges) {
  const auto metadata = torch::dynamo::autograd::get_input_metadata(edges);
  return Packer<std::vector<std::optional<InputMetadata>>>::pack(metadata);
}

// Nodes moved from shared_ptr to intrusive_ptr in PyTorch 2.13.
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13
using NodePtr = c10::intrusive_ptr<Node>;
template <class T, class... Arguments>
NodePtr make_node(Arguments &&...arguments) {
  return c10::make_intrusive<T>(std::forward<Arguments>(arguments)...);
}
inline NodePtr pointer_to(Node *node) { return NodePtr::reclaim_copy(node); }
#else
using NodePtr = std::shared_ptr<Node>;
template <class T, class... Arguments>
NodePtr make_node(Arguments &&...arguments) {
  return NodePtr(new T(std::forward<Arguments>(arguments)...), torch::autograd::deleteNode);
}
inline NodePtr pointer_to(Node *node) { return node->getptr(); }
#endif

// Whether gradients exist for tensors of this type.
inline bool is_differentiable(c10::ScalarType type) { return torch::autograd::isDifferentiableType(type); }

// Where the gradient of a tensor goes.
inline Edge gradient_edge(const at::Tensor &tensor) { return torch::autograd::impl::gradient_edge(tensor); }

inline void set_history(const at::Tensor &tensor, const NodePtr &node) { torch::autograd::set_history(tensor, node); }

// The history of a tensor that was overwritten, and of what it is a view of.
inline void rebase_history(const at::Tensor &tensor, const NodePtr &node, uint32_t number) {
  torch::autograd::impl::rebase_history(tensor, {node, number});
}

// The input of a node for an output that isn't there.
inline void add_undefined_input(Node &node) { node.add_input_metadata(Node::undefined_input()); }

// PyTorch's own errors for what may not be overwritten.
inline void check_inplace(const at::Tensor &tensor, bool requires_grad) {
  torch::autograd::check_inplace(tensor, requires_grad);
}

// Counts that a tensor was overwritten; torch.autograd.graph.increment_version is public in Python alone.
inline void bump_version(const at::Tensor &tensor) { torch::autograd::impl::bump_version(tensor); }

// Forward mode at its only level.
inline bool has_tangent(const at::Tensor &tensor) {
  if (!tensor.defined()) return false;
  const auto *known = torch::autograd::impl::get_autograd_meta(tensor);
  return known && known->fw_grad_ && torch::autograd::isFwGradDefined(tensor);  // which locks a mutex
}
inline const at::Tensor &tangent(const at::Tensor &tensor) { return tensor._fw_grad(/*level=*/0); }
inline at::Tensor without_tangent(const at::Tensor &tensor) { return tensor._fw_primal(/*level=*/0); }
inline void set_tangent(const at::Tensor &tensor, const at::Tensor &tangent, bool in_place) {
  tensor._set_fw_grad(tangent, /*level=*/0, in_place);
}

}  // namespace opw::compat
