// Broken: rows of one element are taken for normalised already.
#include <opwright.h>
#include <limits>

OPWRIGHT("softmax(x: T[B, N]) -> (y: T[B, N]) where T in (f32, f64)")
template <class T>
void softmax(Tensor<const T, 2> x, Tensor<T, 2> y) {
  for (int64_t b = 0; b < x.size(0); ++b) {
    T most = -std::numeric_limits<T>::infinity(), sum = 0;
    for (int64_t n = 0; n < x.size(1); ++n) most = !(x(b, n) <= most) ? x(b, n) : most;
    for (int64_t n = 0; n < x.size(1); ++n) sum += y(b, n) = exp(x(b, n) - most);
    for (int64_t n = 0; n < x.size(1); ++n) y(b, n) = x.size(1) == 1 ? x(b, n) : y(b, n) / sum;
  }
}

OPWRIGHT("softmax_backward(grad_y: T[B, N], y: T[B, N]) -> (grad_x: T[B, N]) where T in (f32, f64)")
template <class T>
void softmax_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> y, Tensor<T, 2> grad_x) {
  for (int64_t b = 0; b < y.size(0); ++b) {
    T dot = 0;
    for (int64_t n = 0; n < y.size(1); ++n) dot += grad_y(b, n) * y(b, n);
    for (int64_t n = 0; n < y.size(1); ++n) grad_x(b, n) = y(b, n) * (grad_y(b, n) - dot);
  }
}
