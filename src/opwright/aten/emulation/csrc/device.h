// The device that stands for a GPU: index 0 of type "cuda". Its memory is the host's; work is done when a call returns.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/stack.h>
#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>
#include <c10/util/Exception.h>

#include <string>

namespace opwright {
namespace device {

inline const c10::Device cuda(c10::DeviceType::CUDA, 0);

// Raises if `device` is another one of the type.
inline void check_index(c10::Device device) {
  TORCH_CHECK(device.index() <= 0, "CUDA error: invalid device ordinal: the emulated device is cuda:0, not ", device);
}

// Calls PyTorch's operator for the CPU on the device's memory: the kernel of all operators that have no other.
void on_the_host(const c10::OperatorHandle &op, torch::jit::Stack *stack);

// While it lives, memory that this thread allocates is called that of tensors which an operator has made.
class Making {
 public:
  explicit Making(const std::string &op);
  ~Making();
  Making(const Making &) = delete;

 private:
  const std::string *const before_;
};
const char *tensor_name();  // for reports

c10::Allocator *allocator();
c10::Allocator *pinned_allocator();
bool is_pinned(const void *address);

// Returns a generator of the CPU for one call of an operator: what it draws follows from the state of the device's
// `generator`, which goes on by one call.
at::Generator of_the_cpu(const at::Generator &generator);
const at::Generator &default_generator();
at::Generator new_generator();

// The stream of this thread, and another one.
c10::Stream current_stream();
void set_current_stream(c10::Stream stream);
c10::Stream next_stream();
void *native_stream(c10::Stream stream);  // a cudaStream_t

// Streams and events are the emulator's: its checker learns what orders the work. Only the host's time is measured.
void record_event(void **event, c10::Stream stream);
void wait_event(void *event, c10::Stream stream);
void synchronize_event(void *event);
void destroy_event(void *event);
double elapsed_time(void *first, void *last);  // milliseconds
void synchronize_stream(c10::Stream stream);
void synchronize_device();
inline c10::Stream stream_of(c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, cuda, id); }

}  // namespace device
}  // namespace opwright
