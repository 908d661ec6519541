#include <ATen/EmptyTensor.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <cstdio>

#include "errors.h"
#include "frame.h"
#include "loop_frame.h"
#include "operator.h"

namespace opw {

// What Python needs to say what is wrong: per input 0 or (1, type, rank, sizes...), then the axes, the shape of `...` and the
// element type that were given beforehand, then the index that is out of its range.
void explain(const Operator& op, const Call& call, const WrongIndex* index) {
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
  if (call.dtype) words.push_back(static_cast<int64_t>(*call.dtype));
  if (index) words.insert(words.end(), {index->input, index->position, index->value});
  if (callbacks.explain) callbacks.explain(op.kernel->id, static_cast<int64_t>(words.size()), words.data());
  raise_pending(op.kernel->name + "(): the arguments don't fit the operator's signature");
}

const std::string& argument_name(const Operator& op, size_t input) {
  const auto& arguments = op.handle.schema().arguments();
  size_t i = 0;
  for (; op.plan.arguments[i].kind != Kind::Tensor || input-- > 0; ++i) {
  }
  return arguments[i].name();
}

std::string named(const Operator& op, size_t input) {
  return op.kernel->name + "(): " + argument_name(op, input);
}

void refuse_memory(const Operator& op, const std::string& what, const c10::IntArrayRef& sizes, at::ScalarType type,
                   const c10::Error& error) {
  double size = static_cast<double>(c10::elementSize(type)) / (1 << 30);
  std::string shape;
  for (const int64_t n : sizes) {
    size *= static_cast<double>(n);
    shape += (shape.empty() ? "" : ", ") + std::to_string(n);
  }
  char gibibytes[32];
  std::snprintf(gibibytes, sizeof(gibibytes), "%.3g", size);
  const std::string theirs = error.what_without_backtrace();
  raise(Class::Internal, op.kernel->name + "(): no memory for " + what + " of shape [" + shape + "]: " + gibibytes +
                             " GiB\n  PyTorch says: " + theirs.substr(0, theirs.find('\n')));
}

namespace {

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

// What is known before the tensors are looked at; false where a size is negative.
bool preset(const Plan& plan, const Call& call, Bound<int64_t>& bound) {
  size_t next = 0;
  for (const auto& argument : plan.arguments) {
    if (argument.kind != Kind::Axis && argument.kind != Kind::Size) continue;
    const int64_t size = call.axes[next++];
    if (size < 0) return false;
    bound.axes[argument.index] = size;
    bound.known[argument.index] = true;
  }
  bound.has_ellipsis = call.has_ellipsis;
  bound.ellipsis.append(call.ellipsis.begin(), call.ellipsis.end());
  if (!call.dtype) return true;
  bound.types = static_cast<uint64_t>(*call.dtype) + 1;
  return allows(plan, 0, *call.dtype);
}

void check_memory(const Operator& op, const Call& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const at::Tensor& t = *call.inputs[i];
    if (!t.defined()) continue;
    if (C10_UNLIKELY(!t.is_cpu()))
      raise(Class::Argument, named(op, i) + " is on " + t.device().str() + ", expected cpu: all tensors of a call must be on "
                             "one device");
    if (C10_UNLIKELY(!t.unsafeGetTensorImpl()->storage_initialized()))
      raise(Class::Argument, named(op, i) + " has no memory: its storage was freed (untyped_storage().resize_(0))");
  }
}

template <class F>
void enter(const Operator& op, const opw_kernel& kernel, const Call& call, const Bound<int64_t>& bound, at::Tensor* outputs) {
  F frame(op, call, bound, outputs);
  frame.add_tensors(kernel);
  frame.enter(kernel);
  frame.finish();
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

void refuse_device(const Operator& op, c10::ArrayRef<c10::IValue> arguments) {
  check_dense(op, arguments);
  size_t input = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Kind kind = op.plan.arguments[i].kind;
    const bool given = kind == Kind::Device && !arguments[i].isNone();
    const auto device = given ? arguments[i].toDevice()
                        : kind == Kind::Tensor && tensor_of(arguments[i]).defined() ? tensor_of(arguments[i]).device()
                                                                                    : c10::Device(c10::kCPU);
    const size_t number = input;
    input += kind == Kind::Tensor;
    if (device.is_cpu()) continue;
    raise(Class::Argument, (given ? op.kernel->name + "(): device" : named(op, number)) + " is " + (given ? "" : "on ") +
                               device.str() + ", but this operator has kernels for cpu only\n  likely fix:   " +
                               (given ? "device=\"cpu\", then .to(\"" + device.str() + "\")" : "call it with .cpu()"));
  }
  Call call;  // without a tensor
  read(op, arguments, call);
  explain(op, call);
}

void Call::read(Kind kind, const c10::IValue& value) {
  opw_scalar scalar{};
  switch (kind) {
    case Kind::Float: scalar.f = value.toDouble(); scalars.push_back(scalar); break;
    case Kind::Int: scalar.i = int_of(value); scalars.push_back(scalar); break;
    case Kind::Bool: scalar.i = value.toBool(); scalars.push_back(scalar); break;
    case Kind::Axis: axes.push_back(int_of(value)); break;
    case Kind::Size: scalar.i = int_of(value); scalars.push_back(scalar); axes.push_back(scalar.i); break;
    case Kind::Ellipsis:
      for (const auto& size : value.toListRef()) ellipsis.push_back(int_of(size));
      has_ellipsis = true;
      break;
    case Kind::Generator: if (!value.isNone()) generator = value.toGenerator(); break;
    case Kind::Dtype: dtype = value.isNone() ? c10::get_default_dtype_as_scalartype() : value.toScalarType(); break;
    case Kind::Device: break;  // by now it is where the kernel is for
    case Kind::Tensor:
    case Kind::Mask: TORCH_INTERNAL_ASSERT(false);
  }
}

void run(const Operator& op, const Call& call, at::Tensor* outputs) {
  Bound<int64_t> bound(op.plan);
  if (!call.axes.empty() || call.has_ellipsis || call.dtype)
    if (!preset(op.plan, call, bound)) explain(op, call);
  check_memory(op, call);
  if (C10_UNLIKELY(!bind(op.plan, call.inputs.data(), bound))) explain(op, call);
  if (C10_UNLIKELY(op.plan.indices || !op.plan.mutated.empty())) check_values(op, call, bound);
  const uint64_t wanted = call.wanted & ((uint64_t(2) << (op.plan.outputs.size() - 1)) - 1);
  // A kernel with one gradient needn't ask whether it is wanted.
  if (C10_UNLIKELY(op.plan.masked && !wanted)) return;
  const uint64_t key = op.plan.derived ? bound.types | wanted << 32 : bound.types;
  const opw_kernel* kernel = op.kernel->find(key);
  if (C10_UNLIKELY(!kernel)) kernel = op.kernel->get(key);
  switch (op.plan.broadcast) {
    case Broadcast::None: return enter<Frame>(op, *kernel, call, bound, outputs);
    case Broadcast::Pointwise: return enter<PointwiseFrame>(op, *kernel, call, bound, outputs);
    case Broadcast::Batched: return enter<BatchedFrame>(op, *kernel, call, bound, outputs);
  }
}

void run(const Operator& op, torch::jit::Stack& stack) {
  Call call;
  read(op, torch::jit::last(stack, op.plan.arguments.size()), call);
  c10::SmallVector<at::Tensor, 6> outputs(op.returns());
  run(op, call, outputs.data());
  torch::jit::drop(stack, op.plan.arguments.size());
  for (auto& output : outputs) stack.emplace_back(std::move(output));
}

const opw_kernel* Kernel::get(uint64_t key) {
  int32_t done = 0;
  if (callbacks.build) callbacks.build(id, key, &done);
  if (done != 1) raise_pending(name + "(): its kernel could not be built");
  const opw_kernel* kernel = find(key);
  if (!kernel) raise(Class::Internal, name + "(): the library that was built lacks this kernel");
  return kernel;
}

void Kernel::publish(uint64_t key, const opw_kernel* kernel) {
  std::lock_guard<std::mutex> lock(publishing_);
  Instances next;
  next.list.push_back({key, kernel});
  for (const auto& i : instances.load(std::memory_order_acquire)->list)
    if (i.key != key) next.list.push_back(i);
  std::sort(next.list.begin(), next.list.end(), [](auto& a, auto& b) { return a.key < b.key; });
  const auto known = std::find_if(published_.begin(), published_.end(), [&](auto& old) { return *old == next; });
  if (known != published_.end()) return instances.store(known->get(), std::memory_order_release);
  published_.push_back(std::make_unique<const Instances>(std::move(next)));
  instances.store(published_.back().get(), std::memory_order_release);
}

}  // namespace opw
