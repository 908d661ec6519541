"""Sources that the tests of the CUDA front end share."""

from __future__ import annotations

CPU = """
OPWRIGHT("round(x: T[...]) -> (y: T[...]) where T in (f32, f64)")
template <class T>
void round(Tensor<const T> x, Tensor<T> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = x[i] >= T(0.5) ? 1 : 0;
}
"""
CUDA = """
#include <opwright/caffe.h>

template <class T>
__global__ void round_kernel(const int n, const T *in, T *out) {
  CUDA_KERNEL_LOOP(i, n) { out[i] = in[i] >= T(0.5) ? T(1) : T(0); }
}

OPWRIGHT("round(x: T[...]) -> (y: T[...]) where T in (f32, f64)")
template <class T>
void round(Tensor<const T> x, Tensor<T> y, cudaStream_t stream) {
  round_kernel<<<CAFFE_GET_BLOCKS(x.numel()), CAFFE_CUDA_NUM_THREADS, 0, stream>>>(x.numel(), x.data(), y.data());
  CUDA_POST_KERNEL_CHECK;
}
"""
LAUNCHED = """
OPWRIGHT("axpy(a: float, x: T[N], y: T[N]) -> (z: T[N]) where T in (f32, f64) launch over N, threads 64")
template <class T>
__global__ void axpy(int N, double a, const T *__restrict__ x, const T y[], T *z) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) z[i] = T(a * x[i] + y[i]);
}

OPWRIGHT("reverse(x: f32[...], k: int) -> (y: f32[...]) launch over ... threads 32 shared 32*k")
__global__ void reverse(const float *x, float *y, int numel, long k) {
  extern __shared__ float row[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.x * blockDim.x;
  const int length = min(int(blockDim.x), numel - first);
  if (i < numel) row[threadIdx.x] = x[i];
  __syncthreads();
  if (i < numel) y[i] = row[length - 1 - threadIdx.x];
}

OPWRIGHT("transpose(x: f32[N, M]) -> (y: f32[M, N]) launch over M, N, threads 16, 8")
__global__ void __launch_bounds__(128)
transpose(PackedTensorAccessor32<const float, 2, RestrictPtrTraits> x, Tensor<float, 2> y) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < x.size(0) && j < x.size(1)) y[j][i] = x(i, j);
}

namespace inner {
OPWRIGHT("rowsum(x: f32[N, M]) -> (y: f32[N]) batched launch over N, threads 32")
__global__ void rowsum(Strided<const float, 2> x, Tensor<float, 1> y) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= x.size(0)) return;
  float sum = 0;
  for (int64_t j = 0; j < x.size(1); ++j) sum += x[i][j];
  y[i] = sum;
}
}  // namespace inner

OPWRIGHT("dropped(x: f32[N], rng: generator(1)) -> (y: f32[N]) launch over N, threads 32")
__global__ void dropped(Tensor<const float, 1> x, Tensor<float, 1> y, Generator rng) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < x.numel()) y[i] = rng[i].uniform() < 0.5f ? 0 : x[i];
}

OPWRIGHT("shape_of(x: f32[...]) -> (y: i64[4]) launch over 1, threads 1")
__global__ void shape_of(Tensor<const float> x, Tensor<int64_t, 1> y) {
  for (int d = 0; d < 4; ++d) y[d] = d < x.ndim() ? x.size(d) : -1;
}

OPWRIGHT("filled(x: f32[N], m: int, k: int) -> (y: f32[N]) launch over m//(k-7)+N-m, threads 32, shared k*k")
__global__ void filled(Tensor<const float, 1> x, int64_t m, int64_t k, Tensor<float, 1> y) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < y.size(0)) y[i] = 1;
}
"""
