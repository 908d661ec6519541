#include <opwright.h>

// One row: `batched` brings those of all leading axes.
OPWRIGHT("softmax(x: T[C]) -> (y: T[C]) batched")
template <class T>
void softmax(Tensor<const T, 1> x, Tensor<T, 1> y) {
  const int64_t C = x.size(0);
  acc<T> top = C > 0 ? acc<T>(x[0]) : 0, sum = 0;
  for (int64_t i = 1; i < C; ++i) top = max(top, acc<T>(x[i]));
  for (int64_t i = 0; i < C; ++i) sum += exp(x[i] - top);
  for (int64_t i = 0; i < C; ++i) y[i] = exp(x[i] - top) / sum;
}

// y is softmax's output, which is saved; x isn't.
OPWRIGHT("softmax_backward(grad_y: T[C], y: T[C]) -> (grad_x: T[C]) batched")
template <class T>
void softmax_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> y, Tensor<T, 1> grad_x) {
  acc<T> mean = 0;
  for (int64_t i = 0; i < y.size(0); ++i) mean += acc<T>(grad_y[i]) * y[i];
  for (int64_t i = 0; i < y.size(0); ++i) grad_x[i] = y[i] * (grad_y[i] - mean);
}

OPWRIGHT("softmax_backward_backward(grad_grad_x: T[C], grad_y: T[C], y: T[C]) -> (grad_grad_y: T[C], grad_y: T[C]) batched")
template <class T>
void softmax_backward_backward(Tensor<const T, 1> grad_grad_x, Tensor<const T, 1> grad_y, Tensor<const T, 1> y,
                               Tensor<T, 1> grad_grad_y, Tensor<T, 1> grad_of_y) {
  acc<T> mean = 0, mean_of_both = 0;
  for (int64_t i = 0; i < y.size(0); ++i) {
    mean += acc<T>(grad_y[i]) * y[i];
    mean_of_both += acc<T>(grad_grad_x[i]) * y[i];
  }
  for (int64_t i = 0; i < y.size(0); ++i) {
    if (grad_grad_y) grad_grad_y[i] = y[i] * (grad_grad_x[i] - mean_of_both);
    if (grad_of_y) grad_of_y[i] = grad_grad_x[i] * (grad_y[i] - mean) - mean_of_both * grad_y[i];
  }
}
