// mutates_input.cpp, mended.
#include <opwright.h>

OPWRIGHT("centred(x: T[B, N]) -> (y: T[B, N]) where T in (f32, f64)")
template <class T>
void centred(Tensor<const T, 2> x, Tensor<T, 2> y) {
  for (int64_t b = 0; b < x.size(0); ++b) {
    T mean = 0;
    for (int64_t n = 0; n < x.size(1); ++n) mean += x(b, n) / x.size(1);
    T *row = y[b].data();
    for (int64_t n = 0; n < x.size(1); ++n) y(b, n) = row[n] = x(b, n) - mean;
  }
}
