// Broken: infinities are clamped to the largest number.
#include <opwright.h>
#include <algorithm>
#include <limits>

template <class T>
constexpr T largest = std::numeric_limits<T>::max();

OPWRIGHT("doubled(x: T[...]) -> (y: T[...]) where T in (f32, f64)")
template <class T>
void doubled(Tensor<const T> x, Tensor<T> y) {
  parallel_for(y.numel(), [&](int64_t i) { y[i] = std::clamp(2 * x[i], -largest<T>, largest<T>); });
}

OPWRIGHT("doubled_backward(grad_y: T[...], x: T[...]) -> (grad_x: T[...]) where T in (f32, f64)")
template <class T>
void doubled_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<T> grad_x) {
  parallel_for(grad_x.numel(), [&](int64_t i) { grad_x[i] = 2 * grad_y[i]; });
}
