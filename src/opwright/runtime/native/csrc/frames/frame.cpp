#include "frames/frame.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/fill.h>
#include <ATen/ops/random.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>

#include <limits>

#include "errors.h"
#include "messages.h"

namespace opw {
namespace {

struct Text {
  std::string text;
  static void take(void *self, const char *text, size_t length) {
    static_cast<Text *>(self)->text.assign(text, length);
  }
};

// What torch.empty does in deterministic mode: a kernel that leaves an element unwritten is then wrong in the same way every
// time.
void fill_deterministically(at::Tensor &t) {
  if (t.scalar_type() == at::kFloat4_e2m1fn_x2) t.view(at::kByte).fill_(0xff);  // PyTorch can't fill such tensors
  else if (t.is_floating_point() || t.is_complex()) t.fill_(std::numeric_limits<double>::quiet_NaN());
  else if (t.scalar_type() == at::kBool) t.fill_(true);
  else
    t.fill_(t.element_size() == 8 ? std::numeric_limits<int64_t>::max()
                                  : (int64_t(1) << (8 * t.element_size() - 1)) - 1);
}

// A key for one call, from the generator that torch.manual_seed seeds.
class Drawn {
 public:
  explicit Drawn(const Call &call) : rng{} {
    const at::Generator given =
        call.generator.defined() ? call.generator : at::globalContext().defaultGenerator(call.device);
    if (call.device.is_cpu()) on_cpu(given);
    else if (is_capturing(call.device)) when_replayed(call.device, given);
    else on_device(call.device, given);
  }
  opw_rng rng;

 private:
  void on_cpu(const at::Generator &given) {
    auto *generator = at::check_generator<at::CPUGeneratorImpl>(given);
    std::lock_guard<std::mutex> lock(generator->mutex_);
    rng.seed = generator->random64();
  }
  // Its seed and how far it has got make a key that no other call has; nobody waits for the device.
  void on_device(c10::Device device, at::Generator generator) {
    TORCH_CHECK(generator.device().type() == device.type(),
                messages::generator_device(c10::DeviceTypeName(device.type(), /*lower_case=*/true),
                                           c10::DeviceTypeName(generator.device().type(), /*lower_case=*/true)));
    std::lock_guard<std::mutex> lock(generator.mutex());
    const uint64_t offset = generator.get_offset();
    generator.set_offset(offset + 4);  // the smallest step that PyTorch's own operators know
    rng.seed = mixed(mixed(generator.current_seed()) + offset);
  }
  // A graph draws anew each time it is replayed: the key is a number on the device.
  void when_replayed(c10::Device device, const at::Generator &generator) {
    at::AutoDispatchBelowADInplaceOrView guard;
    seed_ = at::empty({}, at::TensorOptions(at::kLong).device(device)).random_(INT64_MIN, std::nullopt, generator);
    rng.seed_pointer = seed_.const_data_ptr<int64_t>();
  }
  // The finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators; OOPSLA 2014).
  static uint64_t mixed(uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  at::Tensor seed_;
};

}  // namespace

opw_tensor absent() { return {nullptr, nullptr, nullptr, 0, 0, 0, 0, 0}; }

opw_tensor view(const at::Tensor &t, bool written) {
  auto *impl = t.unsafeGetTensorImpl();
  const auto sizes = impl->sizes();
  void *data = !impl->numel() ? nullptr : written ? t.mutable_data_ptr() : const_cast<void *>(t.const_data_ptr());
  return {data,
          sizes.data(),
          impl->strides().data(),
          impl->numel(),
          static_cast<int32_t>(sizes.size()),
          static_cast<int32_t>(t.scalar_type()),
          1,
          0};
}

bool is_aligned(const at::Tensor &t) { return is_aligned(t.const_data_ptr(), t.element_size()); }

bool is_unreadable(const at::Tensor &t) { return t.is_complex() && !is_aligned(t); }

at::Tensor readable(const at::Tensor &t) {
  return is_unreadable(t) ? at::view_as_complex(at::view_as_real(t).clone()) : t;
}

void Frame::refuse_result(size_t output, c10::IntArrayRef sizes, const c10::Error &error) const {
  refuse_memory(op_, "result number " + std::to_string(plan(output).parameter + 1), sizes,
                output_type(plan(output), bound_), error);
}

const at::Tensor *Frame::given(size_t output, c10::IntArrayRef sizes) const {
  if (C10_LIKELY(call_.memory.empty()) || !call_.memory[output]) return nullptr;
  const at::Tensor &t = *call_.memory[output];
  const bool fits = t.scalar_type() == output_type(plan(output), bound_) && t.device() == call_.device;
  return fits && t.sizes() == sizes && is_aligned(t) ? &t : nullptr;
}

at::Tensor Frame::allocate(size_t output, c10::IntArrayRef sizes, c10::OptionalIntArrayRef strides) const {
  const at::ScalarType type = output_type(plan(output), bound_);
  at::Tensor t;
  if (const auto *memory = given(output, sizes))
    if (strides ? memory->strides() == *strides : memory->is_contiguous()) return *memory;
  if (C10_UNLIKELY(plan(output).is_count)) {
    t = empty_on(c10::kCPU, {}, std::nullopt, type);
    *t.mutable_data_ptr<int64_t>() = 0;
    return t;
  }
  try {
    t = empty_on(call_.device, sizes, strides, type);
  } catch (const c10::Error &error) {
    refuse_result(output, sizes, error);
  }
  const auto &context = at::globalContext();
  if (C10_UNLIKELY(context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())) {
    at::AutoDispatchBelowADInplaceOrView guard;
    fill_deterministically(t);
  }
  return t;
}

at::Tensor Frame::allocate_seen(size_t output, c10::IntArrayRef sizes) const {
  if (C10_LIKELY(!plan(output).grouped)) return allocate(output, sizes);
  c10::SmallVector<int64_t, 8> spread_sizes;
  spread(plan(output), bound_, sizes, spread_sizes);
  return allocate(output, spread_sizes);
}

void Frame::add_inputs(const opw_kernel &kernel) {
  for (size_t i = 0; i < call_.inputs.size(); ++i) {
    const at::Tensor *t = call_.inputs[i];
    if (!t->defined()) {
      tensors_.push_back(absent());
      continue;
    }
    const TensorPlan &p = op_.plan.inputs[i];
    bool usable = (kernel.strided >> p.parameter) & 1 || t->is_contiguous();
    if (C10_UNLIKELY(p.grouped) && usable && !t->is_contiguous()) {
      c10::SmallVector<int64_t, 12> seen;
      usable = fold(p, bound_, *t, seen);
    }
    opw_tensor seen = view(*t, p.mutated);
    if (C10_UNLIKELY(!(usable && is_aligned(seen.data, t->element_size())))) {
      t = hold(i, "a contiguous copy of ",
               [](const at::Tensor &from) { return from.clone(at::MemoryFormat::Contiguous); });
      seen = view(*t, p.mutated);
    }
    tensors_.push_back(p.grouped ? folded(seen, *t, p) : seen);
  }
}

// A tensor with groups of axes as the kernel sees it: each group is one axis.
opw_tensor Frame::folded(opw_tensor seen, const at::Tensor &t, const TensorPlan &p) {
  folded_.reserve(op_.plan.inputs.size() + op_.plan.outputs.size());  // none may move: the kernel sees them
  auto &shape = folded_.emplace_back();
  fold(p, bound_, t, shape);
  seen.ndim = static_cast<int32_t>(p.dims.size());
  seen.sizes = shape.data(), seen.strides = shape.data() + seen.ndim;
  return seen;
}

at::Tensor &Frame::memory(Decided &decided) {
  return is_wanted(decided.output) ? outputs_[decided.output] : decided.unwanted;
}

opw_tensor Frame::add_decided(size_t output) {
  Decided d{output, true, true, false, {}, {}, {}};
  if (!output_sizes(plan(output), bound_, d.sizes)) explain(op_, call_);
  for (const auto &dim : plan(output).dims) {
    if (!dim.is_decided()) continue;
    const bool given = dim.is_optional && bound_.known[dim.axis];
    if (given) lengths_[dim.decided] = bound_.axes[dim.axis];
    d.given &= given;
  }
  for (const int64_t size : d.sizes) d.bounded &= size >= 0;
  d.strides.resize(d.sizes.size());
  decided_.push_back(d);
  auto &kept = decided_.back();
  opw_tensor t{nullptr,
               nullptr,
               nullptr,
               0,
               static_cast<int32_t>(kept.sizes.size()),
               static_cast<int32_t>(output_type(plan(output), bound_)),
               1,
               0};
  if (kept.bounded) {
    memory(kept) = allocate_seen(output, kept.sizes);
    t = view(memory(kept), true);
    if (C10_UNLIKELY(plan(output).grouped)) t = folded(t, memory(kept), plan(output));
  } else {
    t.sizes = kept.sizes.data(), t.strides = kept.strides.data();
  }
  return t;
}

// Puts what the kernel gets into packed_: for a list one entry, which points to those of its tensors.
void Frame::pack() {
  packed_.clear();
  const size_t inputs = op_.with_lists->plan.inputs.size();
  for (size_t i = 0; i < op_.plan.spans.size(); ++i) {
    const auto &span = op_.plan.spans[i];
    opw_tensor *const first = tensors_.data() + span.first + (i < inputs ? 0 : call_.inputs.size());
    if (span.length < 0) {
      packed_.push_back(*first);
      continue;
    }
    const bool wanted = i < inputs || (i - inputs < op_.with_lists->returns() && ((call_.wanted >> (i - inputs)) & 1));
    packed_.push_back({first, nullptr, nullptr, span.length, 0, 0, wanted, 1});
  }
}

// Where the tensor of that number is among tensors_; of a list the first.
size_t Frame::index_of(size_t parameter) const {
  if (!op_.with_lists) return parameter;
  const bool result = parameter >= op_.with_lists->plan.inputs.size();
  return op_.plan.spans[parameter].first + (result ? call_.inputs.size() : 0);
}

int32_t Frame::provide(size_t parameter) {
  decided_.reserve(op_.plan.outputs.size());
  const size_t index = index_of(parameter), count = op_.with_lists ? op_.plan.spans[parameter].count() : 1;
  for (size_t i = index; i < index + count; ++i) tensors_[i] = add_decided(i - call_.inputs.size());
  if (!op_.with_lists) return 0;
  if (op_.plan.spans[parameter].length < 0) packed_[parameter] = tensors_[index];
  else packed_[parameter].present = 1;
  return 0;
}

// Sets the lengths of a tensor's decided axes, or says what keeps it from that (see abi.h).
int32_t Frame::decide(const Decided &decided, const int64_t *lengths) {
  const auto &dims = plan(decided.output).dims;
  const size_t leading = decided.sizes.size() - dims.size();
  size_t next = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!dims[d].is_decided()) continue;
    const int64_t length = lengths[next++], most = decided.sizes[leading + d];
    if (length < 0 || (!dims[d].code.empty() && !dims[d].is_optional && length > most)) return 1;
    auto &known = lengths_[dims[d].decided];
    if (known >= 0 && known != length) return 2;
    known = length;
  }
  return 0;
}

int32_t Frame::resize(int64_t parameter, const int64_t *lengths) {
  const size_t index = index_of(static_cast<size_t>(parameter));
  const size_t output = index - call_.inputs.size();
  for (auto &d : decided_) {
    if (d.output != output) continue;
    if (const int32_t problem = decide(d, lengths)) return problem;
    if (d.bounded || d.resized) {
      d.resized = true;
      return 0;
    }
    d.resized = true;
    const auto &dims = plan(output).dims;
    for (size_t k = 0; k < dims.size(); ++k)
      if (dims[k].is_decided()) d.sizes[d.sizes.size() - dims.size() + k] = lengths_[dims[k].decided];
    memory(d) = allocate_seen(output, d.sizes);
    tensors_[index] = view(memory(d), true);
    if (C10_UNLIKELY(plan(output).grouped)) tensors_[index] = folded(tensors_[index], memory(d), plan(output));
    if (op_.with_lists) packed_[static_cast<size_t>(parameter)] = tensors_[index];
    return 0;
  }
  return 0;  // a result that isn't wanted
}

void Frame::enter(const opw_kernel &kernel) {
  Text failure;
  std::optional<Drawn> drawn;
  if (C10_UNLIKELY(op_.plan.random)) drawn.emplace(call_);
  if (C10_UNLIKELY(op_.with_lists != nullptr)) pack();
  const auto resize = [](void *self, int32_t index, const int64_t *lengths) -> int32_t {
    try {
      auto *frame = static_cast<Frame *>(self);
      return lengths ? frame->resize(index, lengths) : frame->provide(index);
    } catch (...) {
      return 3;  // nothing may cross the C ABI; the kernel says it in its own words
    }
  };
  const opw_call call{sizeof(opw_call),
                      op_.with_lists ? packed_.data() : tensors_.data(),
                      call_.scalars.data(),
                      bound_.axes.data(),
                      native_stream(call_.device),
                      call_.device.index(),
                      0,
                      &Text::take,
                      &failure,
                      drawn ? &drawn->rng : nullptr,
                      resize,
                      this};
  if (C10_UNLIKELY(kernel.entry(&call))) raise(Class::Kernel, op_.kernel->name + "(): " + failure.text);
  synchronize_if_asked(call_.device, op_.kernel->name);
}

// A bounded result keeps only what counts of it.
void Frame::cut(const Decided &decided) {
  if (!is_wanted(decided.output)) return;
  if (!decided.resized && !decided.given)
    raise(Class::Kernel, messages::not_resized(op_.kernel->name, std::to_string(decided.output + 1)));
  if (!decided.bounded) return;
  at::Tensor &t = outputs_[decided.output];
  at::Tensor rest = t;
  const auto &dims = plan(decided.output).dims;
  const int64_t leading = t.dim() - static_cast<int64_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!dims[d].is_decided()) continue;
    const TensorPlan &p = plan(decided.output);
    const int64_t axis = p.grouped ? place_of(p, bound_, d) : leading + static_cast<int64_t>(d);
    rest = rest.narrow(axis, 0, lengths_[dims[d].decided]);
  }
  if (rest.numel() != t.numel() || rest.sizes() != t.sizes()) t = rest.clone(at::MemoryFormat::Contiguous);
}

void Frame::finish() {
  if (C10_LIKELY(back_.empty() && decided_.empty())) return;
  at::AutoDispatchBelowADInplaceOrView guard;
  for (const auto &copy : back_) {
    if (C10_UNLIKELY(is_unreadable(*copy.to))) at::view_as_real(*copy.to).copy_(at::view_as_real(held_[copy.from]));
    else const_cast<at::Tensor *>(copy.to)->copy_(held_[copy.from]);
  }
  for (const auto &d : decided_) cut(d);
}

}  // namespace opw
