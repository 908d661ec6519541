#include "device.h"

#include <ATen/Context.h>
#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "errors.h"
#include "torch_compat.h"

namespace opw {

c10::DeviceType accelerator = c10::kCUDA;

namespace {

thread_local c10::Device running_on = c10::kCPU;

// For versions of PyTorch whose c10::Stream doesn't know its handle: a C function of libtorch_cuda's, which is stable.
void *handle_by_name(const c10::Stream &stream) {
  using Function = int32_t (*)(int32_t device, void **handle);
  static const auto function = [] {
    void *library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    return reinterpret_cast<Function>(library ? dlsym(library, "aoti_torch_get_current_cuda_stream") : nullptr);
  }();
  void *handle = nullptr;
  TORCH_CHECK(function && function(stream.device_index(), &handle) == 0,
              "this PyTorch doesn't tell its current stream");
  return handle;
}

template <class S>
void *handle_of(const S &stream) {
  if constexpr (requires { stream.native_handle(); }) return stream.native_handle();
  else return handle_by_name(stream);
}

// For versions whose c10::Stream doesn't know it: by the driver, which is loaded wherever there is a stream.
bool driver_says_capturing(void *stream) {
  using Function = int (*)(void *stream, int *status);
  static const auto function = [] {
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return reinterpret_cast<Function>(library ? dlsym(library, "cuStreamIsCapturing") : nullptr);
  }();
  int status = 0;
  return function && function(stream, &status) == 0 && status != 0;
}

template <class S>
bool capturing(const S &stream) {
  if constexpr (requires { stream.is_capturing(); }) return stream.is_capturing();
  else return driver_says_capturing(handle_of(stream));
}

c10::Stream current_stream(c10::Device device) { return compat::Devices(device.type()).getStream(device); }

bool is_synchronous() {
  static const bool asked = [] {
    const char *value = std::getenv("OPWRIGHT_CUDA_SYNC");
    return value && *value && std::strcmp(value, "0") != 0;
  }();
  return asked;
}

}  // namespace

c10::Device current_device() { return running_on; }

OnDevice::OnDevice(c10::Device device) : before_(running_on) {
  if (!device.is_cpu()) guard_.reset_device(device);
  running_on = device;
}

OnDevice::~OnDevice() { running_on = before_; }

void *native_stream(c10::Device device) { return device.is_cpu() ? nullptr : handle_of(current_stream(device)); }

bool is_capturing(c10::Device device) { return !device.is_cpu() && capturing(current_stream(device)); }

void synchronize_if_asked(c10::Device device, const std::string &op) {
  if (C10_LIKELY(device.is_cpu() || !is_synchronous()) || is_capturing(device)) return;
  try {
    current_stream(device).synchronize();
  } catch (const c10::Error &error) {
    raise(Class::Kernel, op + "(): " + error.what_without_backtrace());
  }
}

at::Tensor empty_on(c10::Device device, c10::IntArrayRef sizes, c10::OptionalIntArrayRef strides, at::ScalarType type) {
  if (C10_LIKELY(device.is_cpu())) return compat::empty_on_cpu(sizes, strides, type);
  const c10::DispatchKeySet keys(c10::computeDispatchKey(std::nullopt, std::nullopt, device));
  auto *allocator = c10::GetAllocator(device.type());
  return compat::empty_on(allocator, keys, sizes, strides, type);
}

}  // namespace opw
