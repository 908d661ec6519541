// Operators with alternatives: by rank, by element type, by both; handwritten and derived gradients, variants, residuals.
#include <opwright.h>

#include <cmath>

/// Doubles a row.
OPWRIGHT("blur(x: T[N], by: float = 2.0) -> (y: T[N]) where T in (f32, f64) flops: N")
template <class T>
void blur(Tensor<const T, 1> x, double by, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = T(by) * x[i];
}

/// Adds the sum of each row; the residual is the sums.
OPWRIGHT("blur(x: T[N, M], by: float = 2.0) -> (y: T[N, M]; sums: T[N]) where T in (f32, f64) flops: 3*N*M")
template <class T>
void blur(Tensor<const T, 2> x, double by, Tensor<T, 2> y, Tensor<T, 1> sums) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    T sum = 0;
    for (int64_t j = 0; j < x.size(1); ++j) sum += x(i, j);
    for (int64_t j = 0; j < x.size(1); ++j) y(i, j) = T(by) * x(i, j) * sum;
    if (sums) sums[i] = sum;
  }
}

OPWRIGHT("blur_backward(grad_y: T[N, M], x: T[N, M], sums: T[N], grad_sums: T[N]?, by: float) -> (grad_x: T[N, M])")
template <class T>
void blur_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> x, Tensor<const T, 1> sums,
                   Tensor<const T, 1> grad_sums, double by, Tensor<T, 2> grad_x) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    T dot = grad_sums ? grad_sums[i] : T(0);
    for (int64_t j = 0; j < x.size(1); ++j) dot += T(by) * grad_y(i, j) * x(i, j);
    for (int64_t j = 0; j < x.size(1); ++j) grad_x(i, j) = T(by) * grad_y(i, j) * sums[i] + dot;
  }
}

OPWRIGHT("blur_backward(grad_y: T[N], by: float) -> (grad_x: T[N])")
template <class T>
void blur_backward(Tensor<const T, 1> grad_y, double by, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_y.size(0); ++i) grad_x[i] = T(by) * grad_y[i];
}

// By element type, pointwise: the gradient of the first is derived.
OPWRIGHT("step(x: T, y: T) -> (z: T) where T in (f32, f64) variants: out, inplace")
template <class T>
T step(T x, T y) { return x * tanh(y); }

OPWRIGHT("step(x: i64, y: i64) -> (z: i64) variants: out, inplace")
int64_t step(int64_t x, int64_t y) { return x + y; }

// By element type, with axes, the backward of the first derived; the rank decides between the first and the third.
OPWRIGHT("total(x: T[N], w: T[N]?) -> (y: T[]) where T in (f32, f64) derived")
template <class T>
void total(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T> y) {
  T sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += w ? w[i] * x[i] * x[i] : x[i] * x[i];
  y[0] = sum;
}

OPWRIGHT("total(x: i64[N], w: i64[N]?) -> (y: i64[])")
void total(Tensor<const int64_t, 1> x, Tensor<const int64_t, 1> w, Tensor<int64_t> y) {
  y[0] = 0;
  for (int64_t i = 0; i < x.size(0); ++i) y[0] += w ? w[i] * x[i] : x[i];
}

OPWRIGHT("total(x: f64[..., N, M], w: f64[N]?) -> (y: f64[..., N])")
void total_of_rows(Tensor<const double> x, Tensor<const double, 1> w, Tensor<double> y) {
  const int64_t m = x.size(x.ndim() - 1);
  for (int64_t i = 0; i < y.numel(); ++i) {
    y[i] = 0;
    for (int64_t j = 0; j < m; ++j) y[i] += x.data()[i * m + j];
    if (w) y[i] *= w[i % w.size(0)];
  }
}
