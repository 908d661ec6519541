#include <opwright.h>

OPWRIGHT("my_op(x: T[...], y: T[...]) -> (z: T[...])")
template <class T>
void my_op(Tensor<const T> x, Tensor<const T> y, Tensor<T> z) {
  parallel_for(z.numel(), [&](int64_t i) { z[i] = 3 * x[i] - y[i]; });
}

OPWRIGHT("my_op_backward(grad_z: T[...]) -> (grad_x: T[...], grad_y: T[...])")
template <class T>
void my_op_backward(Tensor<const T> grad_z, Tensor<T> grad_x, Tensor<T> grad_y) {
  if (grad_x) parallel_for(grad_x.numel(), [&](int64_t i) { grad_x[i] = 3 * grad_z[i]; });
  if (grad_y) parallel_for(grad_y.numel(), [&](int64_t i) { grad_y[i] = -grad_z[i]; });
}

OPWRIGHT("my_op_backward_backward(grad_grad_x: T[...], grad_grad_y: T[...]) -> (grad_grad_z: T[...])")
template <class T>
void my_op_backward_backward(Tensor<const T> grad_grad_x, Tensor<const T> grad_grad_y, Tensor<T> grad_grad_z) {
  parallel_for(grad_grad_z.numel(), [&](int64_t i) { grad_grad_z[i] = 3 * grad_grad_x[i] - grad_grad_y[i]; });
}
