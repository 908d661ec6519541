// Broken: zero minus zero is zero, not minus zero.
#include <opwright.h>

OPWRIGHT("negated(x: T[...]) -> (y: T[...]) where T in (f32, f64)")
template <class T>
void negated(Tensor<const T> x, Tensor<T> y) {
  parallel_for(y.numel(), [&](int64_t i) { y[i] = 0 - x[i]; });
}
