// What PyTorch asks of a device of its own: the guard, and the hooks of CUDA.
#include "device.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>

namespace opwright {
namespace device {
namespace {

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device getDevice() const override { return cuda; }
  c10::Device exchangeDevice(c10::Device device) const override {
    setDevice(device);
    return cuda;
  }
  void setDevice(c10::Device device) const override { check_index(device); }
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  c10::Stream getStream(c10::Device) const override { return current_stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream_of(0); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return next_stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return next_stream(); }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = current_stream();
    set_current_stream(stream);
    return before;
  }

  void *getStreamNativeHandle(const c10::Stream stream) const override { return native_stream(stream); }

  void record(void **event, const c10::Stream &stream, c10::DeviceIndex, c10::EventFlag) const override {
    record_event(event, stream);
  }
  void block(void *event, const c10::Stream &stream) const override { wait_event(event, stream); }
  void destroyEvent(void *event, c10::DeviceIndex) const noexcept override { destroy_event(event); }
  double elapsedTime(void *first, void *last, c10::DeviceIndex) const override { return elapsed_time(first, last); }
  void synchronizeStream(const c10::Stream &stream) const override { synchronize_stream(stream); }
  void synchronizeEvent(void *event) const override { synchronize_event(event); }
  void synchronizeDevice(c10::DeviceIndex) const override { synchronize_device(); }
  // All work is done when the call that asks for it returns. For the checker, who hears so has waited.
  bool queryEvent(void *event) const override {
    if (event) synchronize_event(event);
    return true;
  }
  bool queryStream(const c10::Stream &stream) const override { return synchronize_stream(stream), true; }
  void recordDataPtrOnStream(const c10::DataPtr &, const c10::Stream &) const override {}
};

const Guard guard;
const c10::impl::DeviceGuardImplRegistrar guards(c10::DeviceType::CUDA, &guard);
const c10::AllocatorRegisterer<c10::DeviceType::CUDA> allocators(allocator());

}  // namespace
}  // namespace device
}  // namespace opwright

namespace {

std::atomic<bool> next_is_default{false};

}  // namespace

// Makes Python's next generator of the device the default one: torch.cuda.default_generators has it.
extern "C" void opwright_device_offer_default_generator() { next_is_default = true; }

namespace at {

// PyTorch finds it under this name, when it first asks about CUDA.
struct CUDAHooks final : CUDAHooksInterface {
  explicit CUDAHooks(CUDAHooksArgs) {}

  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasCUDA() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  int getNumGPUs() const override { return 1; }
  DeviceIndex deviceCount() const override { return 1; }
  DeviceIndex current_device() const override { return 0; }
  DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(DeviceIndex) const override {}
  DeviceIndex exchangeDevice(DeviceIndex) const override { return 0; }
  DeviceIndex maybeExchangeDevice(DeviceIndex) const override { return 0; }
  void deviceSynchronize(DeviceIndex) const override { opwright::device::synchronize_device(); }
  Device getDeviceFromPtr(void *) const override { return opwright::device::cuda; }
  const Generator &getDefaultGenerator(DeviceIndex) const override { return opwright::device::default_generator(); }
  Generator getNewGenerator(DeviceIndex) const override {
    return next_is_default.exchange(false) ? opwright::device::default_generator() : opwright::device::new_generator();
  }
  Allocator *getPinnedMemoryAllocator() const override { return opwright::device::pinned_allocator(); }
  bool isPinnedPtr(const void *data) const override { return opwright::device::is_pinned(data); }
  Allocator *getCUDADeviceAllocator() const override { return opwright::device::allocator(); }
};

REGISTER_CUDA_HOOKS(CUDAHooks);

}  // namespace at
