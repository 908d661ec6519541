// What deform_conv samples: for the CPU and for CUDA.
#pragma once

#include <opwright.h>

// Where a tap of the kernel reads: four pixels, how much of each, and how that changes as the tap moves down or right.
// Pixels outside of the image count as zeros.
template <class T>
struct Tap {
  int32_t at[4];
  T part[4], by_y[4], by_x[4];
};

// floor and min are called by their full names: a C library's own are for its own types.
template <class T>
OPWRIGHT_HOST_DEVICE Tap<T> tap_at(T y, T x, int64_t H, int64_t W) {
  Tap<T> tap = {};
  if (!(y > -1 && y < T(H) && x > -1 && x < T(W))) return tap;  // NaN is outside
  const int64_t top = int64_t(opwright::floor(y)), left = int64_t(opwright::floor(x));
  const T down = y - T(top), over = x - T(left);
  for (int i = 0; i < 4; ++i) {
    const int64_t row = top + i / 2, column = left + i % 2;
    if (row < 0 || row >= H || column < 0 || column >= W) continue;
    const T of_row = i / 2 ? down : 1 - down, of_column = i % 2 ? over : 1 - over;
    tap.at[i] = int32_t(row * W + column), tap.part[i] = of_row * of_column;
    tap.by_y[i] = i / 2 ? of_column : -of_column, tap.by_x[i] = i % 2 ? of_row : -of_row;
  }
  return tap;
}

template <class T>
OPWRIGHT_HOST_DEVICE T dot(const int32_t *at, const T *parts, const T *image) {
  T sum = 0;
  for (int i = 0; i < 4; ++i) sum += parts[i] * image[at[i]];
  return sum;
}
