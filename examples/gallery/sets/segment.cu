#include "offsets.h"

constexpr int THREADS = 256;
inline int64_t blocks_of(int64_t threads) { return (threads + THREADS - 1) / THREADS; }
inline __device__ int64_t thread() { return blockIdx.x * int64_t(blockDim.x) + threadIdx.x; }

// A thread has a column of a segment: neighbours read neighbours.
OPWRIGHT(
    "segment_sum(x: T[N, C], offsets: i64[S + 1] in [0, N]) -> (y: T[S, C]) independent C launch over S*C, threads 256")
template <class T>
__global__ void segment_sum(Tensor<const T, 2> x, Tensor<const int64_t, 1> offsets, Tensor<T, 2> y) {
  if (thread() >= y.numel()) return;
  const int64_t s = thread() / y.size(1), c = thread() % y.size(1);
  acc<T> sum = 0;
  for (int64_t n = offsets[s]; n < offsets[s + 1]; ++n) sum += acc<T>(x(n, c));
  y(s, c) = T(sum);
}

OPWRIGHT(
    "segment_sum_backward(grad_y: T[S, C], offsets: i64[S + 1] in [0, N]) -> (grad_x: T[N, C]) "
    "independent C launch over N*C, threads 256")
template <class T>
__global__ void segment_sum_backward(Tensor<const T, 2> grad_y, Tensor<const int64_t, 1> offsets, Tensor<T, 2> grad_x) {
  if (thread() >= grad_x.numel()) return;
  const int64_t s = group_of(offsets, thread() / grad_x.size(1));
  grad_x.flat(thread()) = s < 0 ? T(0) : grad_y(s, thread() % grad_x.size(1));
}

template <class T>
__global__ void softmax_kernel(Tensor<const T, 2> x, Tensor<const int64_t, 1> offsets, int64_t S, Tensor<T, 2> y) {
  const int64_t s = thread() / x.size(1), c = thread() % x.size(1);
  if (s >= S) return;
  acc<T> most = -INFINITY, sum = 0;
  for (int64_t n = offsets[s]; n < offsets[s + 1]; ++n) most = max(most, acc<T>(x(n, c)));
  for (int64_t n = offsets[s]; n < offsets[s + 1]; ++n) sum += exp(acc<T>(x(n, c)) - most);
  for (int64_t n = offsets[s]; n < offsets[s + 1]; ++n) y(n, c) = T(exp(acc<T>(x(n, c)) - most) / sum);
}

OPWRIGHT("segment_softmax(x: T[N, C], offsets: i64[S + 1] in [0, N]) -> (y: T[N, C]) independent C")
template <class T>
void segment_softmax(Tensor<const T, 2> x, Tensor<const int64_t, 1> offsets, Tensor<T, 2> y, int64_t S, int64_t C,
                     cudaStream_t stream) {
  if (y.numel() > 0) OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(y.data(), 0, y.numel() * sizeof(T), stream));
  if (S * C > 0) softmax_kernel<T><<<blocks_of(S * C), THREADS, 0, stream>>>(x, offsets, S, y);
}

template <class T>
__global__ void softmax_backward_kernel(Tensor<const T, 2> grad_y, Tensor<const T, 2> y,
                                        Tensor<const int64_t, 1> offsets, int64_t S, Tensor<T, 2> grad_x) {
  const int64_t s = thread() / y.size(1), c = thread() % y.size(1);
  if (s >= S) return;
  acc<T> mean = 0;
  for (int64_t n = offsets[s]; n < offsets[s + 1]; ++n) mean += acc<T>(grad_y(n, c)) * acc<T>(y(n, c));
  for (int64_t n = offsets[s]; n < offsets[s + 1]; ++n)
    grad_x(n, c) = T(acc<T>(y(n, c)) * (acc<T>(grad_y(n, c)) - mean));
}

OPWRIGHT(
    "segment_softmax_backward(grad_y: T[N, C], y: T[N, C], offsets: i64[S + 1] in [0, N]) -> (grad_x: T[N, C]) "
    "independent C")
template <class T>
void segment_softmax_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> y, Tensor<const int64_t, 1> offsets,
                              Tensor<T, 2> grad_x, int64_t S, int64_t C, cudaStream_t stream) {
  if (y.numel() > 0) OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(grad_x.data(), 0, y.numel() * sizeof(T), stream));
  if (S * C > 0) softmax_backward_kernel<T><<<blocks_of(S * C), THREADS, 0, stream>>>(grad_y, y, offsets, S, grad_x);
}
