// Operators with an element type, or a device, as an argument.
#include <opwright.h>

OPWRIGHT("total(x: T[*A, D, *B], dim: axis(D) = -1, to: dtype(W) = T) -> (y: W[*A, *B]) where T in (f32, f64), W in (f32, f64)")
template <class T, class W>
void total(Strided<const T, 3> x, Tensor<W, 2> y) {
  for (int64_t a = 0; a < y.size(0); ++a)
    for (int64_t b = 0; b < y.size(1); ++b) {
      y(a, b) = 0;
      for (int64_t d = 0; d < x.size(1); ++d) y(a, b) += W(x(a, d, b));
    }
}

OPWRIGHT("total_backward(grad_y: W[*A, *B], x: T[*A, D, *B], dim: axis(D)) -> (grad_x: T[*A, D, *B])")
template <class W, class T>
void total_backward(Tensor<const W, 2> grad_y, Tensor<const T, 3> x, Tensor<T, 3> grad_x) {
  for (int64_t a = 0; a < x.size(0); ++a)
    for (int64_t d = 0; d < x.size(1); ++d)
      for (int64_t b = 0; b < x.size(2); ++b) grad_x(a, d, b) = T(grad_y(a, b));
}

OPWRIGHT("cast(x: T[N], to: dtype(W) = f32, on: device) -> (y: W[N]) where T in (f32, i64), W in (f32, i64, bool)")
template <class T, class W>
void cast(Tensor<const T, 1> x, Tensor<W, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = W(x[i]);
}

OPWRIGHT("rounded(x: T, to: dtype(W)) -> (y: W) where T in (f32, f64), W in (i32, i64)")
template <class T, class W>
W rounded(T x) {
  return W(x < 0 ? x - T(0.5) : x + T(0.5));
}

OPWRIGHT("grid(n: int, to: dtype(T) = i64, where: device, step: float = 1.0) -> (y: T[n]) where T in (i64, f64)")
template <class T>
void grid(int64_t n, double step, Tensor<T, 1> y) {
  for (int64_t i = 0; i < n; ++i) y[i] = T(i * step);
}

OPWRIGHT("pairs(n: int, to: dtype(W) = f64) -> (y: T[n], z: W[n]) where T in (f32, f64), W in (f32, f64)")
template <class T, class W>
void pairs(int64_t n, Tensor<T, 1> y, Tensor<W, 1> z) {
  for (int64_t i = 0; i < n; ++i) y[i] = T(i), z[i] = W(i) / 2;
}
