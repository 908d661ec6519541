// Broken: the last element is left out.
#include <opwright.h>

OPWRIGHT("doubled(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void doubled(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.numel() - 1; ++i) y[i] = 2 * x[i];
}
