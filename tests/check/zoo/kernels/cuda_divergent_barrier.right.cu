// cuda_divergent_barrier.cu, mended.
#include <opwright.h>

OPWRIGHT("from_neighbour(x: f32[N]) -> (y: f32[N]) launch over N, threads 32")
__global__ void from_neighbour(Tensor<const float, 1> x, Tensor<float, 1> y) {
  __shared__ float kept[32];
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < x.size(0)) kept[threadIdx.x] = x[i];
  __syncthreads();
  if (i >= x.size(0)) return;
  const int other = threadIdx.x ^ 1;
  y[i] = i - int(threadIdx.x) + other < x.size(0) ? kept[other] : 0;
}
