// nan_lost.cpp, mended.
#include <opwright.h>

OPWRIGHT("rectified(x: T[...]) -> (y: T[...]) where T in (f32, f64)")
template <class T>
void rectified(Tensor<const T> x, Tensor<T> y) {
  parallel_for(y.numel(), [&](int64_t i) { y[i] = x[i] < 0 ? T(0) : x[i]; });
}

OPWRIGHT("rectified_backward(grad_y: T[...], x: T[...]) -> (grad_x: T[...]) where T in (f32, f64)")
template <class T>
void rectified_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<T> grad_x) {
  parallel_for(grad_x.numel(), [&](int64_t i) { grad_x[i] = x[i] > 0 ? grad_y[i] : T(0); });
}
