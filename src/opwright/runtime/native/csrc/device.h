// Where calls run: the device of their tensors, the stream that is current there, and which call a service is asked for by.
// Nothing here links CUDA: what there is to know, c10's device guards know.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>

#include <string>

namespace opw {

// What kernels for "cuda" run on. Tests, for want of a GPU, give another one, before the first operator is registered.
extern c10::DeviceType accelerator;
inline c10::DispatchKey accelerator_key() {
  return c10::computeDispatchKey(std::nullopt, std::nullopt, c10::Device(accelerator));
}

// The device on which a kernel is running in this thread, or for which a piece of one is; the CPU elsewhere.
c10::Device current_device();

// Makes a device the current one, for PyTorch and for services that kernels ask for.
class OnDevice {
 public:
  explicit OnDevice(c10::Device device);
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;
  ~OnDevice();

 private:
  c10::OptionalDeviceGuard guard_;
  c10::Device before_;
};

// The handle of the stream that is current on a device, as its own library knows it (a cudaStream_t); null on the CPU.
void *native_stream(c10::Device device);
// Whether that stream is being captured for a graph.
bool is_capturing(c10::Device device);
// Where OPWRIGHT_CUDA_SYNC=1: waits until the device has done what it was told, so that its errors come here.
void synchronize_if_asked(c10::Device device, const std::string &op);

// Memory as at::empty gives it, without the dispatcher.
at::Tensor empty_on(c10::Device device, c10::IntArrayRef sizes, c10::OptionalIntArrayRef strides, at::ScalarType type);

}  // namespace opw
