#include <opwright.h>

// Heron's square roots. A few steps would do: the others are work that changes nothing, in proportion to kSteps.
constexpr int kSteps = 400;

OPWRIGHT("roots(x: T[N]) -> (y: T[N]) where T in (f32)")
template <class T>
void roots(Tensor<const T> x, Tensor<T> y) {
  for (int64_t i = 0; i < y.numel(); ++i) {
    const T square = 1 + x[i] * x[i];
    T value = square;
    for (int k = 0; k < kSteps; ++k) value = T(0.5) * (value + square / value);
    y[i] = value;
  }
}
