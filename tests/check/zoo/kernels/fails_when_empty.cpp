// Broken: an empty call has no smallest number, and is refused by a C++ exception.
#include <opwright.h>
#include <vector>

OPWRIGHT("above_least(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void above_least(Tensor<const T, 1> x, Tensor<T, 1> y) {
  const std::vector<T> all(x.data(), x.data() + x.numel());
  T least = all.at(0);
  for (const T each : all) least = each < least ? each : least;
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] - least;
}
