// Kernels with parameters for the axes of their signatures.
#include <opwright.h>

OPWRIGHT("every(x: T[M, N], k: int, w: T[L]?) -> (y: T[M], sizes: i64[4])")
template <class T>
void every(int64_t M, Tensor<const T, 2> x, int64_t k, Tensor<const T, 1>, const int N, Tensor<T, 1> y,
           Tensor<int64_t, 1> sizes, long L) {
  for (int64_t i = 0; i < M; ++i) {
    y[i] = 0;
    for (int64_t j = 0; j < N; j += k) y[i] = y[i] + x(i, j);
  }
  sizes[0] = M, sizes[1] = N, sizes[2] = L, sizes[3] = k;
}

OPWRIGHT("weigh(x: T[M, 2*N], w: T[M]) -> (y: T[])")
template <class T>
void weigh(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 0> y, int64_t M, int64_t N) {
  y() = 0;
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < 2 * N; ++j) y() += w[i] * x(i, j) * x(i, j);
}

OPWRIGHT("weigh_backward(grad_y: T[], x: T[M, 2*N], w: T[M]) -> (grad_x: T[M, 2*N], grad_w: T[M])")
template <class T>
void weigh_backward(Tensor<const T, 0> grad_y, Tensor<const T, 2> x, Tensor<const T, 1> w, int64_t M, int64_t N,
                    Tensor<T, 2> grad_x, Tensor<T, 1> grad_w) {
  for (int64_t i = 0; i < M; ++i) {
    if (grad_w) grad_w[i] = 0;
    for (int64_t j = 0; j < 2 * N; ++j) {
      if (grad_x) grad_x(i, j) = 2 * grad_y() * w[i] * x(i, j);
      if (grad_w) grad_w[i] += grad_y() * x(i, j) * x(i, j);
    }
  }
}

OPWRIGHT("total(x: T[M, N]) -> (y: T[])")
template <class T>
void total(Tensor<const T, 2> x, Tensor<T, 0> y) {
  y() = 0;
  for (int64_t i = 0; i < x.numel(); ++i) y() += x.flat(i);
}

OPWRIGHT("total_backward(grad_y: T[]) -> (grad_x: T[M, N])")  // M and N are the forward's
template <class T>
void total_backward(Tensor<const T, 0> grad_y, int64_t M, int64_t N, Tensor<T, 2> grad_x) {
  for (int64_t i = 0; i < M * N; ++i) grad_x.flat(i) = grad_y();
}

OPWRIGHT("mean(x: T[N]) -> (y: T[]) batched")
template <class T>
void mean(Tensor<const T, 1> x, Tensor<T, 0> y, int64_t N) {
  acc<T> sum = 0;
  for (int64_t i = 0; i < N; ++i) sum += x[i];
  y() = T(sum / N);
}

OPWRIGHT("narrow(x: T[N]) -> (n: i64[])")
template <class T>
void narrow(Strided<const T, 1>, Tensor<int64_t, 0> n, int N) {
  n() = N;
}
