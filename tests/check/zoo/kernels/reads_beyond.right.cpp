// reads_beyond.cpp, mended.
#include <opwright.h>

OPWRIGHT("differences(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void differences(Tensor<const T, 1> x, Tensor<T, 1> y) {
  const int64_t n = x.numel();
  for (int64_t i = 0; i < n; ++i) y[i] = x[i + 1 < n ? i + 1 : 0] - x[i];
}
