// Sums and maxima that the compiler vectorises. It may not change the order of additions by itself, so it is changed
// here: 16 of them side by side.
#pragma once

#include <opwright.h>

constexpr int LANES = 16;

// The sum of term(0), ..., term(n - 1).
template <class A, class F>
A sum_of(int64_t n, const F &term) {
  A lanes[LANES] = {}, sum = 0;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; ++k) lanes[k] += A(term(i + k));
  for (; i < n; ++i) sum += A(term(i));
  for (int k = 0; k < LANES; ++k) sum += lanes[k];
  return sum;
}

// The largest of term(0), ..., term(n - 1) and `least`; NaN where one of them is.
template <class A, class F>
A most_of(int64_t n, A least, const F &term) {
  A lanes[LANES];
  for (int k = 0; k < LANES; ++k) lanes[k] = least;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; ++k) lanes[k] = max(lanes[k], A(term(i + k)));
  for (; i < n; ++i) lanes[0] = max(lanes[0], A(term(i)));
  for (int k = 1; k < LANES; ++k) lanes[0] = max(lanes[0], lanes[k]);
  return lanes[0];
}

// How many rows of this size a thread takes at least.
inline int64_t grain_of(int64_t elements) { return default_grain / (elements + 1) + 1; }
