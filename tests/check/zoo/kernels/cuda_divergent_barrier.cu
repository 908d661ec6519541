// Broken: threads without an element leave before the others wait for them.
#include <opwright.h>

OPWRIGHT("from_neighbour(x: f32[N]) -> (y: f32[N]) launch over N, threads 32")
__global__ void from_neighbour(Tensor<const float, 1> x, Tensor<float, 1> y) {
  __shared__ float kept[32];
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= x.size(0)) return;
  kept[threadIdx.x] = x[i];
  __syncthreads();
  const int other = threadIdx.x ^ 1;
  y[i] = i - int(threadIdx.x) + other < x.size(0) ? kept[other] : 0;
}
