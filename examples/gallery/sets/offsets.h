// Rows in groups: group s has the rows offsets[s] to offsets[s + 1] - 1. Rows before the first group and after the last
// one belong to none.
#pragma once

#include <opwright.h>

// The CPU's kernels refuse offsets that descend. Those for CUDA trust them: with such offsets they give wrong numbers,
// no fault.
inline void check_ascending(Tensor<const int64_t, 1> offsets) {
  for (int64_t s = 1; s < offsets.numel(); ++s)
    OPWRIGHT_CHECK(offsets[s - 1] <= offsets[s], "offsets[", s, "] is ", offsets[s], ", expected at least offsets[",
                   s - 1, "] = ", offsets[s - 1], ": offsets must not descend");
}

// The group of a row, -1 if there is none: the last one that begins at the row or before it.
inline OPWRIGHT_HOST_DEVICE int64_t group_of(Tensor<const int64_t, 1> offsets, int64_t row) {
  int64_t low = 0, high = offsets.numel();
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (offsets[middle] <= row) low = middle + 1;
    else high = middle;
  }
  return low < offsets.numel() ? low - 1 : -1;
}
