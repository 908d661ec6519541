// A kernel with independent axes of whose results one has them, and one is a sum over them.
#include <opwright.h>

OPWRIGHT("weighted(x: T[C, N], w: T[C]) -> (y: T[N], total: T[]) where T in (f64) independent N derived")
template <class T>
void weighted(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 1> y, Tensor<T, 0> total) {
  T all = 0;
  for (int64_t n = 0; n < x.size(1); ++n) {
    T weighted = 0, sum = 0;
    for (int64_t c = 0; c < x.size(0); ++c) weighted += x(c, n) * w[c] * w[c] * w[c], sum += x(c, n) * w[c];
    y[n] = weighted, all += sum * sum * sum;
  }
  total() = all;
}
