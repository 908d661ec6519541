// Broken: the last difference is that of an element which isn't there.
#include <opwright.h>

OPWRIGHT("differences(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void differences(Tensor<const T, 1> x, Tensor<T, 1> y) {
  const int64_t n = x.numel();
  for (int64_t i = 0; i < n; ++i) y[i] = x[i + 1] - x[i];
}
