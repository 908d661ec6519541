// What is known of memory that calls of the runtime API name.
#pragma once

#include <cstddef>
#include <string>

namespace opwright::emulation {

// What is wrong with `bytes` bytes from `address` on, where they begin in an allocation or a tensor of the call; else "".
std::string misfit(const void *address, size_t bytes, bool writes);

// Whether it lies in memory of cudaMalloc, and isn't a multiple of `alignment`: that begins at multiples of all alignments.
bool misaligned(const void *address, size_t alignment);

}  // namespace opwright::emulation
