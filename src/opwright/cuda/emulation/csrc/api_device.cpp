// The runtime API's device, streams and events.
#include <opwright/emulation/cuda_api.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <opwright/emulation/memory_hints.h>
#include <opwright/emulation/qualifiers.h>

struct CUstream_st {
  int unused;
};
struct CUevent_st {
  bool timed, recorded;
  std::chrono::steady_clock::time_point time;
};

namespace opwright {
namespace emulation {
namespace {

// A device with few multiprocessors: grids that are made to fill a device stay small.
struct Limit {
  cudaDeviceAttr attribute;
  int value;
};
constexpr Limit limits[] = {
    {cudaDevAttrMaxThreadsPerBlock, int(most_threads)},
    {cudaDevAttrMaxBlockDimX, 1024},
    {cudaDevAttrMaxBlockDimY, 1024},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, 0x7fffffff},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024},
    {cudaDevAttrTotalConstantMemory, 64 * 1024},
    {cudaDevAttrWarpSize, int(warp_size)},
    {cudaDevAttrMaxPitch, 0x7fffffff},
    {cudaDevAttrMaxRegistersPerBlock, 64 * 1024},
    {cudaDevAttrClockRate, 1000000},
    {cudaDevAttrTextureAlignment, 512},
    {cudaDevAttrMultiProcessorCount, 4},
    {cudaDevAttrIntegrated, 0},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrComputeMode, 0},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrMemoryClockRate, 1000000},
    {cudaDevAttrGlobalMemoryBusWidth, 256},
    {cudaDevAttrL2CacheSize, 4 * 1024 * 1024},
    {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrComputeCapabilityMajor, OPWRIGHT_EMULATION_ARCH / 100},
    {cudaDevAttrComputeCapabilityMinor, OPWRIGHT_EMULATION_ARCH / 10 % 10},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 164 * 1024},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 64 * 1024},
    {cudaDevAttrManagedMemory, 1},
    {cudaDevAttrConcurrentManagedAccess, 1},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, 163 * 1024},
    {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
    {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
    {cudaDevAttrMemoryPoolsSupported, 0},
};

int limit(cudaDeviceAttr attribute) {
  for (const Limit &each : limits)
    if (each.attribute == attribute) return each.value;
  return -1;
}

// The chain from the error's number to its name and its text.
struct Named {
  cudaError_t error;
  const char *name, *text;
};
constexpr Named errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "the driver is older than the CUDA runtime"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const Named *named(cudaError_t error) {
  for (const Named &each : errors)
    if (each.error == error) return &each;
  return nullptr;
}

thread_local cudaError_t noted = cudaSuccess;
std::atomic<size_t> allowed{48 * 1024};  // bytes of dynamic shared memory

}  // namespace

cudaError_t note(cudaError_t error) {
  if (error != cudaSuccess) noted = error;
  return error;
}

cudaError_t last_error(bool clear) {
  const cudaError_t last = noted;
  if (clear) noted = cudaSuccess;
  return last;
}

const char *error_name(cudaError_t error) { return named(error) ? named(error)->name : "unrecognized error code"; }
const char *error_text(cudaError_t error) { return named(error) ? named(error)->text : "unrecognized error code"; }

// Of all kernels: which one is meant, a launch of a template doesn't say. Whoever forgot it is told, nobody else.
cudaError_t allow_shared(int bytes) {
  int most = 0;
  device_attribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  if (bytes < 0 || bytes > most) return note(cudaErrorInvalidValue);
  size_t before = allowed.load();
  while (before < size_t(bytes) && !allowed.compare_exchange_weak(before, size_t(bytes))) {
  }
  return cudaSuccess;
}
size_t allowed_shared() { return allowed.load(); }

cudaError_t select_device(int device) { return device ? note(cudaErrorInvalidDevice) : cudaSuccess; }

cudaError_t device_attribute(int *value, cudaDeviceAttr attribute, int device) {
  if (device) return note(cudaErrorInvalidDevice);
  if (!value || limit(attribute) < 0) return note(cudaErrorInvalidValue);
  *value = limit(attribute);
  return cudaSuccess;
}

cudaError_t device_properties(cudaDeviceProp *p, int device) {
  if (device) return note(cudaErrorInvalidDevice);
  *p = {};
  std::strcpy(p->name, "Opwright's emulator");
  size_t left;
  memory_left(&left, &p->totalGlobalMem);
  p->sharedMemPerBlock = size_t(limit(cudaDevAttrMaxSharedMemoryPerBlock));
  p->sharedMemPerBlockOptin = size_t(limit(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  p->sharedMemPerMultiprocessor = size_t(limit(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  p->reservedSharedMemPerBlock = size_t(limit(cudaDevAttrReservedSharedMemoryPerBlock));
  p->memPitch = size_t(limit(cudaDevAttrMaxPitch));
  p->totalConstMem = size_t(limit(cudaDevAttrTotalConstantMemory));
  p->textureAlignment = size_t(limit(cudaDevAttrTextureAlignment));
  p->regsPerBlock = limit(cudaDevAttrMaxRegistersPerBlock);
  p->regsPerMultiprocessor = limit(cudaDevAttrMaxRegistersPerMultiprocessor);
  p->warpSize = limit(cudaDevAttrWarpSize);
  p->maxThreadsPerBlock = limit(cudaDevAttrMaxThreadsPerBlock);
  for (int d = 0; d < 3; ++d) {
    p->maxThreadsDim[d] = limit(cudaDeviceAttr(cudaDevAttrMaxBlockDimX + d));
    p->maxGridSize[d] = limit(cudaDeviceAttr(cudaDevAttrMaxGridDimX + d));
  }
  p->maxThreadsPerMultiProcessor = limit(cudaDevAttrMaxThreadsPerMultiProcessor);
  p->maxBlocksPerMultiProcessor = limit(cudaDevAttrMaxBlocksPerMultiprocessor);
  p->multiProcessorCount = limit(cudaDevAttrMultiProcessorCount);
  p->major = limit(cudaDevAttrComputeCapabilityMajor);
  p->minor = limit(cudaDevAttrComputeCapabilityMinor);
  p->clockRate = limit(cudaDevAttrClockRate);
  p->memoryClockRate = limit(cudaDevAttrMemoryClockRate);
  p->memoryBusWidth = limit(cudaDevAttrGlobalMemoryBusWidth);
  p->l2CacheSize = limit(cudaDevAttrL2CacheSize);
  p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
  p->concurrentManagedAccess = p->cooperativeLaunch = p->asyncEngineCount = 1;
  return cudaSuccess;
}

cudaError_t active_blocks(int *blocks, int threads, size_t shared) {
  if (!blocks || threads <= 0) return note(cudaErrorInvalidValue);
  const int of_shared = limit(cudaDevAttrMaxSharedMemoryPerMultiprocessor), most = limit(cudaDevAttrMaxBlocksPerMultiprocessor);
  int fit = threads > limit(cudaDevAttrMaxThreadsPerBlock) ? 0 : limit(cudaDevAttrMaxThreadsPerMultiProcessor) / threads;
  if (shared > size_t(limit(cudaDevAttrMaxSharedMemoryPerBlockOptin)))
    fit = 0;
  else if (shared && of_shared / int(shared) < fit)
    fit = of_shared / int(shared);
  *blocks = fit < most ? fit : most;
  return cudaSuccess;
}

cudaError_t create_stream(cudaStream_t *stream) {
  if (!stream) return note(cudaErrorInvalidValue);
  *stream = new CUstream_st{};
  return cudaSuccess;
}
cudaError_t destroy_stream(cudaStream_t stream) {
  if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return note(cudaErrorInvalidResourceHandle);
  delete stream;
  return cudaSuccess;
}

cudaError_t create_event(cudaEvent_t *event, unsigned flags) {
  if (!event) return note(cudaErrorInvalidValue);
  *event = new CUevent_st{!(flags & cudaEventDisableTiming), false, {}};
  return cudaSuccess;
}
cudaError_t destroy_event(cudaEvent_t event) {
  if (!event) return note(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}
cudaError_t record_event(cudaEvent_t event) {
  if (!event) return note(cudaErrorInvalidResourceHandle);
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t query_event(cudaEvent_t event) { return event ? cudaSuccess : note(cudaErrorInvalidResourceHandle); }

cudaError_t elapsed(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (!milliseconds) return note(cudaErrorInvalidValue);
  if (!from || !to || !from->timed || !to->timed || !from->recorded || !to->recorded)
    return note(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return cudaSuccess;
}

long long clock_ticks() {
  static thread_local long long last = 0;
  const long long now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                            std::chrono::steady_clock::now().time_since_epoch())
                            .count();
  return last = now > last ? now : last + 1;
}

void failed_assertion(const char *text, const char *file, int line, const char *function) {
  char message[1024];
  std::snprintf(message, sizeof message, "%s:%d: %s: Assertion `%s' failed.", file, line, function, text);
  if (inside_kernel()) fault("assert", message);
  std::fprintf(stderr, "%s\n", message);
  std::abort();
}

}  // namespace emulation
}  // namespace opwright
