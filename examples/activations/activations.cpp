#include <opwright.h>

OPWRIGHT("mish(x: T) -> (y: T)")
template <class T>
T mish(T x) {
  return x * tanh(softplus(x));
}

OPWRIGHT("hard_swish(x: T) -> (y: T)")
template <class T>
T hard_swish(T x) {
  if (x <= -3) return 0;
  if (x >= 3) return x;
  return x * (x + 3) / 6;
}

OPWRIGHT("gelu(x: T) -> (y: T)")
template <class T>
T gelu(T x) {
  return 0.5 * x * erfc(-0.70710678118654752440 * x);
}

// log(1 + exp(beta * x)) / beta; where beta * x is above the threshold, x itself, of which it can't be told any more.
OPWRIGHT("softplus(x: T, beta: float = 1.0, threshold: float = 20.0) -> (y: T)")
template <class T>
T softplus_with_threshold(T x, double beta, double threshold) {
  const T scaled = beta * x;
  return scaled > threshold ? x : log1p(exp(scaled)) / beta;
}

OPWRIGHT("smooth_l1(input: T, target: T, beta: float = 1.0) -> (loss: T)")
template <class T>
T smooth_l1(T input, T target, double beta) {
  const T distance = abs(input - target);
  return distance < beta ? 0.5 * distance * distance / beta : distance - 0.5 * beta;
}
