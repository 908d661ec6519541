// Broken: called independent along N, but the step depends on how many slices there are.
#include <opwright.h>

OPWRIGHT("averaged(x: T[N, M], by: T[M]) -> (y: T[N, M]) where T in (f32, f64) independent N")
template <class T>
void averaged(Tensor<const T, 2> x, Tensor<const T, 1> by, Tensor<T, 2> y) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) y(i, j) = x(i, j) + by[j] / x.size(0);
}
