// Broken: the backward computes in the memory of what was saved for it.
#include <opwright.h>

OPWRIGHT("exponential(x: T[...]) -> (y: T[...]) where T in (f32, f64)")
template <class T>
void exponential(Tensor<const T> x, Tensor<T> y) {
  parallel_for(y.numel(), [&](int64_t i) { y[i] = exp(x[i]); });
}

OPWRIGHT("exponential_backward(grad_y: T[...], y: T[...]) -> (grad_x: T[...]) where T in (f32, f64)")
template <class T>
void exponential_backward(Tensor<const T> grad_y, Tensor<const T> y, Tensor<T> grad_x) {
  parallel_for(grad_x.numel(), [&](int64_t i) { const_cast<T &>(y[i]) *= grad_y[i], grad_x[i] = y[i]; });
}
