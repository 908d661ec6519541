// uninitialised_gradient.cpp, mended.
#include <opwright.h>

OPWRIGHT("without_first(x: T[N+1]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void without_first(Tensor<const T, 1> x, Tensor<T, 1> y) {
  parallel_for(y.numel(), [&](int64_t i) { y[i] = x[i + 1]; });
}

OPWRIGHT("without_first_backward(grad_y: T[N]) -> (grad_x: T[N+1]) where T in (f32, f64)")
template <class T>
void without_first_backward(Tensor<const T, 1> grad_y, Tensor<T, 1> grad_x) {
  grad_x[0] = 0;
  parallel_for(grad_y.numel(), [&](int64_t i) { grad_x[i + 1] = grad_y[i]; });
}
