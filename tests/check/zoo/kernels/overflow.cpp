// Broken: the exponential overflows long before the result would.
#include <opwright.h>

OPWRIGHT("softplus(x: T[...]) -> (y: T[...]) where T in (f32, f64)")
template <class T>
void softplus(Tensor<const T> x, Tensor<T> y) {
  parallel_for(y.numel(), [&](int64_t i) { y[i] = log(1 + exp(x[i])); });
}

OPWRIGHT("softplus_backward(grad_y: T[...], x: T[...]) -> (grad_x: T[...]) where T in (f32, f64)")
template <class T>
void softplus_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<T> grad_x) {
  parallel_for(grad_x.numel(), [&](int64_t i) { grad_x[i] = grad_y[i] / (1 + exp(-x[i])); });
}
