// constant_factor.cpp, mended.
#include <opwright.h>

OPWRIGHT("squared(x: T[...]) -> (y: T[...]) where T in (f32, f64)")
template <class T>
void squared(Tensor<const T> x, Tensor<T> y) {
  parallel_for(y.numel(), [&](int64_t i) { y[i] = x[i] * x[i]; });
}

OPWRIGHT("squared_backward(grad_y: T[...], x: T[...]) -> (grad_x: T[...]) where T in (f32, f64)")
template <class T>
void squared_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<T> grad_x) {
  parallel_for(grad_x.numel(), [&](int64_t i) { grad_x[i] = 2 * grad_y[i] * x[i]; });
}
