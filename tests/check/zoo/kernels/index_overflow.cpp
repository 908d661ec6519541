// Broken: strides of more than two thousand million elements don't fit an int.
#include <opwright.h>

OPWRIGHT("sum_columns(x: T[B, N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void sum_columns(Strided<const T, 2> x, Tensor<T, 1> y) {
  const int row = x.stride(0), column = x.stride(1);
  for (int64_t n = 0; n < x.size(1); ++n) {
    T sum = 0;
    for (int64_t b = 0; b < x.size(0); ++b) sum += (&x(0, 0))[b * row + n * column];
    y[n] = sum;
  }
}
