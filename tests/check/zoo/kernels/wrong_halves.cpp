// Broken: a sum of halves is kept in a half.
#include <opwright.h>

OPWRIGHT("row_sums(x: T[B, N]) -> (y: T[B])")
template <class T>
void row_sums(Tensor<const T, 2> x, Tensor<T, 1> y) {
  for (int64_t b = 0; b < x.size(0); ++b) {
    T sum = 0;
    for (int64_t n = 0; n < x.size(1); ++n) sum = sum + x(b, n);
    y[b] = sum;
  }
}
