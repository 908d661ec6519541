// Broken: the scratch memory is never given back.
#include <opwright.h>
#include <memory>

OPWRIGHT("reversed(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void reversed(Tensor<const T, 1> x, Tensor<T, 1> y) {
  const int64_t n = x.numel();
  std::unique_ptr<T[]> scratch(new T[n]);
  for (int64_t i = 0; i < n; ++i) scratch[i] = x[n - 1 - i];
  for (int64_t i = 0; i < n; ++i) y[i] = scratch[i];
  scratch.release();
}
