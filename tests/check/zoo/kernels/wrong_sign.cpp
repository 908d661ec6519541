// Broken: the derivative of a cosine is minus a sine.
#include <opwright.h>

OPWRIGHT("cosine(x: T[...]) -> (y: T[...]) where T in (f32, f64)")
template <class T>
void cosine(Tensor<const T> x, Tensor<T> y) {
  parallel_for(y.numel(), [&](int64_t i) { y[i] = cos(x[i]); });
}

OPWRIGHT("cosine_backward(grad_y: T[...], x: T[...]) -> (grad_x: T[...]) where T in (f32, f64)")
template <class T>
void cosine_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<T> grad_x) {
  parallel_for(grad_x.numel(), [&](int64_t i) { grad_x[i] = grad_y[i] * sin(x[i]); });
}
