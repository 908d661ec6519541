// Broken: the last block has one thread too many at work.
#include <opwright.h>

OPWRIGHT("tripled(x: f32[N]) -> (y: f32[N]) launch over N, threads 64")
__global__ void tripled(Tensor<const float, 1> x, Tensor<float, 1> y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= x.size(0)) y[i] = 3 * x[i];
}
