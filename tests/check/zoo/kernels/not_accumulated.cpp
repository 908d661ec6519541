// Broken: a bias is added to every row, and only the last row's gradient reaches it.
#include <opwright.h>

OPWRIGHT("add_bias(x: T[B, N], bias: T[N]) -> (y: T[B, N]) where T in (f32, f64)")
template <class T>
void add_bias(Tensor<const T, 2> x, Tensor<const T, 1> bias, Tensor<T, 2> y) {
  for (int64_t b = 0; b < x.size(0); ++b)
    for (int64_t n = 0; n < x.size(1); ++n) y(b, n) = x(b, n) + bias[n];
}

OPWRIGHT("add_bias_backward(grad_y: T[B, N]) -> (grad_x: T[B, N], grad_bias: T[N]) where T in (f32, f64)")
template <class T>
void add_bias_backward(Tensor<const T, 2> grad_y, Tensor<T, 2> grad_x, Tensor<T, 1> grad_bias) {
  for (int64_t n = 0; grad_bias && n < grad_y.size(1); ++n) grad_bias[n] = 0;
  for (int64_t b = 0; b < grad_y.size(0); ++b)
    for (int64_t n = 0; n < grad_y.size(1); ++n) {
      if (grad_x) grad_x(b, n) = grad_y(b, n);
      if (grad_bias) grad_bias[n] = grad_y(b, n);
    }
}
