// The memory of the device, and pinned memory: blocks of the host's that CUDA's functions know, counted as PyTorch counts.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cuda_runtime.h>
#include <opwright/emulation/forks.h>
#include <opwright/emulation/hooks.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "device.h"

namespace opwright {
namespace device {
namespace {

using c10::CachingDeviceAllocator::DeviceStats;

[[maybe_unused]] constexpr size_t alignment = 512;  // cudaMalloc's, at least
constexpr size_t largest_small = size_t(1) << 20;   // of PyTorch's pools

struct Blocks {
  emulation::Mutex<> changing;
  std::map<const char *, size_t> sizes, pinned;
  DeviceStats statistics;
};

// PyTorch may free some when static objects are gone.
Blocks &blocks() {
  static emulation::Lasting<Blocks> only;
  return *only;
}

thread_local const std::string *making = nullptr;

}  // namespace

Making::Making(const std::string &op) : before_(making) { making = &op; }
Making::~Making() { making = before_; }

// The allocation outlives the operator's schema, so the text is kept.
const char *tensor_name() {
  struct Names {
    emulation::Mutex<> adding;
    std::set<std::string> all;
  };
  static emulation::Lasting<Names> names;
  const std::lock_guard lock(names->adding);
  return names->all.insert(making ? "a tensor that " + *making + " made" : "a tensor").first->c_str();
}

namespace {

// The checker knows the emulator's memory. A tensor's is unwritten at first.
void *block_of(size_t bytes, cudaMemoryType type) {
  const char *name = type == cudaMemoryTypeHost ? "pinned memory" : tensor_name();
  void *block = nullptr;
#ifdef OPWRIGHT_EMULATION_CHECK
  if (emulation::allocate(&block, bytes, type, {name, nullptr, 0}) != cudaSuccess) return nullptr;
#else
  if (posix_memalign(&block, alignment, bytes)) return nullptr;
  emulation::announce(block, bytes, type, name);
#endif
  return block;
}

// PyTorch's allocator keeps a GPU's memory, and waits for nothing.
void give_back(void *block, cudaMemoryType type) {
#ifdef OPWRIGHT_EMULATION_CHECK
  (void)emulation::release(block, type == cudaMemoryTypeHost, {"PyTorch's allocator", nullptr, 0, nullptr, true});
#else
  (void)type;
  emulation::withdraw(block);
  std::free(block);
#endif
}

// Every block is a segment of its own, and none is kept for later.
template <class Change>
void count(size_t bytes, Change change) {
  using Type = c10::CachingAllocator::StatType;
  DeviceStats &all = blocks().statistics;
  for (const Type type : {Type::AGGREGATE, bytes <= largest_small ? Type::SMALL_POOL : Type::LARGE_POOL}) {
    const auto at = static_cast<size_t>(type);
    for (auto *counted : {&all.allocation, &all.segment, &all.active}) change((*counted)[at], 1);
    for (auto *counted : {&all.allocated_bytes, &all.reserved_bytes, &all.active_bytes, &all.requested_bytes})
      change((*counted)[at], bytes);
  }
}

template <class Change>
void for_all_statistics(Change change) {
  DeviceStats &all = blocks().statistics;
  for (auto *counted : {&all.allocation, &all.segment, &all.active, &all.allocated_bytes, &all.reserved_bytes,
                        &all.active_bytes, &all.requested_bytes})
    for (auto &each : *counted) change(each);
}

void free_block(void *block) {
  if (!block) return;
  {
    const std::lock_guard lock(blocks().changing);
    const auto found = blocks().sizes.find(static_cast<char *>(block));
    TORCH_CHECK(found != blocks().sizes.end(), "CUDA's allocator gets memory back that it hasn't given");
    count(found->second, [](auto &counted, size_t by) { counted.decrease(by); });
    ++blocks().statistics.num_device_free;
    blocks().sizes.erase(found);
  }
  give_back(block, cudaMemoryTypeDevice);
}

void free_pinned(void *block) {
  if (!block) return;
  {
    const std::lock_guard lock(blocks().changing);
    blocks().pinned.erase(static_cast<char *>(block));
  }
  give_back(block, cudaMemoryTypeHost);
}

struct Pinned final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void *block = block_of(bytes ? bytes : 1, cudaMemoryTypeHost);
    TORCH_CHECK_WITH(OutOfMemoryError, block, "CUDA out of memory. Tried to pin ", bytes, " bytes of the host's");
    const std::lock_guard lock(blocks().changing);
    blocks().pinned[static_cast<char *>(block)] = bytes ? bytes : 1;
    return {block, block, &free_pinned, c10::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void *to, const void *from, size_t bytes) const override { std::memcpy(to, from, bytes); }
};

void not_emulated(const char *what) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "Opwright's emulation of the device has no ", what);
}

struct Memory final : c10::cuda::CUDACachingAllocator::CUDAAllocator {
  using Device = c10::DeviceIndex;
  using Pool = c10::MempoolId_t;

  c10::DataPtr allocate(size_t bytes) override {
    void *block = bytes ? raw_alloc(bytes) : nullptr;
    return {block, block, &free_block, cuda};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void *to, const void *from, size_t bytes) const override {
    // A copy that the checker sees by itself would count as written, whatever its source.
    __builtin_memcpy(to, from, bytes);
    if (const emulation::Hooks *checker = emulation::hooks()) checker->moved(to, from, bytes);
  }
  void *raw_alloc(size_t bytes) override {
    void *block = block_of(bytes ? bytes : 1, cudaMemoryTypeDevice);
    TORCH_CHECK_WITH(OutOfMemoryError, block, "CUDA out of memory. Tried to allocate ", bytes, " bytes of the host's");
    const std::lock_guard lock(blocks().changing);
    blocks().sizes[static_cast<char *>(block)] = bytes;
    count(bytes, [](auto &counted, size_t by) { counted.increase(by); });
    ++blocks().statistics.num_device_alloc;
    return block;
  }
  void *raw_alloc_with_stream(size_t bytes, cudaStream_t) override { return raw_alloc(bytes); }
  void raw_delete(void *block) override { free_block(block); }
  void init(int) override {}
  bool initialized() override { return true; }
  double getMemoryFraction(Device) override { return 1; }
  void setMemoryFraction(double, Device) override {}
  std::vector<c10::cuda::CUDACachingAllocator::StreamSegmentSize> getExpandableSegmentSizes(Device) override {
    return {};
  }
  void enable(bool) override {}
  bool isEnabled() const override { return true; }
  void emptyCache(Pool) override {}
  void cacheInfo(Device, size_t *largest) override { *largest = 0; }
  void *getBaseAllocation(void *block, size_t *bytes) override {
    const std::lock_guard lock(blocks().changing);
    const auto found = blocks().sizes.find(static_cast<char *>(block));
    TORCH_CHECK(found != blocks().sizes.end(), "CUDA's allocator is asked for a block that it hasn't given");
    if (bytes) *bytes = found->second;
    return block;
  }
  void recordStream(const c10::DataPtr &, c10::cuda::CUDAStream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(Device) override {
    const std::lock_guard lock(blocks().changing);
    return blocks().statistics;
  }
  void resetAccumulatedStats(Device) override {
    const std::lock_guard lock(blocks().changing);
    for_all_statistics([](auto &counted) { counted.reset_accumulated(); });
  }
  void resetPeakStats(Device) override {
    const std::lock_guard lock(blocks().changing);
    for_all_statistics([](auto &counted) { counted.reset_peak(); });
  }
  c10::cuda::CUDACachingAllocator::SnapshotInfo snapshot(Pool, bool) override { return {}; }
  void beginAllocateToPool(Device, Pool, std::function<bool(cudaStream_t)>) override { not_emulated("memory pools"); }
  void endAllocateToPool(Device, Pool) override {}
  void releasePool(Device, Pool) override {}
  c10::cuda::CUDACachingAllocator::ShareableHandle shareIpcHandle(void *) override {
    return not_emulated("memory shared by processes"), c10::cuda::CUDACachingAllocator::ShareableHandle{};
  }
  std::shared_ptr<void> getIpcDevPtr(std::string) override {
    return not_emulated("memory shared by processes"), nullptr;
  }
  void recordHistory(bool, c10::cuda::CUDACachingAllocator::CreateContextFn, size_t,
                     c10::cuda::CUDACachingAllocator::RecordContext, bool, const std::vector<std::string> &) override {}
  void attachOutOfMemoryObserver(c10::cuda::CUDACachingAllocator::OutOfMemoryObserver) override {}
  void attachOomRejectionObserver(c10::cuda::CUDACachingAllocator::OomRejectionObserver) override {}
  void attachAllocatorTraceTracker(c10::cuda::CUDACachingAllocator::AllocatorTraceTracker) override {}
  void enablePeerAccess(Device, Device) override {}
  cudaError_t memcpyAsync(void *to, int, const void *from, int, size_t bytes, cudaStream_t, bool) override {
    return copy_data(to, from, bytes), cudaSuccess;
  }
  std::shared_ptr<c10::cuda::CUDACachingAllocator::AllocatorState> getCheckpointState(Device, Pool) override {
    return not_emulated("memory pools"), nullptr;
  }
  c10::cuda::CUDACachingAllocator::CheckpointDelta setCheckpointPoolState(
      Device, std::shared_ptr<c10::cuda::CUDACachingAllocator::AllocatorState>) override {
    return not_emulated("memory pools"), c10::cuda::CUDACachingAllocator::CheckpointDelta{};
  }
  std::string name() override { return "host"; }
};

Memory &memory() {
  static Memory only;
  return only;
}

}  // namespace

c10::Allocator *allocator() { return &memory(); }
c10::Allocator *pinned_allocator() {
  static Pinned only;
  return &only;
}

bool is_pinned(const void *address) {
  const char *at = static_cast<const char *>(address);
  const std::lock_guard lock(blocks().changing);
  const auto above = blocks().pinned.upper_bound(at);
  if (above == blocks().pinned.begin()) return false;
  const auto found = std::prev(above);
  return at < found->first + found->second;
}

}  // namespace device
}  // namespace opwright

namespace c10::cuda::CUDACachingAllocator {
std::atomic<CUDAAllocator *> allocator{&opwright::device::memory()};
}

// For Python: gives a storage of the device other bytes. What fits of the former ones is copied; null, or what went wrong.
extern "C" const char *opwright_device_resize_storage(void *storage, int64_t bytes) {
  thread_local std::string failure;
  try {
    auto *resized = static_cast<c10::StorageImpl *>(storage);
    if (!resized->resizable()) return "Trying to resize storage that is not resizable";
    c10::DataPtr moved = opwright::device::allocator()->allocate(size_t(bytes));
    if (const size_t kept = std::min(size_t(bytes), resized->nbytes()))
      opwright::device::allocator()->copy_data(moved.get(), resized->data(), kept);
    resized->set_data_ptr_noswap(std::move(moved));
    resized->set_nbytes(size_t(bytes));
    return nullptr;
  } catch (const std::exception &error) {
    failure = error.what();
    return failure.c_str();
  }
}
