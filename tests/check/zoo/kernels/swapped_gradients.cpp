// Broken: each factor gets the other one's gradient.
#include <opwright.h>

OPWRIGHT("product(x: T[...], y: T[...]) -> (z: T[...]) where T in (f32, f64)")
template <class T>
void product(Tensor<const T> x, Tensor<const T> y, Tensor<T> z) {
  parallel_for(z.numel(), [&](int64_t i) { z[i] = x[i] * y[i]; });
}

OPWRIGHT("product_backward(grad_z: T[...], x: T[...], y: T[...]) -> (grad_x: T[...], grad_y: T[...])"
         " where T in (f32, f64)")
template <class T>
void product_backward(Tensor<const T> grad_z, Tensor<const T> x, Tensor<const T> y, Tensor<T> grad_x, Tensor<T> grad_y) {
  if (grad_x) parallel_for(grad_x.numel(), [&](int64_t i) { grad_x[i] = grad_z[i] * x[i]; });
  if (grad_y) parallel_for(grad_y.numel(), [&](int64_t i) { grad_y[i] = grad_z[i] * y[i]; });
}
