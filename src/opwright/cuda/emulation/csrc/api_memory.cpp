// The runtime API's memory: every allocation is known, so that a wrong pointer or size is an error and no crash.
#include <opwright/emulation/cuda_api.h>
#include <opwright/emulation/hooks.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace opwright {
namespace emulation {
namespace {

constexpr size_t alignment = 256, total_memory = size_t(16) << 30;
// What nobody has written looks like this: a NaN, an index far away.
constexpr int unwritten = 0xff;
// On a GPU a kernel that goes a row too far hits padding, or another allocation, and not malloc's own lists.
constexpr size_t padding = 16 * 1024;

struct Allocation {
  size_t bytes;
  cudaMemoryType type;
};

struct Memory {
  std::mutex mutex;
  std::map<const char *, Allocation> allocations;
  size_t used = 0;
};

// Never destroyed: a program's destructors may still free.
Memory &memory() {
  static Memory *the = new Memory;
  return *the;
}

using Found = std::map<const char *, Allocation>::iterator;

// The allocation that `address` lies in; the map is locked.
Found holding(const void *address) {
  auto &all = memory().allocations;
  const char *at = static_cast<const char *>(address);
  Found found = all.upper_bound(at);
  if (found == all.begin()) return all.end();
  --found;
  return at < found->first + found->second.bytes ? found : all.end();
}

// Whether `bytes` from `address` on stay within the allocation that they begin in, if it is one of ours.
bool fits(const void *address, size_t bytes) {
  const std::lock_guard<std::mutex> lock(memory().mutex);
  const Found found = holding(address);
  if (found == memory().allocations.end()) return true;
  return bytes <= size_t(found->first + found->second.bytes - static_cast<const char *>(address));
}

size_t extent(size_t pitch, size_t width, size_t height) { return height ? pitch * (height - 1) + width : 0; }

}  // namespace

cudaError_t allocate(void **result, size_t bytes, cudaMemoryType type, const char *what) {
  if (!result) return note(cudaErrorInvalidValue);
  *result = nullptr;
  if (!bytes) return cudaSuccess;
  {
    const std::lock_guard<std::mutex> lock(memory().mutex);
    if (bytes > total_memory - memory().used) return note(cudaErrorMemoryAllocation);
  }
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  char *whole = static_cast<char *>(std::aligned_alloc(alignment, rounded + 2 * padding));
  if (!whole) return note(cudaErrorMemoryAllocation);
  char *made = whole + padding;
  std::memset(made, unwritten, bytes);
  {
    const std::lock_guard<std::mutex> lock(memory().mutex);
    memory().allocations[made] = {bytes, type};
    memory().used += bytes;
  }
  if (hooks() && hooks()->device_allocated) hooks()->device_allocated(made, bytes, what);
  *result = made;
  return cudaSuccess;
}

cudaError_t release(void *address, bool host) {
  if (!address) return cudaSuccess;
  {
    const std::lock_guard<std::mutex> lock(memory().mutex);
    const Found found = memory().allocations.find(static_cast<char *>(address));
    if (found == memory().allocations.end() || (found->second.type == cudaMemoryTypeHost) != host)
      return note(cudaErrorInvalidValue);
    memory().used -= found->second.bytes;
    memory().allocations.erase(found);
  }
  if (hooks() && hooks()->device_freed) hooks()->device_freed(address);
  std::free(static_cast<char *>(address) - padding);
  return cudaSuccess;
}

cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return copy_rows(to, bytes, from, bytes, bytes, 1, kind);
}

cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                      cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return note(cudaErrorInvalidMemcpyDirection);
  if (!width || !height) return cudaSuccess;
  if (width > to_pitch || width > from_pitch) return note(cudaErrorInvalidPitchValue);
  if (!to || !from || !fits(to, extent(to_pitch, width, height)) || !fits(from, extent(from_pitch, width, height)))
    return note(cudaErrorInvalidValue);
  for (size_t row = 0; row < height; ++row)
    std::memmove(static_cast<char *>(to) + row * to_pitch, static_cast<const char *>(from) + row * from_pitch, width);
  return cudaSuccess;
}

cudaError_t fill_rows(void *to, size_t pitch, int value, size_t width, size_t height) {
  if (!width || !height) return cudaSuccess;
  if (width > pitch) return note(cudaErrorInvalidPitchValue);
  if (!to || !fits(to, extent(pitch, width, height))) return note(cudaErrorInvalidValue);
  for (size_t row = 0; row < height; ++row) std::memset(static_cast<char *>(to) + row * pitch, value, width);
  return cudaSuccess;
}

cudaError_t attributes_of(cudaPointerAttributes *attributes, const void *address) {
  if (!attributes) return note(cudaErrorInvalidValue);
  const std::lock_guard<std::mutex> lock(memory().mutex);
  const Found found = holding(address);
  void *same = const_cast<void *>(address);
  if (found == memory().allocations.end()) *attributes = {cudaMemoryTypeUnregistered, 0, nullptr, same};
  else *attributes = {found->second.type, 0, same, found->second.type == cudaMemoryTypeDevice ? nullptr : same};
  return cudaSuccess;
}

cudaError_t memory_left(size_t *left, size_t *total) {
  const std::lock_guard<std::mutex> lock(memory().mutex);
  *total = total_memory;
  *left = total_memory - memory().used;
  return cudaSuccess;
}

}  // namespace emulation
}  // namespace opwright
