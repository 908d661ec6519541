// A device of two that computes on the CPU, in memory of its own, and notes what it is asked for: what kernels for GPUs are
// given and what they leave behind can be looked at where there is no GPU.
#include <ATen/EmptyTensor.h>
#include <ATen/core/GeneratorForPrivateuseone.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <atomic>
#include <cstdlib>

namespace {

constexpr auto type = c10::DeviceType::PrivateUse1;
constexpr int devices = 2;

thread_local c10::DeviceIndex current = 0;
thread_local int64_t streams[devices] = {};
std::atomic<int64_t> blocks{0}, waits{0}, copies{0};
std::atomic<bool> captured{false}, broken{false};

struct Memory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    ++blocks;
    void* memory = std::calloc(bytes + 1, 1);
    return {memory, memory, &release, c10::Device(type, current)};
  }
  static void release(void* memory) {
    if (memory) --blocks;
    std::free(memory);
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return &release;
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};
Memory memory;

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override {
    return ::type;
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    const auto before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override {
    return {::type, current};
  }
  void setDevice(c10::Device device) const override {
    if (device.has_index()) current = device.index();
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    setDevice(device);
  }
  c10::Stream getStream(c10::Device device) const override {
    const auto index = device.has_index() ? device.index() : current;
    return c10::Stream(c10::Stream::UNSAFE, {::type, index}, streams[index]);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream getNewStream(c10::Device device, int) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const auto before = getStream(stream.device());
    streams[stream.device_index()] = stream.id();
    return before;
  }
  void* getStreamNativeHandle(const c10::Stream stream) const {
    return reinterpret_cast<void*>(1000 + 100 * stream.device_index() + stream.id());
  }
  bool isStreamCapturing(const c10::Stream&) const {
    return captured;
  }
  void synchronizeStream(const c10::Stream&) const override {
    ++waits;
    TORCH_CHECK(!broken, "pretended: an illegal memory access was encountered");
  }
  bool queryStream(const c10::Stream&) const override {
    return true;
  }
  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    *event = const_cast<Guard*>(this);
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override {
    return true;
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return devices;
  }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

struct Numbers final : c10::GeneratorImpl {
  explicit Numbers(c10::DeviceIndex index) : GeneratorImpl({type, index}, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}
  void set_current_seed(uint64_t seed) override {
    seed_ = seed, offset_ = 0;
  }
  void set_offset(uint64_t offset) override {
    offset_ = offset;
  }
  uint64_t get_offset() const override {
    return offset_;
  }
  uint64_t current_seed() const override {
    return seed_;
  }
  uint64_t seed() override {
    set_current_seed(1);
    return 1;
  }
  void set_state(const c10::TensorImpl&) override {}
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    TORCH_CHECK(false, "it has no state");
  }
  Numbers* clone_impl() const override {
    auto* same = new Numbers(device().index());
    same->seed_ = seed_, same->offset_ = offset_;
    return same;
  }

 private:
  uint64_t seed_ = c10::default_rng_seed_val, offset_ = 0;
};

struct Hooks final : at::PrivateUse1HooksInterface {
  void init() const override {}
  bool isAvailable() const override {
    return true;
  }
  bool isBuilt() const override {
    return true;
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override {
    return true;
  }
  c10::DeviceIndex deviceCount() const override {
    return devices;
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return current;
  }
  c10::Device getDeviceFromPtr(void*) const override {
    return {type, current};
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override {
    static const at::Generator each[] = {at::make_generator<Numbers>(c10::DeviceIndex(0)),
                                         at::make_generator<Numbers>(c10::DeviceIndex(1))};
    return each[index < 0 ? current : index];
  }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return at::make_generator<Numbers>(index < 0 ? current : index);
  }
};

const c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);

at::Tensor empty(c10::IntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(device.value_or(c10::Device(type)));
  return at::detail::empty_generic(sizes, &memory, keys, c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
  const c10::DeviceGuard guard(device.value_or(c10::Device(type)));
  return at::detail::empty_strided_generic(sizes, strides, &memory, keys, c10::dtype_or_default(dtype));
}

at::Tensor on_cpu(const at::Tensor& t) {
  return at::from_blob(t.data_ptr(), t.sizes(), t.strides(), at::TensorOptions(t.scalar_type()));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  ++copies;
  const at::AutoDispatchBelowADInplaceOrView guard;
  if (to.numel()) on_cpu(to).copy_(on_cpu(from));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (from.sizes() != to.sizes()) {
    const auto fresh = empty(from.sizes(), to.scalar_type(), {}, to.device(), {}, {});
    to.unsafeGetTensorImpl()->set_storage_keep_dtype(fresh.storage());
    to.unsafeGetTensorImpl()->set_sizes_and_strides(fresh.sizes(), fresh.strides(), 0);
  }
  return copy_from(from, to, false);
}

at::Tensor& random_from(at::Tensor& t, int64_t, std::optional<int64_t>, std::optional<at::Generator> generator) {
  TORCH_CHECK(generator && t.numel() == 1 && t.scalar_type() == at::kLong);
  *t.mutable_data_ptr<int64_t>() = 7919 + static_cast<int64_t>(generator->get_offset());
  generator->set_offset(generator->get_offset() + 4);
  return t;
}

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("as_strided", at::native::as_strided_tensorimpl);
  m.impl("view", at::native::view);
  m.impl("_reshape_alias", at::native::_reshape_alias);
  m.impl("random_.from", random_from);
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void pretend_begin() {
  c10::SetAllocator(type, &memory);
  at::RegisterPrivateUse1HooksInterface(new Hooks);
}
EXPORT void pretend_stream(int device, int64_t id) {
  streams[device] = id;
}
EXPORT int64_t pretend_handle(int device) {
  return 1000 + 100 * device + streams[device];
}
EXPORT void pretend_device(int device) {
  current = static_cast<c10::DeviceIndex>(device);
}
EXPORT int pretend_current() {
  return current;
}
EXPORT void pretend_state(int is_captured, int is_broken) {
  captured = is_captured, broken = is_broken;
}
EXPORT int64_t pretend_blocks() {
  return blocks;
}
EXPORT int64_t pretend_waits() {
  return waits;
}
EXPORT int64_t pretend_copies() {
  return copies;
}
