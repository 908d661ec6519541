// CUDA's device heap. Emulated code calls these functions in place of malloc, free, new and delete (identifiers.py): a kernel's
// memory comes from here, the host's from the C++ library.

#include <opwright/emulation/fault.h>
#include <opwright/emulation/forks.h>
#include <opwright/emulation/hooks.h>
#include <opwright/emulation/host_memory.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <new>
#include <string>

#include "allocations.h"
#include "work.h"

namespace opwright::emulation {
namespace {

constexpr size_t unit = 16;  // CUDA's alignment of malloc
// Before the first block and behind the last one: a kernel that goes a little too far meets no fault, as on a GPU.
constexpr size_t page = 4096;
// Behind each block, so that the checker can tell the next one's from what is beyond the end.
constexpr size_t margin = 16;
// Freed blocks of a size that aren't given out again: who still uses them meets memory that is known to be freed.
constexpr size_t kept_freed = 32;
constexpr size_t most_reserved = size_t(1) << 36, least_reserved = size_t(1) << 26;  // address space only
// What nobody has written, as in memory of cudaMalloc.
constexpr int unwritten = 0xff;

struct Block {
  HeapBlock is;
  uintptr_t room_low;
  size_t room;
};

struct Heap {
  Mutex<> mutex;
  std::map<uintptr_t, Block> blocks;          // by where they begin, the freed ones, too
  std::map<size_t, std::deque<Block>> freed;  // by their room, the oldest first
  uintptr_t next = 0, end = 0;                // of the address space
  size_t used = 0, limit = size_t(8) << 20;
};

std::atomic<uintptr_t> heap_low{0}, heap_bytes{0};  // from the first allocation on
Lasting<Heap> the_heap;

bool reserve(Heap &heap) {
  for (size_t bytes = most_reserved; bytes >= least_reserved; bytes /= 2) {
    void *made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) continue;
    heap_low = reinterpret_cast<uintptr_t>(made), heap_bytes = bytes;
    heap.next = heap_low + page, heap.end = heap_low + bytes - page;
    return true;
  }
  return false;
}

// A few sizes for each power of two: what is freed fits others.
size_t rounded(size_t bytes) {
  size_t step = unit;
  while (step * 8 < bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

// Room for that many bytes, of a freed block or new; the heap is locked.
bool take(Heap &heap, size_t room, Block &block) {
  auto &old = heap.freed[room];
  const bool full = heap.end - heap.next < room;
  if (old.size() > kept_freed || (full && !old.empty())) {
    block = old.front();
    old.pop_front();
    heap.blocks.erase(block.is.low);
    return true;
  }
  if (full) return false;
  block.room_low = heap.next, block.room = room;
  heap.next += room;
  return true;
}

void *allocated(const char *call, size_t bytes, size_t alignment, bool zeroed, uintptr_t code) {
  Heap &heap = *the_heap;
  Block block;
  {
    const std::lock_guard lock(heap.mutex);
    if (!heap_bytes && !reserve(heap)) return nullptr;
    const size_t aligned = alignment > unit ? alignment : 0;
    if (bytes > heap.limit || aligned > heap.limit) return nullptr;
    const size_t room = rounded(bytes + aligned + margin);
    if (room > heap.limit - std::min(heap.used, heap.limit) || !take(heap, room, block)) return nullptr;
    heap.used += room;
    const uintptr_t low = aligned ? (block.room_low + aligned - 1) / aligned * aligned : block.room_low;
    block.is = {low, bytes, call, code, 0};
    heap.blocks[low] = block;
  }
  void *const memory = reinterpret_cast<void *>(block.is.low);
  std::memset(memory, zeroed ? 0 : unwritten, bytes);
  if (hooks() && hooks()->heap_allocated) hooks()->heap_allocated(memory, bytes, call, zeroed, code);
  return memory;
}

// What is wrong with giving `memory` back, and whose it is; "" where a block begins there that isn't freed.
std::string wrong(const void *memory, std::string &found) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(memory);
  HeapBlock block;
  if (!in_device_heap(memory)) {
    const std::string owner = owner_of(memory);
    found = "got: " + (owner.empty() ? "a pointer to the host's memory, or none at all" : owner);
    return "free of memory that no kernel has allocated";
  }
  if (!heap_block_at(memory, &block)) {
    found = "got: an address of the device's heap that was never given out";
    return "free of memory that no kernel has allocated";
  }
  const std::string size = std::to_string(block.bytes) + " bytes of " + block.call;
  if (block.freed) {
    found = "got: a pointer to " + size + " that was freed before" + at_line(block.freed);
    return "memory is freed twice";
  }
  if (block.low == at) return "";
  found = "got: a pointer to byte " + std::to_string(at - block.low) + " of " + size + at_line(block.made);
  return "free of a pointer that malloc hasn't returned";
}

bool mark_freed(const void *memory, uintptr_t code) {
  Heap &heap = *the_heap;
  const std::lock_guard lock(heap.mutex);
  const auto found = heap.blocks.find(reinterpret_cast<uintptr_t>(memory));
  if (found == heap.blocks.end() || found->second.is.freed) return false;
  found->second.is.freed = code;
  heap.used -= found->second.room;
  heap.freed[found->second.room].push_back(found->second);
  return true;
}

void refuse_free(const std::string &what, const std::string &found, uintptr_t code) {
  const char *const fix =
      "free in a kernel, once, what malloc or new in a kernel has returned; cudaFree is for cudaMalloc";
  if (hooks() && hooks()->heap_misused) return hooks()->heap_misused(what, found, fix, code);
  fault("memory", (what + " in a kernel\n  " + found + "\n  likely fix: " + fix).c_str());
}

// Whether that was a kernel's affair; else the C++ library frees it.
bool given_back(void *memory, uintptr_t code) {
  if (!memory) return true;
  std::string found;
  if (!inside_kernel()) {
    if (!in_device_heap(memory)) return false;
    const std::string text = "the host frees memory that a kernel has allocated" + at_line(code) +
                             "\n  likely fix: free it, or delete it, in a kernel";
    if (hooks() && hooks()->host_misused) hooks()->host_misused(text);
    else if (in_program()) end_program(text.c_str());
    else std::fprintf(stderr, "opwright: error: %s\n", text.c_str());
    return true;
  }
  const std::string what = wrong(memory, found);
  if (!what.empty()) {
    // The host's memory may be of an argument's copy that the emulator lets go of: code of no author's.
    if (!in_device_heap(memory) && owner_of(memory).empty() && at_line(code).empty()) return false;
    refuse_free(what, found, code);
    return true;
  }
  if (hooks() && hooks()->heap_freed) hooks()->heap_freed(memory, code);
  if (!mark_freed(memory, code)) refuse_free(wrong(memory, found), found, code);  // by two threads at once
  return true;
}

}  // namespace

bool in_device_heap(const void *address) { return reinterpret_cast<uintptr_t>(address) - heap_low < heap_bytes; }

bool heap_block_at(const void *address, HeapBlock *block) {
  if (!in_device_heap(address)) return false;
  Heap &heap = *the_heap;
  const std::lock_guard lock(heap.mutex);
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  auto found = heap.blocks.upper_bound(at);
  if (found == heap.blocks.begin()) return false;
  --found;
  if (at >= found->second.room_low + found->second.room) return false;
  *block = found->second.is;
  return true;
}

void *host_memory(size_t bytes) { return std::malloc(bytes); }
void free_host_memory(void *memory) { std::free(memory); }

bool limit_device_heap(size_t bytes) {
  Heap &heap = *the_heap;
  const std::lock_guard lock(heap.mutex);
  if (heap_bytes && bytes != heap.limit) return false;
  heap.limit = bytes;
  return true;
}

std::string at_line(uintptr_t code) {
  const std::string text = code && hooks() && hooks()->source_of ? hooks()->source_of(code) : "";
  return text.empty() ? "" : " at " + text.substr(0, text.find('\n'));
}

}  // namespace opwright::emulation

using namespace opwright::emulation;

#define CODE reinterpret_cast<uintptr_t>(__builtin_return_address(0))
#define HEAP(type) extern "C" OPWRIGHT_EMULATION_API type

HEAP(void *) opwright_emulation_malloc(size_t bytes) {
  return inside_kernel() ? allocated("malloc", bytes, 0, false, CODE) : std::malloc(bytes);
}
HEAP(void *) opwright_emulation_calloc(size_t count, size_t bytes) {
  if (!inside_kernel()) return std::calloc(count, bytes);
  size_t all;
  return __builtin_mul_overflow(count, bytes, &all) ? nullptr : allocated("malloc", all, 0, true, CODE);
}
HEAP(void) opwright_emulation_free(void *memory) {
  if (!given_back(memory, CODE)) std::free(memory);
}

// `name` as the compiler calls it, its parameters behind the bytes, and what the C++ library's function gets there.
#define NEW(name, alignment, parameters, ...)                                                                 \
  HEAP(void *) opwright_emulation_Znw##name parameters {                                                      \
    return inside_kernel() ? allocated("new", bytes, alignment, false, CODE) : ::operator new(__VA_ARGS__);   \
  }                                                                                                           \
  HEAP(void *) opwright_emulation_Zna##name parameters {                                                      \
    return inside_kernel() ? allocated("new", bytes, alignment, false, CODE) : ::operator new[](__VA_ARGS__); \
  }
#define DELETE(name, parameters, ...)                                \
  HEAP(void) opwright_emulation_Zdl##name parameters {               \
    if (!given_back(memory, CODE)) ::operator delete(__VA_ARGS__);   \
  }                                                                  \
  HEAP(void) opwright_emulation_Zda##name parameters {               \
    if (!given_back(memory, CODE)) ::operator delete[](__VA_ARGS__); \
  }
NEW(m, 0, (size_t bytes), bytes)
NEW(mRKSt9nothrow_t, 0, (size_t bytes, const std::nothrow_t &none), bytes, none)
NEW(mSt11align_val_t, size_t(at), (size_t bytes, std::align_val_t at), bytes, at)
NEW(mSt11align_val_tRKSt9nothrow_t, size_t(at), (size_t bytes, std::align_val_t at, const std::nothrow_t &none), bytes,
    at, none)
DELETE(Pv, (void *memory), memory)
DELETE(Pvm, (void *memory, size_t bytes), memory, bytes)
DELETE(PvRKSt9nothrow_t, (void *memory, const std::nothrow_t &none), memory, none)
DELETE(PvSt11align_val_t, (void *memory, std::align_val_t at), memory, at)
DELETE(PvmSt11align_val_t, (void *memory, size_t bytes, std::align_val_t at), memory, bytes, at)
DELETE(PvSt11align_val_tRKSt9nothrow_t, (void *memory, std::align_val_t at, const std::nothrow_t &none), memory, at,
       none)
