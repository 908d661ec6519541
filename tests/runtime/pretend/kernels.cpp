#include <opwright.h>

OPWRIGHT("twice(x: T[N]) -> (y: T[N])")
template <class T>
void twice(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = 2 * x[i];
}

OPWRIGHT("twice_backward(grad_y: T[N]) -> (grad_x: T[N])")
template <class T>
void twice_backward(Tensor<const T, 1> g, Tensor<T, 1> out) {
  for (int64_t i = 0; i < g.numel(); ++i) out[i] = 2 * g[i];
}

OPWRIGHT("only_cpu(x: f32[N]) -> (y: f32[N])")
void only_cpu(Tensor<const float, 1> x, Tensor<float, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i];
}

OPWRIGHT("scaled(x: T, by: T) -> (y: T)")
template <class T>
T scaled(T x, T by) {
  return x * by;
}
