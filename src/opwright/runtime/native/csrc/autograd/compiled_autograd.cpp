// Compiled autograd: torch.compile traces a whole backward, and calls the operators' backwards in its graph.
//
// The compiler stands behind an interface of libtorch_cpu, so that nothing here needs Python. compiled_args says what the
// graph depends on: tensors and sizes become its inputs, everything else is part of the key that it is found by.
// apply_with_saved hands over a function for the graph, which the compiler traces with the graph's own tensors.
#include <algorithm>

#include "errors.h"
#include "messages.h"
#include "autograd/node.h"

namespace opw {
namespace {

bool is_size(const Wire &wire) { return wire.source == Source::Axis || wire.source == Source::Ellipsis; }
bool is_scalar(const Wire &wire) { return wire.source == Source::Scalar || is_size(wire); }
bool is_saved(const Wire &wire) { return wire.source == Source::Input || wire.source == Source::Output; }

std::vector<c10::SymInt> sizes_of(const c10::IValue &value) {
  return value.isList() ? value.toSymIntVector() : std::vector<c10::SymInt>{value.toSymInt()};
}

// What the function in the graph gets: values, and how PyTorch converts them from Python's.
struct Packed {
  std::vector<c10::IValue> values;
  std::vector<at::TypePtr> types;

  template <class T>
  void add(const T &value) {
    values.push_back(compat::Packer<T>::pack(value));
    types.push_back(compat::Packer<T>::packed_type());
  }
};

// Calls the backward with what was packed; `scalars` has sizes as they were when the graph was traced.
variable_list backward_in_graph(const Derivative &d, uint64_t wanted, c10::SmallVector<c10::IValue, 4> scalars,
                                const std::vector<bool> &real, const variable_list &gradients,
                                const std::vector<c10::IValue> &values) {
  c10::SmallVector<at::Tensor, 8> tensors;
  size_t next_value = 0, next_scalar = 0;
  for (const auto &wire : d.wires) {
    if (is_saved(wire)) tensors.push_back(values[next_value++].toTensor());
    if (wire.source == Source::Gradient || wire.source == Source::ZeroGradient) {
      const auto &gradient = gradients[d.written[wire.index].slot];
      if (gradient.defined() || wire.source == Source::Gradient) tensors.push_back(gradient);
      else tensors.push_back(compat::Packer<compat::InputMetadata>::unpack(values[next_value]).zeros_like());
      next_value += wire.source == Source::ZeroGradient;
    }
    if (wire.source == Source::Axis) scalars[next_scalar] = values[next_value++].toSymIntVector()[0];
    if (wire.source == Source::Ellipsis) scalars[next_scalar] = values[next_value++].toSymIntVector();
    next_scalar += is_scalar(wire);
  }
  auto results = call_backward(d, tensors, scalars, wanted);
  take_real_parts(results, real);
  return results;
}

}  // namespace

void OperatorNode::compiled_args(compat::CompiledNodeArgs &args) const {
  if (!derivative_.backward) raise(Class::Unsupported, derivative_.missing);
  if (!derivative_.forward->plan.mutated.empty()) raise(Class::Unsupported, messages::compiled_autograd(name()));
  args.collect(reinterpret_cast<uint64_t>(&derivative_));
  for (size_t e = 0; e < derivative_.edges.size(); ++e) args.collect(task_should_compute_output(e));
  for (const bool real : real_edges()) args.collect(real);
  size_t next_saved = 0, next_scalar = 0;
  for (const auto &wire : derivative_.wires) {
    if (is_saved(wire)) args.collect(saved_[next_saved++], wire.source == Source::Output);
    if (wire.source == Source::ZeroGradient) args.collect(input_metadata(derivative_.written[wire.index].slot));
    if (!is_scalar(wire)) continue;
    const auto &value = scalars_[next_scalar++];
    if (is_size(wire)) args.collect(sizes_of(value));
    else args.collect(value, /*nested=*/true);  // part of the key
  }
}

variable_list OperatorNode::apply_with_saved(const variable_list &gradients, compat::SwapSavedVariables &saved) {
  Packed packed;
  std::vector<std::vector<c10::SymInt>> sizes;
  sizes.reserve(scalars_.size());  // none of them may move
  size_t next_saved = 0, next_scalar = 0;
  const NodePtr self = compat::pointer_to(this);
  for (const auto &wire : derivative_.wires) {
    if (is_saved(wire)) {
      saved.before(saved_[next_saved]);
      packed.add(saved_[next_saved++].unpack(self));
    }
    if (wire.source == Source::ZeroGradient) {
      auto &metadata = mutable_input_metadata(derivative_.written[wire.index].slot);
      saved.before(metadata);
      packed.add(metadata);
    }
    if (is_scalar(wire)) ++next_scalar;
    if (!is_size(wire)) continue;
    sizes.push_back(sizes_of(scalars_[next_scalar - 1]));
    saved.before(sizes.back());
    packed.add(sizes.back());
  }

  const c10::SmallVector<c10::IValue, 4> scalars = scalars_;
  const auto in_graph = [&d = derivative_, wanted = wanted(), scalars, real = real_edges()](
                            const variable_list &gradients, const std::vector<c10::IValue> &values) {
    return backward_in_graph(d, wanted, scalars, real, gradients, values);
  };
  const auto &compiler = compat::compiler_interface();
  const auto name = compiler->bind_function(saved.get_py_compiler(), derivative_.node_name, in_graph, packed.types,
                                            /*is_custom_function=*/true, /*is_traceable=*/true);
  auto results = compiler->call_function(saved.get_py_compiler(), "apply_functional", name, gradients, packed.values,
                                         compat::packed_metadata(next_edges()));

  next_saved = 0;
  for (const auto &wire : derivative_.wires) {
    if (is_saved(wire)) saved.after(saved_[next_saved++]);
    if (wire.source == Source::ZeroGradient) saved.after(mutable_input_metadata(derivative_.written[wire.index].slot));
  }
  for (auto &each : sizes) saved.after(each);
  return results;
}

}  // namespace opw
