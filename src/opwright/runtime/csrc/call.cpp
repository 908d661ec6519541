// The CPU kernel of every operator.
#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/contiguous.h>

#include "errors.h"
#include "operator.h"

namespace opw {
namespace {

struct Text {
  std::string text;
  static void take(void* self, const char* text, size_t length) {
    static_cast<Text*>(self)->text.assign(text, length);
  }
};

// Everything that one call puts on the C stack.
struct Frame {
  c10::SmallVector<const at::Tensor*, 8> inputs;
  c10::SmallVector<opw_scalar, 4> scalars;
  c10::SmallVector<at::Tensor, 4> held;  // dense copies
  c10::SmallVector<at::Tensor, 6> outputs;
  c10::SmallVector<opw_tensor, 12> tensors;
  const c10::List<bool>* mask = nullptr;
};

void read_arguments(const Plan& plan, c10::ArrayRef<c10::IValue> values, Frame& frame, Bound<int64_t>& bound,
                    c10::List<bool>& mask) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& value = values[i];
    opw_scalar scalar;
    switch (plan.arguments[i].kind) {
      case Kind::Tensor: frame.inputs.push_back(&tensor_of(value)); break;
      case Kind::Float: scalar.f = value.toDouble(); frame.scalars.push_back(scalar); break;
      case Kind::Int: scalar.i = int_of(value); frame.scalars.push_back(scalar); break;
      case Kind::Bool: scalar.i = value.toBool(); frame.scalars.push_back(scalar); break;
      case Kind::Axis: {
        const int64_t axis = plan.arguments[i].index;
        bound.axes[axis] = int_of(value);
        bound.known[axis] = true;
        break;
      }
      case Kind::Ellipsis:
        for (const int64_t size : value.toIntVector()) bound.ellipsis.push_back(size);
        bound.has_ellipsis = true;
        break;
      case Kind::Mask: mask = value.toBoolList(); frame.mask = &mask; break;
    }
  }
}

// What Python needs to say what is wrong: per input 0 or (1, type, rank, sizes...), then the axes and the `...` that were
// given, then the key of the types.
[[noreturn]] void explain(const Operator& op, const Frame& frame, c10::ArrayRef<c10::IValue> values) {
  std::vector<int64_t> words;
  for (const auto* t : frame.inputs) {
    words.push_back(t->defined());
    if (!t->defined()) continue;
    words.push_back(static_cast<int64_t>(t->scalar_type()));
    words.push_back(t->dim());
    words.insert(words.end(), t->sizes().begin(), t->sizes().end());
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto kind = op.plan.arguments[i].kind;
    if (kind == Kind::Axis) words.push_back(int_of(values[i]));
    if (kind == Kind::Ellipsis) {
      const auto sizes = values[i].toIntVector();
      words.push_back(static_cast<int64_t>(sizes.size()));
      words.insert(words.end(), sizes.begin(), sizes.end());
    }
  }
  if (callbacks.explain) callbacks.explain(op.kernel->id, static_cast<int64_t>(words.size()), words.data());
  raise_pending(op.kernel->name + "(): the arguments don't fit the operator's signature");
}

void check_devices(const Operator& op, const Frame& frame) {
  for (const auto* t : frame.inputs)
    if (t->defined() && !t->device().is_cpu())
      raise(Class::Argument, op.kernel->name + "(): one argument is on " + t->device().str() +
                                 ", another on cpu; all tensors of a call must be on one device");
}

opw_tensor absent() {
  return {nullptr, nullptr, nullptr, 0, 0, 0, 0, 0};
}

opw_tensor view(const at::Tensor& t) {
  auto* impl = t.unsafeGetTensorImpl();
  const auto sizes = impl->sizes();
  return {impl->numel() ? const_cast<void*>(t.const_data_ptr()) : nullptr, sizes.data(), impl->strides().data(),
          impl->numel(), static_cast<int32_t>(sizes.size()), static_cast<int32_t>(t.scalar_type()), 1, 0};
}

void add_inputs(const opw_kernel& kernel, Frame& frame) {
  frame.held.reserve(frame.inputs.size());
  for (size_t i = 0; i < frame.inputs.size(); ++i) {
    const at::Tensor* t = frame.inputs[i];
    if (!t->defined()) {
      frame.tensors.push_back(absent());
      continue;
    }
    if (!((kernel.strided >> i) & 1) && !t->is_contiguous()) {
      at::AutoDispatchBelowADInplaceOrView guard;
      frame.held.push_back(t->contiguous());
      t = &frame.held.back();
    }
    frame.tensors.push_back(view(*t));
  }
}

void add_outputs(const Operator& op, const Bound<int64_t>& bound, Frame& frame, c10::ArrayRef<c10::IValue> values) {
  c10::SmallVector<int64_t, 8> sizes;
  for (size_t i = 0; i < op.plan.outputs.size(); ++i) {
    const bool wanted = frame.mask ? frame.mask->get(i) : i < op.returns();
    if (!wanted) {
      frame.tensors.push_back(absent());
      if (i < op.returns()) frame.outputs.emplace_back();
      continue;
    }
    const auto& plan = op.plan.outputs[i];
    if (!output_sizes(plan, bound, sizes)) explain(op, frame, values);
    frame.outputs.emplace_back(at::detail::empty_cpu(sizes, output_type(plan, bound)));
    frame.tensors.push_back(view(frame.outputs.back()));
  }
}

void call(const opw_kernel& kernel, const Frame& frame, const Bound<int64_t>& bound) {
  Text failure;
  const opw_call call{sizeof(opw_call), frame.tensors.data(), frame.scalars.data(), bound.axes.data(), nullptr, -1, 0,
                      &Text::take, &failure};
  if (kernel.entry(&call)) raise(Class::Kernel, std::string(kernel.name) + "(): " + failure.text);
}

}  // namespace

void run(const Operator& op, torch::jit::Stack& stack) {
  const auto values = torch::jit::last(stack, op.plan.arguments.size());
  Frame frame;
  Bound<int64_t> bound(op.plan);
  c10::List<bool> mask;
  read_arguments(op.plan, values, frame, bound, mask);
  check_devices(op, frame);
  if (!bind(op.plan, frame.inputs.data(), bound)) explain(op, frame, values);
  if (frame.mask && frame.mask->size() != op.plan.outputs.size()) explain(op, frame, values);
  const opw_kernel* kernel = op.kernel->find(bound.types);
  if (C10_UNLIKELY(!kernel)) kernel = op.kernel->get(bound.types);
  add_inputs(*kernel, frame);
  add_outputs(op, bound, frame, values);
  call(*kernel, frame, bound);
  torch::jit::drop(stack, op.plan.arguments.size());
  for (auto& output : frame.outputs) stack.emplace_back(std::move(output));
}

const opw_kernel* Kernel::get(uint64_t types) {
  if (!callbacks.build || callbacks.build(id, types)) raise_pending(name + "(): its kernel could not be built");
  const opw_kernel* kernel = find(types);
  if (!kernel) raise(Class::Internal, name + "(): the library that was built lacks this kernel");
  return kernel;
}

void Kernel::publish(uint64_t types, const opw_kernel* kernel) {
  const Instances* old = instances.load(std::memory_order_acquire);
  const Instances* next = nullptr;
  do {
    auto* copy = new Instances;
    copy->list.push_back({types, kernel});
    for (const auto& i : old->list)
      if (i.types != types) copy->list.push_back(i);
    next = copy;
  } while (!instances.compare_exchange_weak(old, next, std::memory_order_acq_rel));
}

}  // namespace opw
