/* The functions of CUDA's runtime library that launch code uses, over the driver's. What isn't here isn't linked, and the
 * error says so: errors, devices, streams, events, memory, attributes of kernels, occupancy, launches.
 */
#ifndef OPWRIGHT_NVRTC_CALLS_H
#define OPWRIGHT_NVRTC_CALLS_H

#include "launch.h"

#define OPWRIGHT_DEVICE_POINTER(p) reinterpret_cast<CUdeviceptr>(p)

namespace opwright {
namespace nvrtc {

/* Copies and such need a context, as the runtime library makes one. */
inline cudaError_t ready() { return context() ? cudaSuccess : errors().last; }

}  // namespace nvrtc
}  // namespace opwright

#define OPWRIGHT_READY_CALL(...)                                      \
  do {                                                                \
    if (cudaError_t error = ::opwright::nvrtc::ready()) return error; \
    return OPWRIGHT_CALL(__VA_ARGS__);                                \
  } while (0)

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t last = opwright::nvrtc::errors().last;
  opwright::nvrtc::errors().last = cudaSuccess;
  return last;
}
cudaError_t cudaPeekAtLastError() { return opwright::nvrtc::errors().last; }

const char *cudaGetErrorName(cudaError_t error) {
  static thread_local char number[32];
  const char *name = nullptr;
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorNoKernelImageForDevice: return "cudaErrorNoKernelImageForDevice";
    case cudaErrorInvalidDeviceFunction: return "cudaErrorInvalidDeviceFunction";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    default: break;
  }
  const opwright::nvrtc::Errors kept = opwright::nvrtc::errors();
  const opwright::nvrtc::Driver *d = opwright::nvrtc::driver();
  opwright::nvrtc::errors() = kept;
  if (d && d->cuGetErrorName_ && d->cuGetErrorName_(static_cast<CUresult>(error), &name) == CUDA_SUCCESS && name)
    return name;
  snprintf(number, sizeof(number), "CUDA error %d", int(error));
  return number;
}
const char *cudaGetErrorString(cudaError_t error) {
  const char *text = nullptr;
  if (error == cudaSuccess) return "no error";
  if (error == opwright::nvrtc::errors().detailed) return opwright::nvrtc::errors().detail;
  const opwright::nvrtc::Driver *d = opwright::nvrtc::driver();
  if (d && d->cuGetErrorString_ && d->cuGetErrorString_(static_cast<CUresult>(error), &text) == CUDA_SUCCESS && text)
    return text;
  return "unknown error";
}

cudaError_t cudaGetDeviceCount(int *count) { return OPWRIGHT_CALL(cuDeviceGetCount, count); }
cudaError_t cudaGetDevice(int *device) {
  CUcontext current = nullptr;
  if (cudaError_t error = OPWRIGHT_CALL(cuCtxGetCurrent, &current)) return error;
  *device = opwright::nvrtc::chosen_device();
  return current ? OPWRIGHT_CALL(cuCtxGetDevice, device) : cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (cudaError_t error = opwright::nvrtc::enter_device(device)) return error;
  opwright::nvrtc::chosen_device() = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  return OPWRIGHT_CALL(cuDeviceGetAttribute, value, static_cast<CUdevice_attribute>(attribute), device);
}
cudaError_t cudaDeviceSynchronize() { OPWRIGHT_READY_CALL(cuCtxSynchronize); }

cudaError_t cudaStreamCreate(cudaStream_t *stream) { OPWRIGHT_READY_CALL(cuStreamCreate, stream, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  OPWRIGHT_READY_CALL(cuStreamCreate, stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { OPWRIGHT_READY_CALL(cuStreamDestroy, stream); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { OPWRIGHT_READY_CALL(cuStreamSynchronize, stream); }
cudaError_t cudaStreamQuery(cudaStream_t stream) { OPWRIGHT_READY_CALL(cuStreamQuery, stream); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  OPWRIGHT_READY_CALL(cuStreamWaitEvent, stream, event, flags);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status) {
  OPWRIGHT_READY_CALL(cuStreamIsCapturing, stream, reinterpret_cast<CUstreamCaptureStatus *>(status));
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { OPWRIGHT_READY_CALL(cuEventCreate, event, 0); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  OPWRIGHT_READY_CALL(cuEventCreate, event, flags);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { OPWRIGHT_READY_CALL(cuEventDestroy, event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  OPWRIGHT_READY_CALL(cuEventRecord, event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { OPWRIGHT_READY_CALL(cuEventSynchronize, event); }
cudaError_t cudaEventQuery(cudaEvent_t event) { OPWRIGHT_READY_CALL(cuEventQuery, event); }
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  OPWRIGHT_READY_CALL(cuEventElapsedTime, milliseconds, start, end);
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
  *memory = nullptr;
  if (!bytes) return cudaSuccess;
  OPWRIGHT_READY_CALL(cuMemAlloc, reinterpret_cast<CUdeviceptr *>(memory), bytes);
}
cudaError_t cudaFree(void *memory) {
  if (!memory) return opwright::nvrtc::ready();
  OPWRIGHT_READY_CALL(cuMemFree, OPWRIGHT_DEVICE_POINTER(memory));
}
cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream) {
  *memory = nullptr;
  if (!bytes) return cudaSuccess;
  OPWRIGHT_READY_CALL(cuMemAllocAsync, reinterpret_cast<CUdeviceptr *>(memory), bytes, stream);
}
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
  if (!memory) return opwright::nvrtc::ready();
  OPWRIGHT_READY_CALL(cuMemFreeAsync, OPWRIGHT_DEVICE_POINTER(memory), stream);
}
/* Addresses say which side they are of, so the kind of a copy isn't needed. */
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
  if (!bytes) return cudaSuccess;
  OPWRIGHT_READY_CALL(cuMemcpy, OPWRIGHT_DEVICE_POINTER(to), OPWRIGHT_DEVICE_POINTER(from), bytes);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  if (!bytes) return cudaSuccess;
  OPWRIGHT_READY_CALL(cuMemcpyAsync, OPWRIGHT_DEVICE_POINTER(to), OPWRIGHT_DEVICE_POINTER(from), bytes, stream);
}
cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
  if (!bytes) return cudaSuccess;
  OPWRIGHT_READY_CALL(cuMemsetD8, OPWRIGHT_DEVICE_POINTER(memory), static_cast<unsigned char>(value), bytes);
}
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
  if (!bytes) return cudaSuccess;
  OPWRIGHT_READY_CALL(cuMemsetD8Async, OPWRIGHT_DEVICE_POINTER(memory), static_cast<unsigned char>(value), bytes,
                      stream);
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value) {
  CUfunction function = static_cast<CUfunction>(opwright::nvrtc::kernel_of(kernel)->function());
  if (!function) return opwright::nvrtc::errors().last;
  return OPWRIGHT_CALL(cuFuncSetAttribute, function, static_cast<CUfunction_attribute>(attribute), value);
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *found, const void *kernel) {
  CUfunction function = static_cast<CUfunction>(opwright::nvrtc::kernel_of(kernel)->function());
  if (!function) return opwright::nvrtc::errors().last;
  cudaError_t error = cudaSuccess;
  const auto read = [&](CUfunction_attribute attribute) {
    int value = 0;
    if (error == cudaSuccess) error = OPWRIGHT_CALL(cuFuncGetAttribute, &value, attribute, function);
    return value;
  };
  memset(found, 0, sizeof(*found));
  found->maxThreadsPerBlock = read(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  found->sharedSizeBytes = size_t(read(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  found->constSizeBytes = size_t(read(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  found->localSizeBytes = size_t(read(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  found->numRegs = read(CU_FUNC_ATTRIBUTE_NUM_REGS);
  found->ptxVersion = read(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  found->binaryVersion = read(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  found->maxDynamicSharedSizeBytes = read(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  return error;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t shared) {
  CUfunction function = static_cast<CUfunction>(opwright::nvrtc::kernel_of(kernel)->function());
  if (!function) return opwright::nvrtc::errors().last;
  return OPWRIGHT_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, blocks, function, threads, shared);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads,
                                                                   size_t shared, unsigned flags) {
  CUfunction function = static_cast<CUfunction>(opwright::nvrtc::kernel_of(kernel)->function());
  if (!function) return opwright::nvrtc::errors().last;
  return OPWRIGHT_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, function, threads, shared, flags);
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream) {
  opwright::nvrtc::Configuration c;
  c.grid = grid, c.block = block, c.shared = shared, c.stream = stream;
  return opwright::nvrtc::run(*opwright::nvrtc::kernel_of(kernel), c, arguments);
}
cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream) {
  CUfunction function = static_cast<CUfunction>(opwright::nvrtc::kernel_of(kernel)->function());
  if (!function) return opwright::nvrtc::errors().last;
  return OPWRIGHT_CALL(cuLaunchCooperativeKernel, function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                       static_cast<unsigned>(shared), stream, arguments);
}

}  // extern "C"
#endif
