// Broken: one partial sum too many is written.
#include <opwright.h>

OPWRIGHT("partial_sums(x: T[N]) -> (y: T[N+1]) where T in (f32, f64)")
template <class T>
void partial_sums(Tensor<const T, 1> x, Tensor<T, 1> y) {
  T sum = 0;
  for (int64_t i = 0; i <= x.numel(); ++i) {
    y[i] = sum;
    if (i < x.numel()) sum += x[i];
  }
  y[x.numel() + 1] = sum;
}
