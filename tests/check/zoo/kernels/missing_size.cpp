// Broken: a mean's derivative lacks 1/N.
#include <opwright.h>

OPWRIGHT("row_means(x: T[B, N]) -> (y: T[B]) where T in (f32, f64)")
template <class T>
void row_means(Tensor<const T, 2> x, Tensor<T, 1> y) {
  for (int64_t b = 0; b < x.size(0); ++b) {
    T sum = 0;
    for (int64_t n = 0; n < x.size(1); ++n) sum += x(b, n);
    y[b] = sum / x.size(1);
  }
}

OPWRIGHT("row_means_backward(grad_y: T[B]) -> (grad_x: T[B, N]) where T in (f32, f64)")
template <class T>
void row_means_backward(Tensor<const T, 1> grad_y, Tensor<T, 2> grad_x) {
  for (int64_t b = 0; b < grad_x.size(0); ++b)
    for (int64_t n = 0; n < grad_x.size(1); ++n) grad_x(b, n) = grad_y[b];
}
