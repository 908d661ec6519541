#include <opwright.h>

constexpr int64_t grain = 4096;  // an exp is some 2 ns, so a piece of this size is worth a thread

OPWRIGHT("sigmoid(x: T[...]) -> (y: T[...])")
template <class T>
void sigmoid(Tensor<const T> x, Tensor<T> y) {
  parallel_for(y.numel(), grain, [&](int64_t i) { y[i] = 1 / (1 + exp(-x[i])); });
}

// y is sigmoid's output: that name is all it takes to have it saved, and x not.
OPWRIGHT("sigmoid_backward(grad_y: T[...], y: T[...]) -> (grad_x: T[...])")
template <class T>
void sigmoid_backward(Tensor<const T> grad_y, Tensor<const T> y, Tensor<T> grad_x) {
  parallel_for(grad_x.numel(), [&](int64_t i) { grad_x[i] = grad_y[i] * y[i] * (1 - y[i]); });
}

// Two gradients, one for each input of sigmoid_backward. The second has the name grad_y in the signature, being the
// gradient of y; C++ wants another one for it, since the input grad_y is there too.
OPWRIGHT("sigmoid_backward_backward(grad_grad_x: T[...], grad_y: T[...], y: T[...])"
         " -> (grad_grad_y: T[...], grad_y: T[...])")
template <class T>
void sigmoid_backward_backward(Tensor<const T> grad_grad_x, Tensor<const T> grad_y, Tensor<const T> y,
                               Tensor<T> grad_grad_y, Tensor<T> grad_of_y) {
  parallel_for(y.numel(), [&](int64_t i) {
    if (grad_grad_y) grad_grad_y[i] = grad_grad_x[i] * y[i] * (1 - y[i]);
    if (grad_of_y) grad_of_y[i] = grad_grad_x[i] * grad_y[i] * (1 - 2 * y[i]);
  });
}
