#include <opwright.h>

// 1 for x >= 0.5, else 0: what a probability is rounded to.
OPWRIGHT("round(x: T[...]) -> (y: T[...])")
template <class T>
void round(Tensor<const T> x, Tensor<T> y) {
  parallel_for(y.numel(), [&](int64_t i) { y[i] = x[i] >= T(0.5) ? T(1) : T(0); });
}

// Straight through: the gradient as if nothing had been rounded.
OPWRIGHT("round_backward(grad_y: T[...]) -> (grad_x: T[...])")
template <class T>
void round_backward(Tensor<const T> grad_y, Tensor<T> grad_x) {
  parallel_for(grad_x.numel(), [&](int64_t i) { grad_x[i] = grad_y[i]; });
}

OPWRIGHT("round_backward_backward(grad_grad_x: T[...]) -> (grad_grad_y: T[...])")
template <class T>
void round_backward_backward(Tensor<const T> grad_grad_x, Tensor<T> grad_grad_y) {
  round_backward(grad_grad_x, grad_grad_y);
}
