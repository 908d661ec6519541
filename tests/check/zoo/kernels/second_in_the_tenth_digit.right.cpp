// second_in_the_tenth_digit.cpp, mended.
#include <opwright.h>

OPWRIGHT("power(x: T[...]) -> (y: T[...]) where T in (f32, f64)")
template <class T>
void power(Tensor<const T> x, Tensor<T> y) {
  parallel_for(y.numel(), [&](int64_t i) { y[i] = x[i] * x[i] * x[i]; });
}

OPWRIGHT("power_backward(grad_y: T[...], x: T[...]) -> (grad_x: T[...]) where T in (f32, f64)")
template <class T>
void power_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<T> grad_x) {
  parallel_for(grad_x.numel(), [&](int64_t i) { grad_x[i] = 3 * grad_y[i] * x[i] * x[i]; });
}

OPWRIGHT("power_backward_backward(grad_grad_x: T[...], grad_y: T[...], x: T[...]) -> (grad_grad_y: T[...], grad_x: T[...])"
         " where T in (f32, f64)")
template <class T>
void power_backward_backward(Tensor<const T> grad_grad_x, Tensor<const T> grad_y, Tensor<const T> x, Tensor<T> grad_grad_y,
                            Tensor<T> grad_x) {
  if (grad_grad_y) parallel_for(x.numel(), [&](int64_t i) { grad_grad_y[i] = 3 * grad_grad_x[i] * x[i] * x[i]; });
  if (grad_x) parallel_for(x.numel(), [&](int64_t i) { grad_x[i] = 6 * grad_grad_x[i] * grad_y[i] * x[i]; });
}
