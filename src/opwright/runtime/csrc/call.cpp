// The CPU kernel of every operator.
#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/contiguous.h>

#include <algorithm>

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

// What Python needs to say what is wrong: per input 0 or (1, type, rank, sizes...), then the axes and the shape of `...`
// that were given beforehand.
[[noreturn]] void explain(const Operator& op, const Call& call) {
  std::vector<int64_t> words;
  for (const auto* t : call.inputs) {
    words.push_back(t->defined());
    if (!t->defined()) continue;
    words.push_back(static_cast<int64_t>(t->scalar_type()));
    words.push_back(t->dim());
    words.insert(words.end(), t->sizes().begin(), t->sizes().end());
  }
  words.insert(words.end(), call.axes.begin(), call.axes.end());
  if (call.has_ellipsis) {
    words.push_back(static_cast<int64_t>(call.ellipsis.size()));
    words.insert(words.end(), call.ellipsis.begin(), call.ellipsis.end());
  }
  if (callbacks.explain) callbacks.explain(op.kernel->id, static_cast<int64_t>(words.size()), words.data());
  raise_pending(op.kernel->name + "(): the arguments don't fit the operator's signature");
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

// What lives as long as the kernel runs.
struct Frame {
  c10::SmallVector<at::Tensor, 4> held;  // dense copies
  c10::SmallVector<opw_tensor, 12> tensors;
};

void add_inputs(const opw_kernel& kernel, const Call& call, Frame& frame) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const at::Tensor* t = call.inputs[i];
    if (!t->defined()) {
      frame.tensors.push_back(absent());
      continue;
    }
    if (C10_UNLIKELY(!((kernel.strided >> i) & 1) && !t->is_contiguous())) {
      at::AutoDispatchBelowADInplaceOrView guard;
      frame.held.reserve(call.inputs.size());  // no copy may move: `t` points at it
      frame.held.push_back(t->contiguous());
      t = &frame.held.back();
    }
    frame.tensors.push_back(view(*t));
  }
}

void add_outputs(const Operator& op, const Bound<int64_t>& bound, const Call& call, Frame& frame, at::Tensor* outputs) {
  c10::SmallVector<int64_t, 8> sizes;
  for (size_t i = 0; i < op.plan.outputs.size(); ++i) {
    if (i >= op.returns() || !((call.wanted >> i) & 1)) {
      frame.tensors.push_back(absent());
      continue;
    }
    const auto& plan = op.plan.outputs[i];
    if (!output_sizes(plan, bound, sizes)) explain(op, call);
    outputs[i] = at::detail::empty_cpu(sizes, output_type(plan, bound));
    frame.tensors.push_back(view(outputs[i]));
  }
}

void enter(const opw_kernel& kernel, const Call& given, const Frame& frame, const Bound<int64_t>& bound) {
  Text failure;
  const opw_call call{sizeof(opw_call), frame.tensors.data(), given.scalars.data(), bound.axes.data(), nullptr, -1, 0,
                      &Text::take, &failure, nullptr, nullptr, nullptr};
  if (C10_UNLIKELY(kernel.entry(&call))) raise(Class::Kernel, std::string(kernel.name) + "(): " + failure.text);
}

uint64_t wanted(const Operator& op, const c10::List<bool>& mask) {
  if (mask.size() != op.plan.outputs.size())
    raise(Class::Argument, op.kernel->name + "(): output_mask has " + std::to_string(mask.size()) +
                               " elements, expected one for each of " + std::to_string(op.plan.outputs.size()) + " gradients");
  uint64_t bits = 0;
  for (size_t i = 0; i < mask.size(); ++i) bits |= static_cast<uint64_t>(mask.get(i)) << i;
  return bits;
}

void read(const Operator& op, c10::ArrayRef<c10::IValue> values, Call& call) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Kind kind = op.plan.arguments[i].kind;
    if (kind == Kind::Tensor) call.inputs.push_back(&tensor_of(values[i]));
    else if (kind == Kind::Mask) call.wanted = wanted(op, values[i].toBoolList());
    else call.read(kind, values[i]);
  }
}

void preset(const Plan& plan, const Call& call, Bound<int64_t>& bound) {
  size_t next = 0;
  for (const auto& argument : plan.arguments) {
    if (argument.kind != Kind::Axis) continue;
    bound.axes[argument.index] = call.axes[next++];
    bound.known[argument.index] = true;
  }
  bound.has_ellipsis = call.has_ellipsis;
  bound.ellipsis.append(call.ellipsis.begin(), call.ellipsis.end());
}

}  // namespace

namespace {

// "op(): name", for the input tensor of that number.
std::string named(const Operator& op, size_t input) {
  const auto& arguments = op.handle.schema().arguments();
  size_t i = 0;
  for (; op.plan.arguments[i].kind != Kind::Tensor || input-- > 0; ++i) {
  }
  return op.kernel->name + "(): " + arguments[i].name();
}

void check_cpu(const Operator& op, const Call& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const at::Tensor& t = *call.inputs[i];
    if (C10_UNLIKELY(t.defined() && !t.is_cpu()))
      raise(Class::Argument, named(op, i) + " is on " + t.device().str() + ", expected cpu: all tensors of a call must be on "
                             "one device");
  }
}

}  // namespace

void check_dense(const Operator& op, c10::ArrayRef<c10::IValue> arguments) {
  size_t input = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (op.plan.arguments[i].kind != Kind::Tensor) continue;
    const at::Tensor& t = tensor_of(arguments[i]);
    const size_t number = input++;
    if (!t.defined() || (t.layout() == at::kStrided && !t.is_nested() && !t.is_quantized())) continue;
    const std::string kind = t.is_quantized() ? "quantized" : t.is_nested() ? "nested" : "sparse or otherwise packed";
    raise(Class::Argument, named(op, number) + " is a " + kind + " tensor, expected a dense one\n  likely fix:   " +
                               (t.is_quantized() ? "dequantize()" : "to_dense()"));
  }
}

void Call::read(Kind kind, const c10::IValue& value) {
  opw_scalar scalar{};
  switch (kind) {
    case Kind::Float: scalar.f = value.toDouble(); scalars.push_back(scalar); break;
    case Kind::Int: scalar.i = int_of(value); scalars.push_back(scalar); break;
    case Kind::Bool: scalar.i = value.toBool(); scalars.push_back(scalar); break;
    case Kind::Axis: axes.push_back(int_of(value)); break;
    case Kind::Ellipsis:
      for (const auto& size : value.toListRef()) ellipsis.push_back(int_of(size));
      has_ellipsis = true;
      break;
    case Kind::Tensor:
    case Kind::Mask: TORCH_INTERNAL_ASSERT(false);
  }
}

void run(const Operator& op, const Call& call, at::Tensor* outputs) {
  Bound<int64_t> bound(op.plan);
  if (!call.axes.empty() || call.has_ellipsis) preset(op.plan, call, bound);
  check_cpu(op, call);
  if (C10_UNLIKELY(!bind(op.plan, call.inputs.data(), bound))) explain(op, call);
  const opw_kernel* kernel = op.kernel->find(bound.types);
  if (C10_UNLIKELY(!kernel)) kernel = op.kernel->get(bound.types);
  Frame frame;
  add_inputs(*kernel, call, frame);
  add_outputs(op, bound, call, frame, outputs);
  enter(*kernel, call, frame, bound);
}

void run(const Operator& op, torch::jit::Stack& stack) {
  Call call;
  read(op, torch::jit::last(stack, op.plan.arguments.size()), call);
  c10::SmallVector<at::Tensor, 6> outputs(op.returns());
  run(op, call, outputs.data());
  torch::jit::drop(stack, op.plan.arguments.size());
  for (auto& output : outputs) stack.emplace_back(std::move(output));
}

const opw_kernel* Kernel::get(uint64_t types) {
  if (!callbacks.build || callbacks.build(id, types) != 1) raise_pending(name + "(): its kernel could not be built");
  const opw_kernel* kernel = find(types);
  if (!kernel) raise(Class::Internal, name + "(): the library that was built lacks this kernel");
  return kernel;
}

void Kernel::publish(uint64_t types, const opw_kernel* kernel) {
  std::lock_guard<std::mutex> lock(publishing_);
  Instances next;
  next.list.push_back({types, kernel});
  for (const auto& i : instances.load(std::memory_order_acquire)->list)
    if (i.types != types) next.list.push_back(i);
  std::sort(next.list.begin(), next.list.end(), [](auto& a, auto& b) { return a.types < b.types; });
  const auto known = std::find_if(published_.begin(), published_.end(), [&](auto& old) { return *old == next; });
  if (known != published_.end()) return instances.store(known->get(), std::memory_order_release);
  published_.push_back(std::make_unique<const Instances>(std::move(next)));
  instances.store(published_.back().get(), std::memory_order_release);
}

}  // namespace opw
