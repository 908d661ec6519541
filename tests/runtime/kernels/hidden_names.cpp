// What test_torch_internals.py loads anew for each name that it hides.
#include <opwright.h>

OPWRIGHT("twice(x: T[N]) -> (y: T[N])")
template <class T>
void twice(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = 2 * x[i];
}
OPWRIGHT("twice_backward(grad_y: T[N]) -> (grad_x: T[N])")
template <class T>
void twice_backward(Tensor<const T, 1> grad_y, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = 2 * grad_y[i];
}

OPWRIGHT("noise(x: T[N], rng: generator(1)) -> (y: T[N])")
template <class T>
void noise(Tensor<const T, 1> x, Tensor<T, 1> y, Generator rng) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = T(x[i] + rng[i].template uniform<T>());
}

OPWRIGHT("fill(x: T[N]!)")
template <class T>
void fill(Tensor<T, 1> x) {
  for (int64_t i = 0; i < x.numel(); ++i) x[i] = 1;
}
OPWRIGHT("fill_backward(grad_x: T[N]) -> (grad_x: T[N])")
template <class T>
void fill_backward(Tensor<const T, 1>, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = 0;
}
