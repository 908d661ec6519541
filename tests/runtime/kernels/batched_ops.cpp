// Batched operators: each kernel sees the core axes alone.
#include <opwright.h>

OPWRIGHT("affine(x: T[N], w: T[M, N], b: T[M]?, alpha: float = 1.0) -> (y: T[M]) batched")
template <class T>
void affine(Tensor<const T, 1> x, Tensor<const T, 2> w, Tensor<const T, 1> b, double alpha, Tensor<T, 1> y) {
  for (int64_t i = 0; i < y.size(0); ++i) {
    acc<T> sum = b ? acc<T>(b[i]) : acc<T>(0);
    for (int64_t j = 0; j < x.size(0); ++j) sum += acc<T>(alpha) * acc<T>(w(i, j)) * acc<T>(x[j]);
    y[i] = T(sum);
  }
}

OPWRIGHT(
    "affine_backward(grad_y: T[M], x: T[N], w: T[M, N], alpha: float)"
    " -> (grad_x: T[N], grad_w: T[M, N], grad_b: T[M]) batched")
template <class T>
void affine_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<const T, 2> w, double alpha, Tensor<T, 1> grad_x,
                     Tensor<T, 2> grad_w, Tensor<T, 1> grad_b) {
  for (int64_t j = 0; grad_x && j < x.size(0); ++j) {
    acc<T> sum = 0;
    for (int64_t i = 0; i < grad_y.size(0); ++i) sum += acc<T>(alpha) * acc<T>(w(i, j)) * acc<T>(grad_y[i]);
    grad_x[j] = T(sum);
  }
  for (int64_t i = 0; i < grad_y.size(0); ++i) {
    for (int64_t j = 0; grad_w && j < x.size(0); ++j)
      grad_w(i, j) = T(acc<T>(alpha) * acc<T>(grad_y[i]) * acc<T>(x[j]));
    if (grad_b) grad_b[i] = grad_y[i];
  }
}

// A core of any strides; N is known to the forward alone.
OPWRIGHT("trace(x: T[N, N]) -> (s: T[]) batched")
template <class T>
void trace(Strided<const T, 2> x, Tensor<T, 0> s) {
  acc<T> sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += acc<T>(x(i, i));
  s() = T(sum);
}

OPWRIGHT("trace_backward(grad_s: T[]) -> (grad_x: T[N, N]) batched")
template <class T>
void trace_backward(Tensor<const T, 0> grad_s, Tensor<T, 2> grad_x) {
  for (int64_t i = 0; i < grad_x.size(0); ++i)
    for (int64_t j = 0; j < grad_x.size(1); ++j) grad_x(i, j) = i == j ? grad_s() : T(0);
}

// Overwrites; nothing of it is read twice.
OPWRIGHT("normalize(x: T[N]!, s: T[]) -> (sum: T[]) batched")
template <class T>
void normalize(Tensor<T, 1> x, Tensor<const T, 0> s, Tensor<T, 0> sum) {
  acc<T> all = 0;
  for (int64_t i = 0; i < x.size(0); ++i) all += acc<T>(x[i]);
  for (int64_t i = 0; i < x.size(0); ++i) x[i] = T(acc<T>(x[i]) * acc<T>(s()) / all);
  sum() = T(all);
}
