// Broken: of several blocks only the last one's sum is kept.
#include <opwright.h>

OPWRIGHT("total(x: T[N]) -> (y: T[]) where T in (f32, f64)")
template <class T>
void total(Tensor<const T, 1> x, Tensor<T, 0> y) {
  y() = 0;
  for (int64_t begin = 0; begin < x.numel(); begin += 128) {
    T sum = 0;
    for (int64_t i = begin; i < x.numel() && i < begin + 128; ++i) sum += x[i];
    y() = sum;
  }
}
