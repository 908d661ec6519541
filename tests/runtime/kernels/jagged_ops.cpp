#include <opwright.h>

OPWRIGHT("gate(x: T, w: T, by: float = 2.0) -> (y: T)")
template <class T>
T gate(T x, T w, double by) { return by * x * tanh(w); }

OPWRIGHT("weigh(x: T[N], w: T[N]) -> (y: T[]; scaled: T[]) batched")
template <class T>
void weigh(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 0> y, Tensor<T, 0> scaled) {
  T sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += x[i] * w[i];
  y() = sum * sum;
  if (scaled) scaled() = 2 * sum;
}

OPWRIGHT("weigh_backward(grad_y: T[], x: T[N], w: T[N], scaled: T[]) -> (grad_x: T[N], grad_w: T[N]) batched")
template <class T>
void weigh_backward(Tensor<const T, 0> grad_y, Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<const T, 0> scaled,
                    Tensor<T, 1> grad_x, Tensor<T, 1> grad_w) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    grad_x[i] = grad_y() * scaled() * w[i];
    grad_w[i] = grad_y() * scaled() * x[i];
  }
}

OPWRIGHT("twice(x: T!)")
template <class T>
void twice(T &x) { x = 2 * x; }

OPWRIGHT("pick(x: T[M, N]) -> (y: T[N]) batched")
template <class T>
void pick(Tensor<const T, 2> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = x(0, i);
}

OPWRIGHT("copied(x: T[...]) -> (y: T[...])")
template <class T>
void copied(Tensor<const T> x, Tensor<T> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = x[i];
}

OPWRIGHT("copied_backward(grad_y: T[...]) -> (grad_x: T[...])")
template <class T>
void copied_backward(Tensor<const T> grad_y, Tensor<T> grad_x) {
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = grad_y[i];
}
