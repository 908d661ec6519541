// The runtime API's device: what it has, and what it grants.
#include <opwright/emulation/cuda_api.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <opwright/emulation/memory_hints.h>
#include <opwright/emulation/qualifiers.h>

#include "allocations.h"

namespace opwright {
namespace emulation {
namespace {

// A device with few multiprocessors: grids that are made to fill a device stay small. Attributes that aren't here are 0.
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
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrMaxTexture1DWidth, 131072},
    {cudaDevAttrMaxTexture2DWidth, 131072},
    {cudaDevAttrMaxTexture2DHeight, 65536},
    {cudaDevAttrMaxTexture3DWidth, 16384},
    {cudaDevAttrMaxTexture3DHeight, 16384},
    {cudaDevAttrMaxTexture3DDepth, 16384},
    {cudaDevAttrMaxTexture2DLayeredLayers, 2048},
    {cudaDevAttrTexturePitchAlignment, 32},
    {cudaDevAttrMaxTexture1DLinearWidth, 1 << 28},
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
    {cudaDevAttrMaxTexture2DLayeredWidth, 32768},
    {cudaDevAttrMaxTexture2DLayeredHeight, 32768},
    {cudaDevAttrSurfaceAlignment, 512},
    {cudaDevAttrAsyncEngineCount, 1},
    {cudaDevAttrMaxTexture1DLayeredWidth, 32768},
    {cudaDevAttrMaxTexture1DLayeredLayers, 2048},
    {cudaDevAttrMaxSurface1DWidth, 32768},
    {cudaDevAttrMaxSurface2DWidth, 131072},
    {cudaDevAttrMaxSurface2DHeight, 65536},
    {cudaDevAttrMaxSurface3DWidth, 16384},
    {cudaDevAttrMaxSurface3DHeight, 16384},
    {cudaDevAttrMaxSurface3DDepth, 16384},
    {cudaDevAttrMaxTexture2DLinearWidth, 131072},
    {cudaDevAttrMaxTexture2DLinearHeight, 65000},
    {cudaDevAttrMaxTexture2DLinearPitch, 2097120},
    {cudaDevAttrGlobalL1CacheSupported, 1},
    {cudaDevAttrLocalL1CacheSupported, 1},
    {cudaDevAttrHostNativeAtomicSupported, 1},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
    {cudaDevAttrHostRegisterSupported, 1},
    {cudaDevAttrDirectManagedMemAccessFromHost, 1},
    {cudaDevAttrMemoryPoolsSupported, 1},
    {cudaDevAttrHostNumaId, -1},
};

int limit(cudaDeviceAttr attribute) {
  for (const Limit &each : limits)
    if (each.attribute == attribute) return each.value;
  return 0;
}

std::atomic<size_t> allowed{48 * 1024};  // bytes of dynamic shared memory

// In the order of cudaLimit: the stack, printf's buffer and malloc's heap in bytes, depth and number of launches by kernels, bytes
// of a fetch and of the cache that is kept.
std::atomic<size_t> kept_limits[] = {{1024}, {1 << 20}, {8 << 20}, {2}, {2048}, {64}, {0}};
constexpr size_t kept = sizeof kept_limits / sizeof kept_limits[0];

}  // namespace

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

cudaError_t select_device(int device, const Called &called) {
  return device ? note(cudaErrorInvalidDevice, called, "there is one device, 0") : cudaSuccess;
}

cudaError_t device_attribute(int *value, cudaDeviceAttr attribute, int device) {
  if (device) return note(cudaErrorInvalidDevice);
  if (!value || attribute < cudaDevAttrMaxThreadsPerBlock ||
      attribute > cudaDevAttrOnlyPartialHostNativeAtomicSupported)
    return note(cudaErrorInvalidValue);
  *value = limit(attribute);
  return cudaSuccess;
}

cudaError_t set_limit(cudaLimit limit, size_t value, const Called &called) {
  if (size_t(limit) >= kept) return note(cudaErrorInvalidValue, called, "there is no such limit");
  if (limit == cudaLimitMallocHeapSize && !limit_device_heap(value))
    return note(cudaErrorInvalidValue, called, "a kernel has called malloc or new: set the heap's size before");
  kept_limits[limit] = value;
  return cudaSuccess;
}

cudaError_t get_limit(size_t *value, cudaLimit limit, const Called &called) {
  if (!value || size_t(limit) >= kept) return note(cudaErrorInvalidValue, called, "there is no such limit");
  *value = kept_limits[limit];
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
  p->surfaceAlignment = size_t(limit(cudaDevAttrSurfaceAlignment));
  p->texturePitchAlignment = size_t(limit(cudaDevAttrTexturePitchAlignment));
  p->maxTexture1D = limit(cudaDevAttrMaxTexture1DWidth);
  p->maxTexture1DLinear = limit(cudaDevAttrMaxTexture1DLinearWidth);
  for (int d = 0; d < 2; ++d) p->maxTexture2D[d] = limit(cudaDeviceAttr(cudaDevAttrMaxTexture2DWidth + d));
  for (int d = 0; d < 3; ++d) {
    p->maxTexture3D[d] = limit(cudaDeviceAttr(cudaDevAttrMaxTexture3DWidth + d));
    p->maxTexture2DLinear[d] = limit(cudaDeviceAttr(cudaDevAttrMaxTexture2DLinearWidth + d));
    p->maxTexture2DLayered[d] = limit(cudaDeviceAttr(cudaDevAttrMaxTexture2DLayeredWidth + d));
    p->maxSurface3D[d] = limit(cudaDeviceAttr(cudaDevAttrMaxSurface3DWidth + d));
  }
  for (int d = 0; d < 2; ++d) {
    p->maxTexture1DLayered[d] = limit(cudaDeviceAttr(cudaDevAttrMaxTexture1DLayeredWidth + d));
    p->maxSurface2D[d] = limit(cudaDeviceAttr(cudaDevAttrMaxSurface2DWidth + d));
  }
  p->maxSurface1D = limit(cudaDevAttrMaxSurface1DWidth);
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
  p->singleToDoublePrecisionPerfRatio = limit(cudaDevAttrSingleToDoublePrecisionPerfRatio);
  p->hostNumaId = limit(cudaDevAttrHostNumaId);
  p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
  p->concurrentManagedAccess = p->cooperativeLaunch = p->asyncEngineCount = p->deviceOverlap = 1;
  p->globalL1CacheSupported = p->localL1CacheSupported = p->hostNativeAtomicSupported = 1;
  p->canUseHostPointerForRegisteredMem = p->hostRegisterSupported = p->directManagedMemAccessFromHost = 1;
  p->memoryPoolsSupported = 1;
  return cudaSuccess;
}

cudaError_t active_blocks(int *blocks, int threads, size_t shared) {
  if (!blocks || threads <= 0) return note(cudaErrorInvalidValue);
  const int of_shared = limit(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
            most = limit(cudaDevAttrMaxBlocksPerMultiprocessor);
  int fit =
      threads > limit(cudaDevAttrMaxThreadsPerBlock) ? 0 : limit(cudaDevAttrMaxThreadsPerMultiProcessor) / threads;
  if (shared > size_t(limit(cudaDevAttrMaxSharedMemoryPerBlockOptin))) fit = 0;
  else if (shared && of_shared / int(shared) < fit) fit = of_shared / int(shared);
  *blocks = fit < most ? fit : most;
  return cudaSuccess;
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
