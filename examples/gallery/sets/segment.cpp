#include "../sums.h"
#include "offsets.h"

// The sum of the rows of each segment.
OPWRIGHT("segment_sum(x: T[N, C], offsets: i64[S + 1] in [0, N]) -> (y: T[S, C]) independent C")
template <class T>
void segment_sum(Tensor<const T, 2> x, Tensor<const int64_t, 1> offsets, Tensor<T, 2> y, int64_t S, int64_t C) {
  check_ascending(offsets);
  parallel_for(S, grain_of(x.numel() / (S + 1)), [&](int64_t begin, int64_t end) {
    Workspace<acc<T>> sums(C);
    for (int64_t s = begin; s < end; ++s) {
      for (int64_t c = 0; c < C; ++c) sums[c] = 0;
      for (int64_t n = offsets[s]; n < offsets[s + 1]; ++n)
        for (int64_t c = 0; c < C; ++c) sums[c] += acc<T>(x(n, c));
      for (int64_t c = 0; c < C; ++c) y(s, c) = T(sums[c]);
    }
  });
}

OPWRIGHT("segment_sum_backward(grad_y: T[S, C], offsets: i64[S + 1] in [0, N]) -> (grad_x: T[N, C]) independent C")
template <class T>
void segment_sum_backward(Tensor<const T, 2> grad_y, Tensor<const int64_t, 1> offsets, Tensor<T, 2> grad_x, int64_t N,
                          int64_t C) {
  check_ascending(offsets);
  parallel_for(N, grain_of(C), [&](int64_t n) {
    const int64_t s = group_of(offsets, n);
    for (int64_t c = 0; c < C; ++c) grad_x(n, c) = s < 0 ? T(0) : grad_y(s, c);
  });
}

// exp(x) divided by its sum over the rows of the same segment; zero in rows of none.
OPWRIGHT("segment_softmax(x: T[N, C], offsets: i64[S + 1] in [0, N]) -> (y: T[N, C]) independent C")
template <class T>
void segment_softmax(Tensor<const T, 2> x, Tensor<const int64_t, 1> offsets, Tensor<T, 2> y, int64_t N, int64_t S,
                     int64_t C) {
  using A = acc<T>;
  check_ascending(offsets);
  parallel_for(offsets[0] * C, [&](int64_t i) { y.flat(i) = T(0); });
  parallel_for((N - offsets[S]) * C, [&](int64_t i) { y.flat(offsets[S] * C + i) = T(0); });
  parallel_for(S, grain_of(8 * x.numel() / (S + 1)), [&](int64_t begin, int64_t end) {
    Workspace<A> most(C), sums(C), weights((offsets[end] - offsets[begin]) * C);
    for (int64_t s = begin; s < end; ++s) {
      const int64_t first = offsets[s], last = offsets[s + 1];
      A *const w = weights.data() + (first - offsets[begin]) * C;
      for (int64_t c = 0; c < C; ++c) most[c] = -A(INFINITY), sums[c] = 0;
      for (int64_t n = first; n < last; ++n)
        for (int64_t c = 0; c < C; ++c) most[c] = max(most[c], A(x(n, c)));
      for (int64_t n = first; n < last; ++n)
        for (int64_t c = 0; c < C; ++c) sums[c] += w[(n - first) * C + c] = exp(A(x(n, c)) - most[c]);
      for (int64_t n = first; n < last; ++n)
        for (int64_t c = 0; c < C; ++c) y(n, c) = T(w[(n - first) * C + c] / sums[c]);
    }
  });
}

OPWRIGHT(
    "segment_softmax_backward(grad_y: T[N, C], y: T[N, C], offsets: i64[S + 1] in [0, N]) -> (grad_x: T[N, C]) "
    "independent C")
template <class T>
void segment_softmax_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> y, Tensor<const int64_t, 1> offsets,
                              Tensor<T, 2> grad_x, int64_t N, int64_t S, int64_t C) {
  using A = acc<T>;
  check_ascending(offsets);
  parallel_for(offsets[0] * C, [&](int64_t i) { grad_x.flat(i) = T(0); });
  parallel_for((N - offsets[S]) * C, [&](int64_t i) { grad_x.flat(offsets[S] * C + i) = T(0); });
  parallel_for(S, grain_of(4 * y.numel() / (S + 1)), [&](int64_t begin, int64_t end) {
    Workspace<A> mean(C);
    for (int64_t s = begin; s < end; ++s) {
      for (int64_t c = 0; c < C; ++c) mean[c] = 0;
      for (int64_t n = offsets[s]; n < offsets[s + 1]; ++n)
        for (int64_t c = 0; c < C; ++c) mean[c] += A(grad_y(n, c)) * A(y(n, c));
      for (int64_t n = offsets[s]; n < offsets[s + 1]; ++n)
        for (int64_t c = 0; c < C; ++c) grad_x(n, c) = T(A(y(n, c)) * (A(grad_y(n, c)) - mean[c]));
    }
  });
}
