// Broken: a weight's gradient is written as K rows of M, not M rows of K.
#include <opwright.h>

OPWRIGHT("linear(x: T[N, K], w: T[M, K]) -> (y: T[N, M]) where T in (f32, f64)")
template <class T>
void linear(Tensor<const T, 2> x, Tensor<const T, 2> w, Tensor<T, 2> y) {
  const int64_t N = y.size(0), M = y.size(1), K = x.size(1);
  for (int64_t n = 0; n < N; ++n)
    for (int64_t m = 0; m < M; ++m) {
      T sum = 0;
      for (int64_t k = 0; k < K; ++k) sum += x(n, k) * w(m, k);
      y(n, m) = sum;
    }
}

OPWRIGHT("linear_backward(grad_y: T[N, M], x: T[N, K], w: T[M, K]) -> (grad_x: T[N, K], grad_w: T[M, K])"
         " where T in (f32, f64)")
template <class T>
void linear_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> x, Tensor<const T, 2> w, Tensor<T, 2> grad_x,
                     Tensor<T, 2> grad_w) {
  const int64_t N = grad_y.size(0), M = grad_y.size(1), K = x.size(1);
  for (int64_t i = 0; grad_x && i < N * K; ++i) grad_x.flat(i) = 0;
  for (int64_t i = 0; grad_w && i < M * K; ++i) grad_w.flat(i) = 0;
  for (int64_t n = 0; n < N; ++n)
    for (int64_t m = 0; m < M; ++m)
      for (int64_t k = 0; k < K; ++k) {
        if (grad_x) grad_x(n, k) += grad_y(n, m) * w(m, k);
        if (grad_w) grad_w.flat(k * M + m) += grad_y(n, m) * x(n, k);
      }
}
