/* Rows of memory, one to a lane: element k of all rows is one vector, and back. */
#ifndef OPWRIGHT_LANE_ROWS_H
#define OPWRIGHT_LANE_ROWS_H

#include "lanes.h"

namespace opwright {
namespace detail {

#if defined(__GNUC__) && !defined(__clang__)
/* Which elements of two vectors, s apart in a square, make the first and the second of the pair that takes their place. */
template <class R, int W, int s>
struct Exchange {
  typename bits_of<R>::type first[W], second[W];
  constexpr Exchange() : first{}, second{} {
    for (int k = 0; k < W; ++k) first[k] = k & s ? W + k - s : k, second[k] = k & s ? W + k : k + s;
  }
};
template <class R, int W, int s>
OPWRIGHT_INLINE void exchange(typename Lanes<R, W>::Vector (&rows)[W]) {
  static constexpr Exchange<R, W, s> at;
  typename Mask<R, W>::Vector first, second;
  __builtin_memcpy(&first, at.first, sizeof(first)), __builtin_memcpy(&second, at.second, sizeof(second));
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) {
    if (i & s) continue;
    const auto a = rows[i], b = rows[i + s];
    rows[i] = __builtin_shuffle(a, b, first), rows[i + s] = __builtin_shuffle(a, b, second);
  }
  if constexpr (s > 1) exchange<R, W, s / 2>(rows);
}
#endif

/* Turns a square: by exchanging halves, quarters, ... of pairs of its vectors. */
template <class R, int W>
OPWRIGHT_INLINE void transpose(typename Lanes<R, W>::Vector (&rows)[W]) {
#if defined(__GNUC__) && !defined(__clang__)
  exchange<R, W, W / 2>(rows);
#else
  typename Lanes<R, W>::Vector turned[W];
  for (int i = 0; i < W; ++i)
    for (int k = 0; k < W; ++k) turned[i][k] = rows[k][i];
  for (int i = 0; i < W; ++i) rows[i] = turned[i];
#endif
}

/* Calls put(k, vector) for the n elements of W rows. */
template <class R, int W, class F>
void gather(const R *const *rows, int64_t n, const F &put) {
  using Vector = typename Lanes<R, W>::Vector;
  int64_t k = 0;
  for (; k + W <= n; k += W) {
    Vector square[W];
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) __builtin_memcpy(&square[i], rows[i] + k, sizeof(Vector));
    transpose<R, W>(square);
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) put(k + i, square[i]);
  }
  for (; k < n; ++k) {
    Vector one;
    for (int i = 0; i < W; ++i) one[i] = rows[i][k];
    put(k, one);
  }
}
/* Writes the n vectors get(k) to W rows. */
template <class R, int W, class F>
void scatter(R *const *rows, int64_t n, const F &get) {
  using Vector = typename Lanes<R, W>::Vector;
  int64_t k = 0;
  for (; k + W <= n; k += W) {
    Vector square[W];
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) square[i] = get(k + i);
    transpose<R, W>(square);
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) __builtin_memcpy(rows[i] + k, &square[i], sizeof(Vector));
  }
  for (; k < n; ++k) {
    const Vector one = get(k);
    for (int i = 0; i < W; ++i) rows[i][k] = one[i];
  }
}

}  // namespace detail
}  // namespace opwright
#endif
