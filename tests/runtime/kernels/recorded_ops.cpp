// Operators with residuals: along the axes of the results, and along none; one without any.
#include <opwright.h>

OPWRIGHT("scaled(x: T[..., N]) -> (y: T[..., N]; total: T[...])")
template <class T>
void scaled(Tensor<const T> x, Tensor<T> y, Tensor<T> total) {
  const int64_t n = x.size(-1);
  for (int64_t row = 0; row < total.numel(); ++row) {
    total[row] = 0;
    for (int64_t i = 0; i < n; ++i) total[row] += x[row * n + i];
    for (int64_t i = 0; i < n; ++i) y[row * n + i] = x[row * n + i] * total[row];
  }
}

OPWRIGHT("scaled_backward(grad_y: T[..., N], x: T[..., N], total: T[...]) -> (grad_x: T[..., N])")
template <class T>
void scaled_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<const T> total, Tensor<T> grad_x) {
  const int64_t n = x.size(-1);
  for (int64_t row = 0; row < total.numel(); ++row) {
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += grad_y[row * n + i] * x[row * n + i];
    for (int64_t i = 0; i < n; ++i) grad_x[row * n + i] = grad_y[row * n + i] * total[row] + sum;
  }
}

OPWRIGHT("powered(x: T[N]) -> (y: T[N]; last: T[])")
template <class T>
void powered(Tensor<const T, 1> x, Tensor<T, 1> y, Tensor<T, 0> last) {
  last() = 2;
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] * x[i];
}

OPWRIGHT("powered_backward(grad_y: T[N], x: T[N], last: T[]) -> (grad_x: T[N])")
template <class T>
void powered_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<const T, 0> last, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < x.size(0); ++i) grad_x[i] = grad_y[i] * last() * x[i];
}

OPWRIGHT("doubled(x: T[N]) -> (y: T[N])")
template <class T>
void doubled(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = 2 * x[i];
}

OPWRIGHT("doubled_backward(grad_y: T[N]) -> (grad_x: T[N])")
template <class T>
void doubled_backward(Tensor<const T, 1> grad_y, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_y.size(0); ++i) grad_x[i] = 2 * grad_y[i];
}
