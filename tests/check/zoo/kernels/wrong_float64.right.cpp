// wrong_float64.cpp, mended.
#include <opwright.h>

OPWRIGHT("logistic(x: T[...]) -> (y: T[...]) where T in (f32, f64)")
template <class T>
void logistic(Tensor<const T> x, Tensor<T> y) {
  parallel_for(y.numel(), [&](int64_t i) {
    const T e = exp(-x[i]);
    y[i] = 1 / (1 + e);
  });
}
