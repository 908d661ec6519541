// y = w * x * sigmoid(x) over rows, as a kernel over views with a residual and a handwritten backward, and as a function of one element.
#include <opwright.h>

OPWRIGHT("gate(x: T[N, M], w: T[M]) -> (y: T[N, M]; s: T[N, M])")
template <class T>
void gate(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 2> y, Tensor<T, 2> s) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    for (int64_t j = 0; j < x.size(1); ++j) {
      const auto one = sigmoid(x(i, j));
      y(i, j) = w(j) * x(i, j) * one;
      if (s) s(i, j) = one;
    }
  }
}

OPWRIGHT("gate_backward(grad_y: T[N, M], x: T[N, M], w: T[M], s: T[N, M]) -> (grad_x: T[N, M], grad_w: T[M])")
template <class T>
void gate_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<const T, 2> s,
                   Tensor<T, 2> grad_x, Tensor<T, 1> grad_w) {
  for (int64_t j = 0; j < x.size(1); ++j) {
    acc<T> sum = 0;
    for (int64_t i = 0; i < x.size(0); ++i) {
      const acc<T> one = s(i, j), in = x(i, j), out = grad_y(i, j);
      sum += out * in * one;
      if (grad_x) grad_x(i, j) = out * acc<T>(w(j)) * one * (1 + in * (1 - one));
    }
    if (grad_w) grad_w(j) = sum;
  }
}

OPWRIGHT("pointwise_gate(x: T, w: T) -> (y: T)")
template <class T>
T pointwise_gate(T x, T w) {
  return w * x * sigmoid(x);
}
