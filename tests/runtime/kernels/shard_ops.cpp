// Operators for tests of DTensor beside those of mapped_ops.cpp.
#include <opwright.h>

OPWRIGHT("curve(x: T, y: T) -> (z: T) where T in (f64)")
template <class T>
T curve(T x, T y) {
  return x * tanh(y);
}

OPWRIGHT("norm(x: T[D], w: T[D]) -> (y: T[D]) where T in (f64) batched derived")
template <class T>
void norm(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  T sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += x[i] * x[i];
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] / sqrt(sum) * w[i];
}

OPWRIGHT("spread(x: T[N, M], w: T[M]) -> (y: T[N, M]; sum: T[N], all: T[M]) where T in (f64) independent N")
template <class T>
void spread(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 2> y, Tensor<T, 1> sum, Tensor<T, 1> all) {
  for (int64_t j = 0; all && j < w.size(0); ++j) all[j] = 0;
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (sum) sum[i] = 0;
    for (int64_t j = 0; j < w.size(0); ++j) {
      y(i, j) = x(i, j) * w[j];
      if (sum) sum[i] += x(i, j);
      if (all) all[j] += x(i, j);
    }
  }
}

// The gradient of x only from what is sharded with it; that of w from the residual that is a sum already.
OPWRIGHT("spread_backward(grad_y: T[N, M], x: T[N, M], w: T[M], sum: T[N]) -> (grad_x: T[N, M], grad_w: T[M]) "
         "independent N")
template <class T>
void spread_backward(Tensor<const T, 2> g, Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<const T, 1> sum,
                     Tensor<T, 2> grad_x, Tensor<T, 1> grad_w) {
  for (int64_t j = 0; grad_w && j < w.size(0); ++j) grad_w[j] = 0;
  for (int64_t i = 0; i < g.size(0); ++i) {
    T rest = sum[i];
    for (int64_t j = 0; j < w.size(0); ++j) rest -= x(i, j);
    for (int64_t j = 0; j < w.size(0); ++j) {
      if (grad_x) grad_x(i, j) = g(i, j) * w[j] + (abs(rest) > 1e-9 ? T(1) : T(0));  // the residual of another shard
      if (grad_w) grad_w[j] += g(i, j) * x(i, j);
    }
  }
}

OPWRIGHT("add_to(x: f64[N, M]!, y: f64[M]) independent N")
void add_to(Tensor<double, 2> x, Tensor<const double, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < y.size(0); ++j) x(i, j) += y[j];
}

OPWRIGHT("noise(x: f64[N], rng: generator(2)) -> (y: f64[N])")
void noise(Tensor<const double, 1> x, Tensor<double, 1> y, Generator rng) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    auto numbers = rng[i];
    y[i] = x[i] + numbers.uniform<double>();
  }
}
