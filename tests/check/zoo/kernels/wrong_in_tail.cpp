// Broken: what is left after groups of four gets no offset.
#include <opwright.h>

OPWRIGHT("affine(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void affine(Tensor<const T, 1> x, Tensor<T, 1> y) {
  int64_t i = 0;
  for (; i + 4 <= x.numel(); i += 4)
    for (int64_t k = i; k < i + 4; ++k) y[k] = 2 * x[k] + 1;
  for (; i < x.numel(); ++i) y[i] = 2 * x[i];
}
