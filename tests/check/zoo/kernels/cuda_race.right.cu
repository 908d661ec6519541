// cuda_race.cu, mended.
#include <opwright.h>

constexpr int THREADS = 64;

OPWRIGHT("reversed_blocks(x: f32[B, 64]) -> (y: f32[B, 64]) launch over B * 64, threads 64")
__global__ void reversed_blocks(Tensor<const float, 2> x, Tensor<float, 2> y) {
  __shared__ float row[THREADS];
  row[threadIdx.x] = x(blockIdx.x, threadIdx.x);
  __syncthreads();
  y(blockIdx.x, threadIdx.x) = row[THREADS - 1 - threadIdx.x];
}
