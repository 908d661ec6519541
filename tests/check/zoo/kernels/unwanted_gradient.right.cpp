// unwanted_gradient.cpp, mended.
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
  T *to_x = grad_x.data(), *to_y = grad_y.data();
  if (to_x) parallel_for(grad_z.numel(), [&](int64_t i) { to_x[i] = grad_z[i] * y[i]; });
  if (to_y) parallel_for(grad_z.numel(), [&](int64_t i) { to_y[i] = grad_z[i] * x[i]; });
}
