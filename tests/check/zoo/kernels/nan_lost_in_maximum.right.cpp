// nan_lost_in_maximum.cpp, mended.
#include <opwright.h>

OPWRIGHT("row_maxima(x: T[B, N+1]) -> (y: T[B]) where T in (f32, f64)")
template <class T>
void row_maxima(Tensor<const T, 2> x, Tensor<T, 1> y) {
  for (int64_t b = 0; b < x.size(0); ++b) {
    T most = x(b, 0);
    for (int64_t n = 1; n < x.size(1); ++n)
      if (x(b, n) > most || x(b, n) != x(b, n)) most = x(b, n);
    y[b] = most;
  }
}
