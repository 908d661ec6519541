// What is known of memory that calls of the runtime API name, and of the device's heap: what kernels allocate by malloc and new.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace opwright::emulation {

// What is wrong with `bytes` bytes from `address` on, where they begin in an allocation or a tensor of the call; else "".
std::string misfit(const void *address, size_t bytes, bool writes);

// Whether it lies in memory of cudaMalloc, and isn't a multiple of `alignment`: that begins at multiples of all alignments.
bool misaligned(const void *address, size_t alignment);

// "the memory of cudaMalloc at main.cu:12" that the address lies in, or "".
std::string owner_of(const void *address);

// A block of the heap, also one that was freed and not given out again.
struct HeapBlock {
  uintptr_t low = 0;
  size_t bytes = 0;
  const char *call = "";          // "malloc" or "new"
  uintptr_t made = 0, freed = 0;  // the instructions behind the calls; 0: not freed
};

// Whether an address lies where the heap is.
bool in_device_heap(const void *address);

// The block at whose bytes or behind whose end `address` is; none where nothing was ever allocated.
bool heap_block_at(const void *address, HeapBlock *block);

// Sets how much kernels may have allocated at a time; false once one of them has called malloc or new.
bool limit_device_heap(size_t bytes);

// " at kernel.cu:12", the line of an instruction, or "".
std::string at_line(uintptr_t code);

}  // namespace opwright::emulation
