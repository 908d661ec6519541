// The kernels of my_op.cpp for CUDA: the same signatures, one block of threads for each row.
#include <opwright.h>

constexpr int THREADS = 256;  // a power of two

// The sum of `value` over the block, in every thread; all threads have to come here.
template <class A>
__device__ A block_sum(A value) {
  __shared__ A parts[THREADS];
  parts[threadIdx.x] = value;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  const A total = parts[0];
  __syncthreads();  // before the next sum writes parts
  return total;
}

template <class T>
__global__ void forward_kernel(int64_t C, acc<T> eps, const T *x, const T *weight, T *y, acc<T> *scale) {
  x += blockIdx.x * C, y += blockIdx.x * C;
  acc<T> squares = 0;
  for (int64_t c = threadIdx.x; c < C; c += THREADS) squares += acc<T>(x[c]) * acc<T>(x[c]);
  const acc<T> by = 1 / sqrt(block_sum(squares) / acc<T>(C > 0 ? C : 1) + eps);
  for (int64_t c = threadIdx.x; c < C; c += THREADS) y[c] = acc<T>(x[c]) * by * acc<T>(weight[c]);
  if (scale && threadIdx.x == 0) scale[blockIdx.x] = by;
}

template <class T>
__global__ void grad_x_kernel(int64_t C, const T *grad_y, const T *x, const T *weight, const acc<T> *scale, T *grad_x) {
  grad_y += blockIdx.x * C, x += blockIdx.x * C, grad_x += blockIdx.x * C;
  const acc<T> by = scale[blockIdx.x];
  acc<T> along = 0;
  for (int64_t c = threadIdx.x; c < C; c += THREADS) along += acc<T>(grad_y[c]) * acc<T>(weight[c]) * acc<T>(x[c]);
  along = block_sum(along) * by * by / acc<T>(C > 0 ? C : 1);
  for (int64_t c = threadIdx.x; c < C; c += THREADS)
    grad_x[c] = by * (acc<T>(grad_y[c]) * acc<T>(weight[c]) - along * acc<T>(x[c]));
}

// A block for each column, whose threads share the rows: no atomics, so the sum is the same every time.
template <class T>
__global__ void grad_weight_kernel(int64_t rows, int64_t C, const T *grad_y, const T *x, const acc<T> *scale,
                                   T *grad_weight) {
  acc<T> sum = 0;
  for (int64_t row = threadIdx.x; row < rows; row += THREADS) {
    const int64_t at = row * C + blockIdx.x;
    sum += acc<T>(grad_y[at]) * acc<T>(x[at]) * scale[row];
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) grad_weight[blockIdx.x] = sum;
}

OPWRIGHT("my_op(x: T[..., C], weight: T[C], eps: float = 1e-6) -> (y: T[..., C]; scale: acc(T)[...])")
template <class T>
void my_op(Tensor<const T> x, Tensor<const T, 1> weight, double eps, Tensor<T> y, Tensor<acc<T>> scale,
           cudaStream_t stream) {
  OPWRIGHT_CHECK(eps >= 0, "eps is ", eps, ", expected 0 or more");
  int64_t rows = 1;
  for (int d = 0; d + 1 < x.ndim(); ++d) rows *= x.size(d);
  if (rows == 0) return;
  forward_kernel<T><<<rows, THREADS, 0, stream>>>(weight.size(0), acc<T>(eps), x.data(), weight.data(), y.data(),
                                                  scale.data());
}

OPWRIGHT("my_op_backward(grad_y: T[..., C], x: T[..., C], weight: T[C], scale: acc(T)[...])"
         " -> (grad_x: T[..., C], grad_weight: T[C])")
template <class T>
void my_op_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<const T, 1> weight, Tensor<const acc<T>> scale,
                    Tensor<T> grad_x, Tensor<T, 1> grad_weight, cudaStream_t stream) {
  const int64_t rows = scale.numel(), C = weight.size(0);
  if (grad_x && rows > 0)
    grad_x_kernel<T><<<rows, THREADS, 0, stream>>>(C, grad_y.data(), x.data(), weight.data(), scale.data(),
                                                   grad_x.data());
  if (grad_weight && C > 0)
    grad_weight_kernel<T><<<C, THREADS, 0, stream>>>(rows, C, grad_y.data(), x.data(), scale.data(),
                                                     grad_weight.data());
}
