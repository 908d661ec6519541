/* CUDA's runtime API on one device, the emulator. Everything is done when its call returns; streams and events are kept. */
#ifndef OPWRIGHT_EMULATION_CUDA_API_H
#define OPWRIGHT_EMULATION_CUDA_API_H

#include "cuda_types.h"
#include "barrier.h"
#include "launch.h"
#include "memory_hints.h"
#include "refused.h"

namespace opwright {
namespace emulation {

/* A call of the runtime API, in the author's source. */
struct Called {
  const char *name, *file;
  int line;
  const void *stream = nullptr; /* the default one, for which the host waits */
  bool async = false;           /* the host goes on before it is done */
};

/* The runtime's part (csrc/api*.cpp). Every function notes its error for cudaGetLastError, and which call it was. */
OPWRIGHT_EMULATION_API cudaError_t note(cudaError_t error, const Called &called = {}, const char *why = "");
/* The call that the last error is of, and what was wrong with its arguments ("" where nothing is known); no name: none is known. */
struct FailedCall {
  Called called;
  const char *why;
};
OPWRIGHT_EMULATION_API FailedCall failed_call();
OPWRIGHT_EMULATION_API cudaError_t last_error(bool clear);
OPWRIGHT_EMULATION_API const char *error_name(cudaError_t error);
OPWRIGHT_EMULATION_API const char *error_text(cudaError_t error);
/* Memory that a call without a file asks for is a tensor's of another library, and called `called.name` in reports. Who releases
 * memory by an asynchronous call waits for nothing. */
OPWRIGHT_EMULATION_API cudaError_t allocate(void **memory, size_t bytes, cudaMemoryType type, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t release(void *memory, bool host, const Called &called);
/* The memory of another allocator, which reports call `name`, is known from now on, and until it is withdrawn. */
OPWRIGHT_EMULATION_API void announce(void *memory, size_t bytes, cudaMemoryType type, const char *name);
OPWRIGHT_EMULATION_API void withdraw(void *memory);
OPWRIGHT_EMULATION_API cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                                        const Called &called);
OPWRIGHT_EMULATION_API cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                             size_t width, size_t height, cudaMemcpyKind kind, const Called &called);
/* A row of `width` bytes is filled with elements of so many bytes. */
OPWRIGHT_EMULATION_API cudaError_t fill_rows(void *to, size_t pitch, int value, size_t width, size_t height,
                                             const Called &called, size_t element = 1);
/* Whether a library's call may read or write `height` rows of `width` bytes, which begin `pitch` bytes apart; if not, it is
 * noted, and ends a program. `operand` is the name of what lies there. To be asked before the memory is touched. */
OPWRIGHT_EMULATION_API bool may_touch(const void *memory, size_t pitch, size_t width, size_t height, bool writes,
                                      const char *operand, const Called &called);
/* How many bytes are left from an address on in its allocation or tensor, at most `most`; `most` where it lies in none. */
OPWRIGHT_EMULATION_API size_t bytes_from(const void *address, size_t most);
/* What a library's call asks for can't be emulated: noted, and a warning in a program. */
OPWRIGHT_EMULATION_API void refuse_call(const Called &called, const char *why);
/* The handles of each library, by its name. They are the process's: every module that calls a library has a copy of its code, and
 * passes handles to others, as PyTorch passes its handle of cuBLAS to extensions. */
OPWRIGHT_EMULATION_API void handle_created(const char *library, const void *handle);
OPWRIGHT_EMULATION_API void handle_destroyed(const char *library, const void *handle);
OPWRIGHT_EMULATION_API bool handle_is_alive(const char *library, const void *handle);
OPWRIGHT_EMULATION_API cudaError_t attributes_of(cudaPointerAttributes *attributes, const void *address);
OPWRIGHT_EMULATION_API cudaError_t memory_left(size_t *left, size_t *total);
OPWRIGHT_EMULATION_API cudaError_t create_event(cudaEvent_t *event, unsigned flags);
OPWRIGHT_EMULATION_API cudaError_t destroy_event(cudaEvent_t event);
OPWRIGHT_EMULATION_API cudaError_t record_event(cudaEvent_t event, const Called &called);
/* The call's stream waits for an event; or the host does (for_host), for an event, the stream, or all streams. */
OPWRIGHT_EMULATION_API cudaError_t wait_for_event(cudaEvent_t event, bool for_host, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t wait_for_stream(const Called &called);
OPWRIGHT_EMULATION_API cudaError_t wait_for_device(const Called &called = {});
/* What the host does in a stream at once, an algorithm or a callback, can't be captured: an error, and the capture is invalid. The
 * second is of a call that doesn't say in which stream: of any that this thread captures. */
OPWRIGHT_EMULATION_API cudaError_t host_work(const Called &called);
/* A function of the host runs in the order of a stream: it is ahead of nothing that it uses. */
OPWRIGHT_EMULATION_API void host_function(bool begins);
struct HostFunction {
  HostFunction() { host_function(true); }
  ~HostFunction() { host_function(false); }
  HostFunction(const HostFunction &) = delete;
};
OPWRIGHT_EMULATION_API void host_work_of_thread(const Called &called);
OPWRIGHT_EMULATION_API cudaError_t elapsed(float *milliseconds, cudaEvent_t from, cudaEvent_t to, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t create_stream(cudaStream_t *stream, unsigned flags = 0);
OPWRIGHT_EMULATION_API cudaError_t destroy_stream(cudaStream_t stream);
OPWRIGHT_EMULATION_API cudaError_t allow_shared(int bytes); /* dynamic, of a block */
OPWRIGHT_EMULATION_API cudaError_t device_attribute(int *value, cudaDeviceAttr attribute, int device);
/* A limit is kept and has no effect. */
OPWRIGHT_EMULATION_API cudaError_t set_limit(cudaLimit limit, size_t value, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t get_limit(size_t *value, cudaLimit limit, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t device_properties(cudaDeviceProp *properties, int device);
OPWRIGHT_EMULATION_API cudaError_t select_device(int device, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t active_blocks(int *blocks, int threads, size_t shared);

/* How far apart rows of so many bytes are allocated. */
constexpr size_t row_pitch(size_t width) { return (width + 511) / 512 * 512; }

}  // namespace emulation
}  // namespace opwright

inline cudaError_t cudaGetLastError() { return ::opwright::emulation::last_error(true); }
inline cudaError_t cudaPeekAtLastError() { return ::opwright::emulation::last_error(false); }
inline const char *cudaGetErrorName(cudaError_t error) { return ::opwright::emulation::error_name(error); }
inline const char *cudaGetErrorString(cudaError_t error) { return ::opwright::emulation::error_text(error); }

/* Memory. */
template <class T>
inline cudaError_t cudaMalloc(T **memory, size_t bytes, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::allocate((void **)memory, bytes, cudaMemoryTypeDevice, {"cudaMalloc", file, line});
}
template <class T>
inline cudaError_t cudaMallocAsync(T **memory, size_t bytes, cudaStream_t stream, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::allocate((void **)memory, bytes, cudaMemoryTypeDevice,
                                         {"cudaMallocAsync", file, line, stream, true});
}
template <class T>
inline cudaError_t cudaMallocManaged(T **memory, size_t bytes, unsigned = cudaMemAttachGlobal,
                                     OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::allocate((void **)memory, bytes, cudaMemoryTypeManaged,
                                         {"cudaMallocManaged", file, line});
}
template <class T>
inline cudaError_t cudaMallocHost(T **memory, size_t bytes, unsigned = 0, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::allocate((void **)memory, bytes, cudaMemoryTypeHost, {"cudaMallocHost", file, line});
}
template <class T>
inline cudaError_t cudaHostAlloc(T **memory, size_t bytes, unsigned, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::allocate((void **)memory, bytes, cudaMemoryTypeHost, {"cudaHostAlloc", file, line});
}
template <class T>
inline cudaError_t cudaMallocPitch(T **memory, size_t *pitch, size_t width, size_t height, OPWRIGHT_EMULATION_HERE) {
  *pitch = ::opwright::emulation::row_pitch(width);
  return ::opwright::emulation::allocate((void **)memory, *pitch * height, cudaMemoryTypeDevice,
                                         {"cudaMallocPitch", file, line});
}
inline cudaError_t cudaFree(void *memory, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::release(memory, false, {"cudaFree", file, line});
}
inline cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::release(memory, false, {"cudaFreeAsync", file, line, stream, true});
}
inline cudaError_t cudaFreeHost(void *memory, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::release(memory, true, {"cudaFreeHost", file, line});
}
inline cudaError_t cudaHostRegister(void *, size_t, unsigned) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void *) { return cudaSuccess; }
template <class T>
inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned) {
  *device = (T *)host;
  return cudaSuccess;
}
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *address) {
  return ::opwright::emulation::attributes_of(attributes, address);
}
inline cudaError_t cudaMemGetInfo(size_t *left, size_t *total) {
  return ::opwright::emulation::memory_left(left, total);
}
inline cudaError_t cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
inline cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = 0) { return cudaSuccess; }
/* As in CUDA 13; CUDA 12 has them with _v2. */
inline cudaError_t cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }
inline cudaError_t cudaMemPrefetchAsync(const void *, size_t, cudaMemLocation, unsigned, cudaStream_t = 0) {
  return cudaSuccess;
}
inline cudaError_t cudaMemAdvise_v2(const void *, size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }
inline cudaError_t cudaMemPrefetchAsync_v2(const void *, size_t, cudaMemLocation, unsigned, cudaStream_t = 0) {
  return cudaSuccess;
}

inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy(to, from, bytes, kind, {"cudaMemcpy", file, line});
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream = 0, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy(to, from, bytes, kind, {"cudaMemcpyAsync", file, line, stream, true});
}
inline cudaError_t cudaMemcpyPeer(void *to, int, const void *from, int, size_t bytes, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy(to, from, bytes, cudaMemcpyDeviceToDevice, {"cudaMemcpyPeer", file, line});
}
inline cudaError_t cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t bytes, cudaStream_t stream = 0,
                                       OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy(to, from, bytes, cudaMemcpyDeviceToDevice,
                                     {"cudaMemcpyPeerAsync", file, line, stream, true});
}
inline cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                size_t height, cudaMemcpyKind kind, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_rows(to, to_pitch, from, from_pitch, width, height, kind,
                                          {"cudaMemcpy2D", file, line});
}
inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0,
                                     OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_rows(to, to_pitch, from, from_pitch, width, height, kind,
                                          {"cudaMemcpy2DAsync", file, line, stream, true});
}
inline cudaError_t cudaMemset(void *to, int value, size_t bytes, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::fill_rows(to, bytes, value, bytes, 1, {"cudaMemset", file, line});
}
inline cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream = 0,
                                   OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::fill_rows(to, bytes, value, bytes, 1, {"cudaMemsetAsync", file, line, stream, true});
}
inline cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height,
                                OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::fill_rows(to, pitch, value, width, height, {"cudaMemset2D", file, line});
}
inline cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                     cudaStream_t stream = 0, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::fill_rows(to, pitch, value, width, height,
                                          {"cudaMemset2DAsync", file, line, stream, true});
}

/* __device__ and __constant__ variables. */
template <class T>
inline cudaError_t cudaGetSymbolAddress(void **address, const T &symbol) {
  *address = (void *)&symbol;
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &) {
  *bytes = sizeof(T);
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice, OPWRIGHT_EMULATION_HERE) {
  if (offset + bytes > sizeof(T))
    return ::opwright::emulation::note(cudaErrorInvalidValue, {"cudaMemcpyToSymbol", file, line});
  return ::opwright::emulation::copy((char *)&symbol + offset, from, bytes, kind, {"cudaMemcpyToSymbol", file, line});
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind kind = cudaMemcpyDeviceToHost, OPWRIGHT_EMULATION_HERE) {
  if (offset + bytes > sizeof(T))
    return ::opwright::emulation::note(cudaErrorInvalidValue, {"cudaMemcpyFromSymbol", file, line});
  return ::opwright::emulation::copy(to, (const char *)&symbol + offset, bytes, kind,
                                     {"cudaMemcpyFromSymbol", file, line});
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset,
                                           cudaMemcpyKind kind, cudaStream_t stream = 0, OPWRIGHT_EMULATION_HERE) {
  if (offset + bytes > sizeof(T))
    return ::opwright::emulation::note(cudaErrorInvalidValue, {"cudaMemcpyToSymbolAsync", file, line});
  return ::opwright::emulation::copy((char *)&symbol + offset, from, bytes, kind,
                                     {"cudaMemcpyToSymbolAsync", file, line, stream, true});
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset,
                                             cudaMemcpyKind kind, cudaStream_t stream = 0, OPWRIGHT_EMULATION_HERE) {
  if (offset + bytes > sizeof(T))
    return ::opwright::emulation::note(cudaErrorInvalidValue, {"cudaMemcpyFromSymbolAsync", file, line});
  return ::opwright::emulation::copy(to, (const char *)&symbol + offset, bytes, kind,
                                     {"cudaMemcpyFromSymbolAsync", file, line, stream, true});
}

/* Streams and events. */
inline cudaError_t cudaStreamCreate(cudaStream_t *stream) { return ::opwright::emulation::create_stream(stream); }
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  return ::opwright::emulation::create_stream(stream, flags);
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int) {
  return ::opwright::emulation::create_stream(stream, flags);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) { return ::opwright::emulation::destroy_stream(stream); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::wait_for_stream({"cudaStreamSynchronize", file, line, stream});
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::wait_for_stream({"cudaStreamQuery", file, line, stream});
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned = 0, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::wait_for_event(event, false, {"cudaStreamWaitEvent", file, line, stream, true});
}
inline cudaError_t cudaStreamGetPriority(cudaStream_t, int *priority) {
  *priority = 0;
  return cudaSuccess;
}
inline cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned *flags) {
  *flags = cudaStreamDefault;
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t, T *, size_t = 0, unsigned = cudaMemAttachSingle) {
  return cudaSuccess;
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event) {
  return ::opwright::emulation::create_event(event, cudaEventDefault);
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags) {
  return ::opwright::emulation::create_event(event, flags);
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  return ::opwright::emulation::create_event(event, flags);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) { return ::opwright::emulation::destroy_event(event); }
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::record_event(event, {"cudaEventRecord", file, line, stream, true});
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::wait_for_event(event, true, {"cudaEventSynchronize", file, line});
}
inline cudaError_t cudaEventQuery(cudaEvent_t event, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::wait_for_event(event, true, {"cudaEventQuery", file, line});
}
inline cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to,
                                        OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::elapsed(milliseconds, from, to, {"cudaEventElapsedTime", file, line});
}

/* Kernels. */
template <class F>
inline cudaError_t cudaFuncSetAttribute(F &&, cudaFuncAttribute attribute, int value) {
  return attribute == cudaFuncAttributeMaxDynamicSharedMemorySize ? ::opwright::emulation::allow_shared(value)
                                                                  : cudaSuccess;
}
template <class F>
inline cudaError_t cudaFuncSetCacheConfig(F &&, cudaFuncCache) {
  return cudaSuccess;
}
template <class F>
inline cudaError_t cudaFuncSetSharedMemConfig(F &&, cudaSharedMemConfig) {
  return cudaSuccess;
}
template <class F>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, F &&) {
  *attributes = {};
  attributes->maxThreadsPerBlock = int(::opwright::emulation::most_threads);
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 80;
  attributes->maxDynamicSharedSizeBytes = 48 * 1024;
  attributes->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
  return cudaSuccess;
}
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F &&, int threads, size_t shared) {
  return ::opwright::emulation::active_blocks(blocks, threads, shared);
}
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, F &&, int threads, size_t shared,
                                                                          unsigned) {
  return ::opwright::emulation::active_blocks(blocks, threads, shared);
}
template <class F>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, F &&, size_t shared = 0, int limit = 0) {
  int multiprocessors = 0, each = 0;
  *block =
      limit > 0 && limit < int(::opwright::emulation::most_threads) ? limit : int(::opwright::emulation::most_threads);
  ::opwright::emulation::device_attribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  const cudaError_t error = ::opwright::emulation::active_blocks(&each, *block, shared);
  *grid = multiprocessors * each;
  return error;
}
template <class F, class S>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid, int *block, F &&kernel, S shared,
                                                                  int limit = 0) {
  const int threads = limit > 0 ? limit : int(::opwright::emulation::most_threads);
  return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, size_t(shared(threads)), limit);
}

#endif
