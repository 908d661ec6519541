// Broken: the largest number so far is that of all calls, not of this one.
#include <opwright.h>

OPWRIGHT("scaled_to_one(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void scaled_to_one(Tensor<const T, 1> x, Tensor<T, 1> y) {
  static T most = 1;
  for (int64_t i = 0; i < x.numel(); ++i) most = abs(x[i]) > most ? T(abs(x[i])) : most;
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] / most;
}
