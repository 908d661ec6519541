#include <ATen/Context.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/full.h>
#include <ATen/ops/item.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <cstdio>

#include "errors.h"
#include "frames/frame.h"
#include "frames/loop_frame.h"
#include "messages.h"
#include "call/operator.h"
#include "torch_compat.h"
#include "vmap/vmap.h"

namespace opw {

void add_tensor(const at::Tensor &t, std::vector<int64_t> &words) {
  words.push_back(t.defined());
  if (!t.defined()) return;
  words.push_back(static_cast<int64_t>(t.scalar_type()));
  words.push_back(t.dim());
  words.insert(words.end(), t.sizes().begin(), t.sizes().end());
}

// What Python needs to say what is wrong: the lengths of lists, per tensor 0 or (1, type, rank, sizes...), then the scalars, the axes, the shape of
// `...` and the element type that were given beforehand, then the element that is out of its domain.
void explain(const Operator &op, const Call &call, const WrongElement *element) {
  std::vector<int64_t> words;
  for (size_t i = 0; op.with_lists && i < op.with_lists->plan.inputs.size(); ++i)
    if (op.plan.spans[i].length >= 0) words.push_back(op.plan.spans[i].length);
  for (const auto *t : call.inputs) add_tensor(*t, words);
  add_scalars(op.plan, call, words);
  // Those of `call.axes` that are scalars come first.
  words.insert(words.end(), call.axes.begin() + op.plan.given_by_scalars, call.axes.end());
  if (call.has_ellipsis) {
    words.push_back(static_cast<int64_t>(call.ellipsis.size()));
    words.insert(words.end(), call.ellipsis.begin(), call.ellipsis.end());
  }
  if (element) words.insert(words.end(), {element->input, element->position, element->value});
  if (callbacks.explain) callbacks.explain(op.kernel->id, static_cast<int64_t>(words.size()), words.data());
  raise_pending(op.kernel->name + "(): the arguments don't fit the operator's signature");
}

std::string argument_name(const Operator &op, size_t input) {
  if (op.with_lists) {
    const auto parameter = static_cast<size_t>(op.plan.inputs[input].parameter);
    const auto &span = op.plan.spans[parameter];
    const std::string name = argument_name(*op.with_lists, parameter);
    return span.length < 0 ? name : name + "[" + std::to_string(input - span.first) + "]";
  }
  const auto &arguments = op.handle.schema().arguments();
  size_t i = 0;
  for (; op.plan.arguments[i].kind != Kind::Tensor || input-- > 0; ++i) {
  }
  return arguments[i].name();
}

std::string named(const Operator &op, size_t input) { return op.kernel->name + "(): " + argument_name(op, input); }

void refuse_memory(const Operator &op, const std::string &what, const c10::IntArrayRef &sizes, at::ScalarType type,
                   const c10::Error &error) {
  double size = static_cast<double>(c10::elementSize(type)) / (1 << 30);
  std::string shape;
  for (const int64_t n : sizes) {
    size *= static_cast<double>(n);
    shape += (shape.empty() ? "" : ", ") + std::to_string(n);
  }
  char gibibytes[32];
  std::snprintf(gibibytes, sizeof(gibibytes), "%.3g", size);
  const std::string theirs = error.what_without_backtrace();
  raise(Class::Internal,
        messages::out_of_memory(op.kernel->name, what, shape, gibibytes, theirs.substr(0, theirs.find('\n'))));
}

namespace {

uint64_t wanted(const Operator &op, const c10::List<bool> &mask) {
  const size_t results = op.with_lists ? op.with_lists->plan.outputs.size() : op.plan.outputs.size();
  if (mask.size() != results)
    raise(Class::Argument,
          messages::output_mask(op.kernel->name, std::to_string(mask.size()), std::to_string(results)));
  uint64_t bits = 0;
  for (size_t i = 0; i < mask.size(); ++i) bits |= static_cast<uint64_t>(mask.get(i)) << i;
  return bits;
}

}  // namespace

void read(const Operator &op, c10::ArrayRef<c10::IValue> values, Call &call) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Kind kind = op.plan.arguments[i].kind;
    if (kind == Kind::Tensor) call.inputs.push_back(&tensor_of(values[i]));
    else if (kind == Kind::Mask) call.wanted = wanted(op, values[i].toBoolList());
    else call.read(op.plan, op.plan.arguments[i], values[i]);
  }
}

namespace {

// A bit for each of `count` outputs, at most 64.
uint64_t outputs_mask(size_t count) { return count ? ~uint64_t(0) >> (64 - count) : 0; }

// The outputs, as bits, whose conditions hold.
uint64_t made(const Plan &plan, const Call &call) {
  uint64_t bits = ~uint64_t(0);
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const auto &condition = plan.outputs[i].condition;
    if (condition.of == ConditionOf::None) continue;
    const bool met = condition.of == ConditionOf::Tensor ? call.inputs[condition.index]->defined()
                                                         : call.scalars[condition.index].i == condition.value;
    if (met == condition.negated) bits &= ~(uint64_t(1) << i);
  }
  return bits;
}

// What is known before the tensors are looked at; false where a size is negative.
bool preset(const Plan &plan, const Call &call, Bound<int64_t> &bound) {
  for (size_t i = 0; i < plan.given.size(); ++i) {
    const int64_t axis = plan.given[i], size = call.axes[i];
    if (size < 0 && axis < plan.axes) return false;
    bound.axes[axis] = size;
    bound.known[axis] = true;
  }
  for (const auto &[axis, slot] : plan.optional_sizes) {
    if (!call.scalars[slot + 1].i) continue;
    if (call.scalars[slot].i < 0) return false;
    bound.axes[axis] = call.scalars[slot].i;
    bound.known[axis] = true;
  }
  bound.has_ellipsis = call.has_ellipsis;
  bound.ellipsis.append(call.ellipsis.begin(), call.ellipsis.end());
  for (const auto &[variable, type] : call.types) {
    if (type == at::ScalarType::Undefined) continue;
    if (!allows(plan, variable, type)) return false;
    bound.types |= (static_cast<uint64_t>(type) + 1) << (8 * variable);
  }
  return true;
}

void check_memory(const Operator &op, const Call &call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const at::Tensor &t = *call.inputs[i];
    if (!t.defined()) continue;
    if (C10_UNLIKELY(!t.unsafeGetTensorImpl()->storage_initialized()))
      raise(Class::Argument, messages::storage_freed(named(op, i)));
  }
}

// A number on the CPU, for a kernel that runs elsewhere: filled in there, which no stream waits for and graphs can capture.
at::Tensor moved(const at::Tensor &number, c10::Device device) {
  at::AutoDispatchBelowADInplaceOrView guard;
  at::Tensor there = at::full({}, number.item(), number.options().device(device));
  there.unsafeGetTensorImpl()->set_wrapped_number(number.unsafeGetTensorImpl()->is_wrapped_number());
  return there;
}

// The numbers of a pointwise call that aren't where it runs. None of those that are there may move.
class Moved {
 public:
  explicit Moved(Call &call) {
    for (auto &input : call.inputs) {
      if (C10_LIKELY(!input->defined() || input->device() == call.device)) continue;
      held_.reserve(call.inputs.size());
      held_.push_back(moved(*input, call.device));
      input = &held_.back();
    }
  }

 private:
  std::vector<at::Tensor> held_;
};

template <class F>
void enter(const Operator &op, const opw_kernel &kernel, const Call &call, const Bound<int64_t> &bound,
           at::Tensor *outputs) {
  F frame(op, call, bound, outputs);
  frame.add_tensors(kernel);
  frame.enter(kernel);
  frame.finish();
}

}  // namespace

void check_dense(const Operator &op, c10::ArrayRef<c10::IValue> arguments) {
  size_t input = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (op.plan.arguments[i].kind != Kind::Tensor) continue;
    const at::Tensor &t = tensor_of(arguments[i]);
    const size_t number = input++;
    if (!t.defined() || (t.layout() == at::kStrided && !t.is_nested() && !t.is_quantized())) continue;
    const std::string kind = t.is_quantized() ? "quantized" : t.is_nested() ? "nested" : "sparse or otherwise packed";
    raise(Class::Argument,
          messages::not_dense(named(op, number), kind, t.is_quantized() ? "dequantize()" : "to_dense()"));
  }
}

namespace {

// The name of the argument that is a device.
std::string device_argument(const Operator &op) {
  size_t i = 0;
  while (op.plan.arguments[i].kind != Kind::Device) ++i;
  return op.handle.schema().arguments()[i].name();
}

bool serves(const Operator &op, c10::Device device) {
  return (device.is_cpu() && op.kernel->cpu) || (device.type() == accelerator && op.kernel->cuda);
}

// `input`: which tensor; none: the argument `device` of an operator without tensors.
[[noreturn]] void refuse(const Operator &op, c10::Device device, std::optional<size_t> input) {
  const std::string there = c10::DeviceTypeName(accelerator, /*lower_case=*/true), here = device.str();
  const std::string known = op.kernel->cpu && op.kernel->cuda ? "cpu and " + there : op.kernel->cuda ? there : "cpu";
  const std::string nearest = op.kernel->cpu ? "cpu" : there;
  std::string text = input
                         ? messages::no_kernel_for_device(named(op, *input), here, known, nearest)
                         : messages::no_kernel_for_factory(op.kernel->name, device_argument(op), here, known, nearest);
  if (!input && !device.is_cpu()) text += messages::then_move_the_result(here);
  if (device.is_cpu()) text += messages::or_emulate();
  raise(Class::Argument, text);
}

}  // namespace

void refuse_device(const Operator &op, c10::ArrayRef<c10::IValue> arguments) {
  check_dense(op, arguments);
  size_t input = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Kind kind = op.plan.arguments[i].kind;
    if (kind == Kind::Device && !arguments[i].isNone() && !serves(op, arguments[i].toDevice()))
      refuse(op, arguments[i].toDevice(), std::nullopt);
    const size_t number = input;
    input += kind == Kind::Tensor;
    if (kind != Kind::Tensor || !tensor_of(arguments[i]).defined()) continue;
    if (const auto device = tensor_of(arguments[i]).device(); !serves(op, device)) refuse(op, device, number);
  }
  Call call;  // without a tensor
  read(op, arguments, call);
  explain(op, call);
}

namespace {

// Raises where an argument asks for another device than that of a tensor.
void check_asked(const Operator &op, const Call &call, size_t input) {
  const auto there = call.inputs[input]->device();
  if (call.device.type() == there.type() && (!call.device.has_index() || call.device == there)) return;
  const std::string name = device_argument(op);
  raise(Class::Argument, messages::other_device(op.kernel->name + "(): " + name, call.device.str(),
                                                argument_name(op, input), there.str(), name));
}

}  // namespace

c10::Device place(const Operator &op, const Call &call) {
  if (op.plan.factory) {
    if (!serves(op, call.device)) refuse(op, call.device, std::nullopt);
    if (call.device.is_cpu()) return call.device;
    at::globalContext().lazyInitDevice(call.device.type());  // no tensor that is there has seen to it
    return call.device.has_index() ? call.device : compat::Devices(call.device.type()).getDevice();
  }
  const auto goes_anywhere = [&](size_t i) {
    const at::Tensor &t = *call.inputs[i];
    return op.plan.broadcast == Broadcast::Pointwise && !op.plan.inputs[i].mutated && t.is_cpu() && t.dim() == 0;
  };
  std::optional<size_t> first, number;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i]->defined()) continue;
    if (C10_UNLIKELY(goes_anywhere(i))) {
      if (!number) number = i;
      continue;
    }
    const auto device = call.inputs[i]->device();
    if (C10_UNLIKELY(!serves(op, device))) refuse(op, device, i);
    if (!first) first = i;
    if (const auto expected = call.inputs[*first]->device(); C10_UNLIKELY(device != expected))
      raise(Class::Argument,
            messages::two_devices(named(op, i), device.str(), argument_name(op, *first), expected.str()));
  }
  if (C10_UNLIKELY(call.asks_device) && (first || number)) check_asked(op, call, first ? *first : *number);
  if (first) return call.inputs[*first]->device();
  if (number && !serves(op, c10::kCPU)) refuse(op, c10::kCPU, *number);
  return c10::kCPU;
}

const opw_kernel *prepare(const Operator &op, Call &call, Bound<int64_t> &bound, c10::function_ref<void()> check) {
  if (C10_UNLIKELY(!call.unknown.empty() || call.misfits)) explain(op, call);
  if (!call.axes.empty() || call.has_ellipsis || !call.types.empty() || !op.plan.optional_sizes.empty())
    if (!preset(op.plan, call, bound)) explain(op, call);
  check_memory(op, call);
  if (C10_UNLIKELY(!bind(op.plan, call.inputs.data(), bound))) explain(op, call);
  if (C10_UNLIKELY(!op.plan.domains.empty() && !in_domains(op.plan, call.scalars.data(), bound))) explain(op, call);
  if (C10_UNLIKELY(op.plan.has_domain || !op.plan.mutated.empty())) check();
  if (C10_UNLIKELY(op.plan.conditional)) call.wanted &= made(op.plan, call);
  const uint64_t wanted = call.wanted & outputs_mask(op.plan.results());
  // A kernel with one gradient needn't ask whether it is wanted.
  if (C10_UNLIKELY(op.plan.masked && !wanted)) return nullptr;
  const uint64_t types = call.device.is_cpu() ? bound.types : bound.types | on_accelerator;
  const uint64_t key = op.plan.derived ? types | wanted << 32 : types;
  const opw_kernel *kernel = op.kernel->find(key);
  return C10_UNLIKELY(!kernel) ? op.kernel->get(key) : kernel;
}

void run(const Operator &op, Call &call, at::Tensor *outputs) {
  if (C10_UNLIKELY(op.element != nullptr)) return run_over_batch(*op.element, call, outputs);
  call.device = place(op, call);
  const OnDevice on(call.device);
  const Moved numbers(call);
  Bound<int64_t> bound(op.plan);
  const opw_kernel *kernel = prepare(op, call, bound, [&] { check_values(op, call, bound); });
  if (C10_UNLIKELY(!kernel)) return;
  switch (op.plan.broadcast) {
    case Broadcast::None: return enter<Frame>(op, *kernel, call, bound, outputs);
    case Broadcast::Pointwise: return enter<PointwiseFrame>(op, *kernel, call, bound, outputs);
    case Broadcast::Batched: return enter<BatchedFrame>(op, *kernel, call, bound, outputs);
  }
}

namespace {

int64_t counted(const Operator &op, size_t output, const at::Tensor &number) {
  const int64_t count = *number.const_data_ptr<int64_t>();
  if (count < 0)
    raise(Class::Kernel, messages::negative_count(op.kernel->name, std::to_string(count), std::to_string(output + 1)));
  return count;
}

}  // namespace

void run(const Operator &op, torch::jit::Stack &stack, c10::ArrayRef<const at::Tensor *> memory) {
  Call call;
  call.memory = memory;
  read(op, torch::jit::last(stack, op.plan.arguments.size()), call);
  c10::SmallVector<at::Tensor, 6> outputs(op.returns());
  run(op, call, outputs.data());
  torch::jit::drop(stack, op.plan.arguments.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (C10_UNLIKELY(op.plan.outputs[i].is_count)) stack.emplace_back(counted(op, i, outputs[i]));
    else stack.emplace_back(std::move(outputs[i]));
  }
}

const opw_kernel *Kernel::get(uint64_t key) {
  int32_t done = 0;
  if (callbacks.build) callbacks.build(id, key, &done);
  if (done != 1) raise_pending(name + "(): its kernel could not be built");
  const opw_kernel *kernel = find(key);
  if (!kernel) raise(Class::Internal, name + "(): the library that was built lacks this kernel");
  return kernel;
}

void Kernel::publish(uint64_t key, const opw_kernel *kernel) {
  std::lock_guard<std::mutex> lock(publishing_);
  Instances next;
  next.list.push_back({key, kernel});
  for (const auto &i : instances.load(std::memory_order_acquire)->list)
    if (i.key != key) next.list.push_back(i);
  std::sort(next.list.begin(), next.list.end(), [](auto &a, auto &b) { return a.key < b.key; });
  const auto known = std::find_if(published_.begin(), published_.end(), [&](auto &old) { return *old == next; });
  if (known != published_.end()) return instances.store(known->get(), std::memory_order_release);
  published_.push_back(std::make_unique<const Instances>(std::move(next)));
  instances.store(published_.back().get(), std::memory_order_release);
}

}  // namespace opw
