// Broken: a product of no factors is 1, not 0.
#include <opwright.h>

OPWRIGHT("row_products(x: T[B, N]) -> (y: T[B]) where T in (f32, f64)")
template <class T>
void row_products(Tensor<const T, 2> x, Tensor<T, 1> y) {
  for (int64_t b = 0; b < x.size(0); ++b) {
    T product = x.size(1) > 0;
    for (int64_t n = 0; n < x.size(1); ++n) product *= x(b, n);
    y[b] = product;
  }
}
