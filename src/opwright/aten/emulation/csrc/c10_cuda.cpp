// The functions of libc10_cuda and libtorch_cuda that extensions call: devices, streams, empty tensors, errors.
#include <ATen/EmptyTensor.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/EmptyTensor.h>
#include <ATen/cuda/Exceptions.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cublas_v2.h>
#include <opwright/emulation/forks.h>

#include <atomic>
#include <chrono>
#include <cstring>

#include "device.h"

namespace opwright {
namespace device {
namespace {

constexpr int pool_size = 32;
thread_local c10::StreamId of_this_thread = 0;

}  // namespace

c10::Stream current_stream() { return stream_of(of_this_thread); }
void set_current_stream(c10::Stream stream) { of_this_thread = stream.id(); }
c10::Stream next_stream() {
  static std::atomic<int> last{0};
  return stream_of(1 + last++ % pool_size);
}

namespace {

cudaStream_t native(c10::Stream stream) { return c10::cuda::CUDAStream(stream).stream(); }

struct Event {
  cudaEvent_t event = nullptr;
  std::chrono::steady_clock::time_point time;
};
Event &event_at(void *event) { return *static_cast<Event *>(event); }

}  // namespace

void *native_stream(c10::Stream stream) { return native(stream); }

void record_event(void **event, c10::Stream stream) {
  if (!*event) {
    *event = new Event;
    C10_CUDA_CHECK(cudaEventCreate(&event_at(*event).event));
  }
  C10_CUDA_CHECK(cudaEventRecord(event_at(*event).event, native(stream)));
  event_at(*event).time = std::chrono::steady_clock::now();
}
void wait_event(void *event, c10::Stream stream) {
  C10_CUDA_CHECK(cudaStreamWaitEvent(native(stream), event_at(event).event));
}
void synchronize_event(void *event) { C10_CUDA_CHECK(cudaEventSynchronize(event_at(event).event)); }
void destroy_event(void *event) {
  if (!event) return;
  (void)cudaEventDestroy(event_at(event).event);
  delete static_cast<Event *>(event);
}
double elapsed_time(void *first, void *last) {
  return std::chrono::duration<double, std::milli>(event_at(last).time - event_at(first).time).count();
}
void synchronize_stream(c10::Stream stream) { C10_CUDA_CHECK(cudaStreamSynchronize(native(stream))); }
void synchronize_device() { C10_CUDA_CHECK(cudaDeviceSynchronize()); }

}  // namespace device
}  // namespace opwright

namespace c10::cuda {

using opwright::device::stream_of;

// Streams of the pool have numbers; those of others, the address.
cudaStream_t CUDAStream::stream() const {
  static opwright::emulation::Mutex<> creating;
  static cudaStream_t pool[opwright::device::pool_size + 1] = {};
  const StreamId id = stream_.id();
  if (id > opwright::device::pool_size || id < 0) return reinterpret_cast<cudaStream_t>(id);
  const std::lock_guard lock(creating);
  if (id && !pool[id]) C10_CUDA_CHECK(cudaStreamCreateWithFlags(&pool[id], cudaStreamNonBlocking));
  return pool[id];
}
bool CUDAStream::query() const { return cudaStreamQuery(stream()) == cudaSuccess; }
void CUDAStream::synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(stream())); }

CUDAStream getStreamFromPool(const bool, DeviceIndex) { return CUDAStream(opwright::device::next_stream()); }
CUDAStream getStreamFromPool(const int, DeviceIndex) { return CUDAStream(opwright::device::next_stream()); }
CUDAStream getStreamFromExternal(cudaStream_t stream, DeviceIndex) {
  const auto number = reinterpret_cast<StreamId>(stream);
  return CUDAStream(stream_of(number <= 2 ? 0 : number));  // cudaStreamLegacy and cudaStreamPerThread are small numbers
}
CUDAStream getDefaultCUDAStream(DeviceIndex) { return CUDAStream(stream_of(0)); }
CUDAStream getCurrentCUDAStream(DeviceIndex) { return CUDAStream(opwright::device::current_stream()); }
void setCurrentCUDAStream(CUDAStream stream) { opwright::device::set_current_stream(stream.unwrap()); }
std::ostream &operator<<(std::ostream &out, const CUDAStream &stream) { return out << stream.unwrap(); }

DeviceIndex device_count() noexcept { return 1; }
DeviceIndex device_count_ensure_non_zero() { return 1; }
DeviceIndex current_device() { return 0; }
void set_device(DeviceIndex device, const bool) { C10_CUDA_CHECK(cudaSetDevice(device)); }
void device_synchronize() { C10_CUDA_CHECK(cudaDeviceSynchronize()); }
void warn_or_error_on_sync() {}
cudaError_t GetDeviceCount(int *count) { return cudaGetDeviceCount(count); }
cudaError_t GetDevice(DeviceIndex *device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t SetDevice(DeviceIndex device, const bool) { return cudaSetDevice(device); }
cudaError_t MaybeSetDevice(DeviceIndex device) { return cudaSetDevice(device); }
DeviceIndex ExchangeDevice(DeviceIndex device) { return set_device(device, false), DeviceIndex(0); }
DeviceIndex MaybeExchangeDevice(DeviceIndex device) { return ExchangeDevice(device); }
void SetTargetDevice() {}
bool hasPrimaryContext(DeviceIndex) { return true; }
std::optional<DeviceIndex> getDeviceIndexWithPrimaryContext() { return DeviceIndex(0); }
const char *get_cuda_check_suffix() noexcept { return ""; }

void c10_cuda_check_implementation(const int32_t error, const char *file, const char *function, const uint32_t line,
                                   const bool) {
  if (C10_LIKELY(error == cudaSuccess)) return;
  (void)cudaGetLastError();
  const char *what = cudaGetErrorString(static_cast<cudaError_t>(error));
  throw c10::AcceleratorError({function, file, line}, error, std::string("CUDA error: ") + what);
}

}  // namespace c10::cuda

namespace at {
namespace cuda {

cudaDeviceProp *getDeviceProperties(DeviceIndex device) {
  struct Asked : cudaDeviceProp {
    Asked() { C10_CUDA_CHECK(cudaGetDeviceProperties(this, 0)); }
  };
  static opwright::emulation::Lasting<Asked> properties;
  TORCH_CHECK(device <= 0, "device=", int(device), ", num_gpus=1");
  return &*properties;
}
cudaDeviceProp *getCurrentDeviceProperties() { return getDeviceProperties(0); }
int warp_size() { return getCurrentDeviceProperties()->warpSize; }
bool canDeviceAccessPeer(DeviceIndex, DeviceIndex) { return false; }
cublasHandle_t getCurrentCUDABlasHandle(bool) {
  thread_local cublasHandle_t handle = nullptr;
  if (!handle) TORCH_CHECK(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS, "cuBLAS can't be emulated here");
  cublasSetStream(handle, c10::cuda::getCurrentCUDAStream());
  return handle;
}
Allocator *getCUDADeviceAllocator() { return opwright::device::allocator(); }
namespace blas {
const char *_cublasGetErrorEnum(cublasStatus_t error) { return cublasGetStatusName(error); }  // of TORCH_CUDABLAS_CHECK
}  // namespace blas

}  // namespace cuda

namespace detail {

TensorBase empty_cuda(IntArrayRef size, ScalarType dtype, std::optional<Device>, std::optional<MemoryFormat> format) {
  return empty_generic(size, opwright::device::allocator(), DispatchKeySet(DispatchKey::CUDA), dtype, format);
}
TensorBase empty_cuda(IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout>,
                      std::optional<Device> device, std::optional<bool>, std::optional<MemoryFormat> format) {
  return empty_cuda(size, dtype_or_default(dtype), device, format);
}
TensorBase empty_cuda(IntArrayRef size, const TensorOptions &options) {
  return empty_cuda(size, dtype_or_default(optTypeMetaToScalarType(options.dtype_opt())), options.device_opt(),
                    options.memory_format_opt());
}
TensorBase empty_strided_cuda(IntArrayRef size, IntArrayRef stride, ScalarType dtype, std::optional<Device>) {
  return empty_strided_generic(size, stride, opwright::device::allocator(), DispatchKeySet(DispatchKey::CUDA), dtype);
}
TensorBase empty_strided_cuda(IntArrayRef size, IntArrayRef stride, std::optional<ScalarType> dtype,
                              std::optional<Layout>, std::optional<Device> device, std::optional<bool>) {
  return empty_strided_cuda(size, stride, dtype_or_default(dtype), device);
}
TensorBase empty_strided_cuda(IntArrayRef size, IntArrayRef stride, const TensorOptions &options) {
  return empty_strided_cuda(size, stride, dtype_or_default(optTypeMetaToScalarType(options.dtype_opt())),
                            options.device_opt());
}

}  // namespace detail
}  // namespace at

// For Python: CUDA's version, and the device's properties.
extern "C" int opwright_device_cuda_version() { return CUDART_VERSION; }
extern "C" int64_t opwright_device_native_stream(int64_t id) {
  return reinterpret_cast<int64_t>(opwright::device::native_stream(opwright::device::stream_of(id)));
}
extern "C" void opwright_device_properties(int64_t *values) {
  const cudaDeviceProp &p = *at::cuda::getDeviceProperties(0);
  size_t left = 0, total = 0;
  cudaMemGetInfo(&left, &total);
  const int64_t known[] = {int64_t(p.totalGlobalMem),
                           int64_t(left),
                           p.multiProcessorCount,
                           p.major,
                           p.minor,
                           p.warpSize,
                           p.maxThreadsPerMultiProcessor,
                           p.maxThreadsPerBlock,
                           p.regsPerMultiprocessor,
                           int64_t(p.sharedMemPerBlock),
                           int64_t(p.sharedMemPerBlockOptin),
                           int64_t(p.sharedMemPerMultiprocessor),
                           p.l2CacheSize,
                           p.clockRate};
  std::memcpy(values, known, sizeof known);  // in the order of torch_cuda.py
}
