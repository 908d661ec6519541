// Additions to elements that several threads share: by atomic_add, and in parts (Accumulate).
#include <opwright.h>

OPWRIGHT("counted(x: T[N], at: i64[N] in [0, M), M: int) -> (y: T[M]) where T in (f32, f64, f16, bf16, i8, u8, i16, i32, i64, u32)")
template <class T>
void counted(Tensor<const T, 1> x, Tensor<const int64_t, 1> at, int64_t M, Tensor<T, 1> y) {
  for (int64_t i = 0; i < M; ++i) y[i] = 0;
  parallel_for(x.size(0), 1, [&](int64_t i) {
    if (i % 2) atomic_add(y(at[i]), x[i]);
    else atomic_add(&y[at[i]], x[i]);
  });
}

OPWRIGHT("places(bins: i64[N] in [0, M), M: int) -> (at: i64[N], count: i64[M])")
void places(Tensor<const int64_t, 1> bins, int64_t M, Tensor<int64_t, 1> at, Tensor<int64_t, 1> count) {
  for (int64_t i = 0; i < M; ++i) count[i] = 0;
  parallel_for(bins.size(0), 1, [&](int64_t i) { at[i] = atomic_add(count[bins[i]], 1); });
}

OPWRIGHT("embedding(w: T[V, D], at: i64[N] in [0, V)) -> (y: T[N, D])")
template <class T>
void embedding(Tensor<const T, 2> w, Tensor<const int64_t, 1> at, Tensor<T, 2> y) {
  parallel_for(at.size(0), 64, [&](int64_t i) {
    for (int64_t j = 0; j < w.size(1); ++j) y(i, j) = w(at[i], j);
  });
}

OPWRIGHT("embedding_backward(grad_y: T[N, D], at: i64[N]) -> (grad_w: T[V, D])")
template <class T>
void embedding_backward(Tensor<const T, 2> grad_y, Tensor<const int64_t, 1> at, Tensor<T, 2> grad_w) {
  Accumulate sums(grad_w);
  sums.parallel_for(at.size(0), 64, [&](int64_t begin, int64_t end, auto part) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < part.size(1); ++j) part(at[i], j) += grad_y(i, j);
  });
}

OPWRIGHT("scaled(x: T[M, N], w: T[N], b: T[...]) -> (y: T[M, N])")
template <class T>
void scaled(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<const T> b, Tensor<T, 2> y) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) y(i, j) = x(i, j) * w[j] + b[0];
}

OPWRIGHT("scaled_backward(grad_y: T[M, N], x: T[M, N], w: T[N]) -> (grad_x: T[M, N], grad_w: T[N], grad_b: T[...])")
template <class T>
void scaled_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 2> grad_x,
                     Tensor<T, 1> grad_w, Tensor<T> grad_b) {
  Accumulate sums(grad_w, grad_b);
  sums.parallel_for(x.size(0), 1, [&](int64_t begin, int64_t end, auto part_w, auto part_b) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < x.size(1); ++j) {
        if (grad_x) grad_x(i, j) = grad_y(i, j) * w[j];
        if (part_w) part_w[j] += grad_y(i, j) * x(i, j);
        if (part_b) part_b[0] += grad_y(i, j);
      }
  });
}

OPWRIGHT("scatter_(x: T[M]!, at: i64[N] in [0, M), value: T[N], grain: int, fail: int) -> (pieces: i64[M])")
template <class T>
void scatter_(Tensor<T, 1> x, Tensor<const int64_t, 1> at, Tensor<const T, 1> value, int64_t grain, int64_t fail,
              Tensor<int64_t, 1> pieces) {
  for (int64_t i = 0; i < pieces.size(0); ++i) pieces[i] = 0;
  Accumulate(x).parallel_add(at.size(0), grain, [&](int64_t begin, int64_t end, auto part) {
    atomic_add(pieces[0], 1);
    for (int64_t i = begin; i < end; ++i) {
      OPWRIGHT_CHECK(i != fail, "index ", i);
      part[at[i]] += value[i];
    }
  });
}

OPWRIGHT("transposed(x: T[M, N], any: T[...]) -> (y: T[N, M], first: T[])")
template <class T>
void transposed(Tensor<const T> x, Tensor<const T> any, Tensor<T> y, Tensor<T, 0> first) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) y(j, i) = x(i, j);
  first() = any(0, 1);
}
