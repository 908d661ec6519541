// The runtime API's memory: every allocation is known, so that a wrong pointer or size is an error and no crash.
#include <opwright/emulation/cuda_api.h>
#include <opwright/emulation/forks.h>
#include <opwright/emulation/hooks.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "allocations.h"
#include "capture.h"
#include "lending.h"
#include "pages.h"
#include "work.h"

namespace opwright {
namespace emulation {
namespace {

constexpr size_t total_memory = size_t(16) << 30;

struct Allocation {
  size_t bytes;
  cudaMemoryType type;
  Called called;
  bool theirs = false;  // announced by another allocator, which frees it

  std::string name() const {
    if (!called.file) return called.name;
    std::string text = std::string("the memory of ") + called.name;
    return called.line ? text + " at " + called.file + ":" + std::to_string(called.line) : text;
  }
};

struct Memory {
  Mutex<> mutex;
  std::map<const char *, Allocation> allocations;
  size_t used = 0;

  size_t left() const { return total_memory - std::min(total_memory, used); }
};

// Never destroyed: a program's destructors may still free.
Memory &memory() {
  static Lasting<Memory> only;
  return *only;
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

std::string outside(const char *verb, size_t bytes, size_t at, const std::string &owner, size_t size) {
  return std::string(verb) + " " + std::to_string(bytes) + " bytes at byte " + std::to_string(at) + " of " + owner +
         ", which has " + std::to_string(size);
}

// A GPU says nothing of it. With a checker a kernel's access has ended the program before.
void warn_of_overrun(const char *made, const Allocation &of) {
  if (!in_program() || !overrun(made, of.bytes)) return;
  std::fflush(stdout);
  std::fprintf(stderr, "opwright: warning: something was written past the end of %s, which has %zu bytes: %s\n",
               of.name().c_str(), of.bytes,
               hooks() ? "by code that isn't checked, such as Thrust's or the host's" : how_to_check());
}

size_t extent(size_t pitch, size_t width, size_t height) { return height ? pitch * (height - 1) + width : 0; }

}  // namespace

std::string owner_of(const void *address) {
  const std::lock_guard lock(memory().mutex);
  const Found found = holding(address);
  return found == memory().allocations.end() ? "" : found->second.name();
}

std::string misfit(const void *address, size_t bytes, bool writes) {
  if (in_device_heap(address))
    return "memory of malloc or new in a kernel isn't for the host's calls: copy it in a kernel to memory of "
           "cudaMalloc";
  const char *verb = writes ? "it writes" : "it reads";
  {
    const std::lock_guard lock(memory().mutex);
    const Found found = holding(address);
    if (found != memory().allocations.end()) {
      const size_t at = size_t(static_cast<const char *>(address) - found->first), size = found->second.bytes;
      return bytes <= size - at ? "" : outside(verb, bytes, at, found->second.name(), size);
    }
  }
  const Lent *tensor = lent_at(address, bytes);
  if (!tensor) return "";
  const size_t at = reinterpret_cast<uintptr_t>(address) - tensor->low, size = tensor->high - tensor->low;
  if (bytes > size - at) return outside(verb, bytes, at, "tensor " + tensor->name, size);
  if (writes && hooks() && tensor->use == Use::read)
    return "it writes to tensor " + tensor->name + ", an input: the signature would say " + tensor->name + ": ...!";
  return "";
}

bool misaligned(const void *address, size_t alignment) {
  const std::lock_guard lock(memory().mutex);
  const Found found = holding(address);
  return found != memory().allocations.end() && !found->second.theirs &&
         reinterpret_cast<uintptr_t>(address) % alignment != 0;
}

size_t bytes_from(const void *address, size_t most) {
  {
    const std::lock_guard lock(memory().mutex);
    const Found found = holding(address);
    if (found != memory().allocations.end())
      return std::min(most, found->second.bytes - size_t(static_cast<const char *>(address) - found->first));
  }
  const Lent *tensor = lent_at(address, 0);
  return tensor ? std::min<size_t>(most, tensor->high - reinterpret_cast<uintptr_t>(address)) : most;
}

namespace {

// Whether memory may not be allocated or freed now.
bool no_memory_now(const Called &called, cudaError_t *error) {
  if (!called.async || !is_captured(called.stream)) return forbidden(called, false, error);
  refuse_call(called, "its stream is captured, and graphs that allocate or free memory aren't emulated");
  *error = cudaErrorNotSupported;
  return true;
}

// Whether a copy is one of a captured stream's, or may not be made now; one for which the host waits isn't.
bool in_capture(const Called &called, cudaGraphNodeType type, const NodeWork &again, cudaError_t *error) {
  if (called.async) return captured(called, type, again, error);
  return forbidden(called, true, error) || forbidden(called, false, error);
}

}  // namespace

cudaError_t allocate(void **result, size_t bytes, cudaMemoryType type, const Called &called) {
  if (!result) return note(cudaErrorInvalidValue, called, "the place for the pointer is null");
  *result = nullptr;
  if (!bytes) return cudaSuccess;
  cudaError_t error;
  if (captures && no_memory_now(called, &error)) return error;
  {
    const std::lock_guard lock(memory().mutex);
    const size_t left = memory().left();
    if (bytes > left)
      return note(
          cudaErrorMemoryAllocation, called,
          ("it asks for " + std::to_string(bytes) + " bytes, and " + std::to_string(left) + " are left").c_str());
  }
  char *made = map_pages(bytes);
  if (!made) return note(cudaErrorMemoryAllocation, called);
  std::memset(made, unwritten, bytes);
  {
    const std::lock_guard lock(memory().mutex);
    memory().allocations[made] = {bytes, type, called};
    memory().used += bytes;
  }
  if (hooks() && hooks()->device_allocated)
    hooks()->device_allocated(made, bytes, Allocation{bytes, type, called}.name().c_str(), type == cudaMemoryTypeDevice,
                              !called.file);
  *result = made;
  return cudaSuccess;
}

void warn_of_overruns() {
  const std::lock_guard lock(memory().mutex);
  for (const auto &[made, of] : memory().allocations)
    if (!of.theirs) warn_of_overrun(made, of);
}

cudaError_t release(void *address, bool host, const Called &called) {
  if (!address) return cudaSuccess;
  cudaError_t error;
  if (captures && no_memory_now(called, &error)) return error;
  if (in_device_heap(address))
    return note(cudaErrorInvalidValue, called, "the pointer is of malloc or new in a kernel: free it in a kernel");
  char *made = static_cast<char *>(address);
  Allocation of{};
  {
    const std::lock_guard lock(memory().mutex);
    const Found found = memory().allocations.find(made);
    if (found == memory().allocations.end() || (found->second.type == cudaMemoryTypeHost) != host)
      return note(cudaErrorInvalidValue, called,
                  host ? "the pointer isn't of cudaMallocHost or cudaHostAlloc, or was freed before"
                       : "the pointer isn't of cudaMalloc, or was freed before");
    if (found->second.theirs)
      return note(cudaErrorInvalidValue, called, ("the pointer is of " + found->second.name()).c_str());
    of = found->second;
    memory().used -= of.bytes;
    memory().allocations.erase(found);
  }
  if (hooks() && hooks()->device_freed)
    hooks()->device_freed(address, {called.name, called.file, called.line, called.stream, called.async});
  warn_of_overrun(made, of);
  unmap_pages(made, of.bytes);
  return cudaSuccess;
}

void announce(void *address, size_t bytes, cudaMemoryType type, const char *name) {
  const std::lock_guard lock(memory().mutex);
  memory().allocations[static_cast<const char *>(address)] = {bytes, type, {name, nullptr, 0}, true};
  if (type != cudaMemoryTypeHost) memory().used += bytes;
}

void withdraw(void *address) {
  const std::lock_guard lock(memory().mutex);
  const Found found = memory().allocations.find(static_cast<const char *>(address));
  if (found == memory().allocations.end() || !found->second.theirs) return;
  if (found->second.type != cudaMemoryTypeHost) memory().used -= found->second.bytes;
  memory().allocations.erase(found);
}

cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, const Called &called) {
  return copy_rows(to, bytes, from, bytes, bytes, 1, kind, called);
}

cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                      cudaMemcpyKind kind, const Called &called) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return note(cudaErrorInvalidMemcpyDirection, called);
  cudaError_t error;
  const auto again = [=](const Called &now) {
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, now);
  };
  if (captures && in_capture(called, cudaGraphNodeTypeMemcpy, again, &error)) return error;
  if (!width || !height) return cudaSuccess;
  if (width > to_pitch || width > from_pitch)
    return note(cudaErrorInvalidPitchValue, called, "a row is wider than its pitch");
  if (!to || !from)
    return note(cudaErrorInvalidValue, called,
                to ? "the source is a null pointer" : "the destination is a null pointer");
  std::string why = misfit(to, extent(to_pitch, width, height), true);
  if (why.empty()) why = misfit(from, extent(from_pitch, width, height), false);
  if (!why.empty()) return note(cudaErrorInvalidValue, called, why.c_str());
  for (size_t row = 0; row < height; ++row) {
    char *into = static_cast<char *>(to) + row * to_pitch;
    const char *of = static_cast<const char *>(from) + row * from_pitch;
    std::memmove(into, of, width);
    if (hooks() && hooks()->copied)
      hooks()->copied(into, of, width, {called.name, called.file, called.line, called.stream, called.async});
  }
  return cudaSuccess;
}

cudaError_t fill_rows(void *to, size_t pitch, int value, size_t width, size_t height, const Called &called,
                      size_t element) {
  cudaError_t error;
  const auto again = [=](const Called &now) { return fill_rows(to, pitch, value, width, height, now, element); };
  if (captures && in_capture(called, cudaGraphNodeTypeMemset, again, &error)) return error;
  if (!width || !height) return cudaSuccess;
  if (width > pitch) return note(cudaErrorInvalidPitchValue, called, "a row is wider than its pitch");
  if (!to) return note(cudaErrorInvalidValue, called, "the destination is a null pointer");
  const std::string why = misfit(to, extent(pitch, width, height), true);
  if (!why.empty()) return note(cudaErrorInvalidValue, called, why.c_str());
  for (size_t row = 0; row < height; ++row) {
    char *into = static_cast<char *>(to) + row * pitch;
    if (element == 1) std::memset(into, value, width);
    else
      for (size_t at = 0; at < width; at += element) std::memcpy(into + at, &value, element); /* its lowest bytes */
    if (hooks() && hooks()->copied)
      hooks()->copied(into, nullptr, width, {called.name, called.file, called.line, called.stream, called.async});
  }
  return cudaSuccess;
}

bool may_touch(const void *memory, size_t pitch, size_t width, size_t height, bool writes, const char *operand,
               const Called &called) {
  if (!width || !height) return true;
  if (host_work(called) != cudaSuccess) return false;
  const std::string why = memory ? misfit(memory, extent(pitch, width, height), writes) : "its place is a null pointer";
  if (why.empty()) {
    if (hooks() && hooks()->used)
      hooks()->used(memory, pitch, width, height, writes, operand,
                    {called.name, called.file, called.line, called.stream, true});
    return true;
  }
  const std::string text = std::string(operand) + ": " + why;
  if (in_program())
    end_program((std::string(called.file) + ":" + std::to_string(called.line) + ": " + called.name +
                 " goes out of bounds\n  got: " + text +
                 "\n  likely fix: compare the sizes and the leading dimensions with what was allocated")
                    .c_str());
  note(cudaErrorIllegalAddress, called, text.c_str());
  return false;
}

void refuse_call(const Called &called, const char *why) {
  note(cudaErrorNotSupported, called, why);
  if (!in_program() || hooks()) return; /* with a checker, `note` has said so */
  std::fflush(stdout);
  std::fprintf(stderr, "opwright: warning: %s:%d: %s can't be emulated: %s\n", called.file, called.line, called.name,
               why);
}

cudaError_t attributes_of(cudaPointerAttributes *attributes, const void *address) {
  if (!attributes) return note(cudaErrorInvalidValue);
  const std::lock_guard lock(memory().mutex);
  const Found found = holding(address);
  void *same = const_cast<void *>(address);
  if (found == memory().allocations.end()) *attributes = {cudaMemoryTypeUnregistered, 0, nullptr, same};
  else *attributes = {found->second.type, 0, same, found->second.type == cudaMemoryTypeDevice ? nullptr : same};
  return cudaSuccess;
}

cudaError_t memory_left(size_t *left, size_t *total) {
  const std::lock_guard lock(memory().mutex);
  *total = total_memory;
  *left = memory().left();
  return cudaSuccess;
}

}  // namespace emulation
}  // namespace opwright
