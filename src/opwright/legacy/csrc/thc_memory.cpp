// Memory of GPUs and page-locked memory of the CPU, from PyTorch's caching allocators.
#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <mutex>
#include <unordered_map>

#include "tensor.h"
#include "thc.h"

namespace opw::th {
namespace {

// Page-locked memory, by its address: PyTorch's allocator wants more than that to take it back.
struct HostMemory {
  std::mutex mutex;
  std::unordered_map<void *, at::DataPtr> blocks;
};

HostMemory &host_memory() {
  static auto *memory = new HostMemory;  // never destroyed: CUDA may be gone before it would be
  return *memory;
}

}  // namespace
}  // namespace opw::th

using namespace opw::th;

// cudaError_t: 2 is cudaErrorMemoryAllocation. The memory is that of PyTorch's caching allocator.
OPW_EXPORT_C int THCudaMalloc(THCState *, void **memory, size_t bytes) {
  needs_cuda(__func__);
  try {
    *memory = c10::GetAllocator(cuda_device)->raw_allocate(bytes);
    return 0;
  } catch (const c10::OutOfMemoryError &) {
    *memory = nullptr;
    return 2;
  }
}

// The later form, which throws.
OPW_EXPORT_C void *THCudaAllocate_(THCState *, size_t bytes) {
  needs_cuda("THCudaMalloc");
  return c10::GetAllocator(cuda_device)->raw_allocate(bytes);
}

OPW_EXPORT_C int THCudaFree(THCState *, void *memory) {
  if (!memory) return 0;
  needs_cuda(__func__);
  c10::GetAllocator(cuda_device)->raw_deallocate(memory);
  return 0;
}

OPW_EXPORT_C void *THCudaHostAlloc(THCState *, size_t bytes) {
  needs_cuda(__func__);
  at::DataPtr block = at::globalContext().getPinnedMemoryAllocator(at::kCUDA)->allocate(bytes);
  void *memory = block.get();
  const std::lock_guard<std::mutex> lock(host_memory().mutex);
  if (memory) host_memory().blocks.insert_or_assign(memory, std::move(block));
  return memory;
}

OPW_EXPORT_C void THCudaHostFree(THCState *, void *memory) {
  const std::lock_guard<std::mutex> lock(host_memory().mutex);
  host_memory().blocks.erase(memory);
}

// The current stream uses this memory: it isn't given to somebody else before that has come to its end.
OPW_EXPORT_C void THCudaHostRecord(THCState *, void *memory) {
  needs_cuda(__func__);
  const std::lock_guard<std::mutex> lock(host_memory().mutex);
  const auto found = host_memory().blocks.find(memory);
  if (found == host_memory().blocks.end()) return;
  at::getHostAllocator(at::kCUDA)->record_event(memory, found->second.get_context(),
                                                current_stream(__func__, current_gpu()));
}

OPW_EXPORT_C int THCudaMemGetInfo(THCState *, size_t *available, size_t *total, size_t *largest) {
  needs_cuda(__func__);
  using Info = int (*)(size_t *, size_t *);
  auto *info = reinterpret_cast<Info>(required(__func__, cuda_runtime_symbol("cudaMemGetInfo"), "cudaMemGetInfo"));
  const int status = info(available, total);
  if (largest) *largest = *available;
  return status;
}

namespace {

void *host_allocate(void *, ptrdiff_t bytes) {
  return THCudaHostAlloc(state, bytes > 0 ? static_cast<size_t>(bytes) : 0);
}

void *host_reallocate(void *, void *, ptrdiff_t) { FAIL("page-locked memory can't be resized"); }

void host_release(void *, void *memory) { THCudaHostFree(state, memory); }

c10::CachingDeviceAllocator::DeviceStats memory_of(const char *function, int gpu) {
  needs_cuda(function);
  return c10::getDeviceAllocator(at::kCUDA)->getDeviceStats(static_cast<c10::DeviceIndex>(gpu));
}

constexpr size_t kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

}  // namespace

OPW_EXPORT_C Allocator THCudaHostAllocator, THCCachingHostAllocator;
Allocator THCudaHostAllocator = {&host_allocate, &host_reallocate, &host_release};
Allocator THCCachingHostAllocator = THCudaHostAllocator;

OPW_EXPORT_C void THCCachingHostAllocator_emptyCache() {
  needs_cuda(__func__);
  at::getHostAllocator(at::kCUDA)->empty_cache();
}

OPW_EXPORT_C void THCCachingAllocator_emptyCache() {
  needs_cuda(__func__);
  c10::getDeviceAllocator(at::kCUDA)->emptyCache();
}

OPW_EXPORT_C uint64_t THCCachingAllocator_currentMemoryAllocated(int gpu) {
  return static_cast<uint64_t>(memory_of(__func__, gpu).allocated_bytes[kAll].current);
}

OPW_EXPORT_C uint64_t THCCachingAllocator_maxMemoryAllocated(int gpu) {
  return static_cast<uint64_t>(memory_of(__func__, gpu).allocated_bytes[kAll].peak);
}

OPW_EXPORT_C uint64_t THCCachingAllocator_currentMemoryCached(int gpu) {
  return static_cast<uint64_t>(memory_of(__func__, gpu).reserved_bytes[kAll].current);
}

OPW_EXPORT_C uint64_t THCCachingAllocator_maxMemoryCached(int gpu) {
  return static_cast<uint64_t>(memory_of(__func__, gpu).reserved_bytes[kAll].peak);
}
