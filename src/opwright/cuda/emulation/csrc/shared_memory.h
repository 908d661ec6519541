// Where shared memory lies within an arena, and how much of it a block may have (as on a GPU of today).
#pragma once

#include <cstddef>

namespace opwright::emulation {

constexpr size_t shared_begin = size_t(256) << 10, most_fixed = size_t(64) << 10, most_dynamic = size_t(227) << 10;
constexpr size_t red_zone = 64;  // between two variables, for the checker
constexpr size_t most_times = 2;

size_t shared_times();  // how much larger than a GPU's numbers those of this OS thread's launches are: a tape's, twice
size_t allowed_shared();  // bytes of dynamic shared memory that a launch may ask for (api_device.cpp)
size_t declarations();    // so far, in all libraries of this process

}  // namespace opwright::emulation
