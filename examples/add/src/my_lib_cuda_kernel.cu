#include "my_lib_cuda_kernel.h"

__global__ void add(const float *a, const float *b, float *sum, ptrdiff_t count)
{
  for (ptrdiff_t i = blockIdx.x * (ptrdiff_t)blockDim.x + threadIdx.x; i < count; i += (ptrdiff_t)blockDim.x * gridDim.x)
    sum[i] = a[i] + b[i];
}

/* 0, or the number of CUDA's error. */
extern "C" int my_lib_add_launch(const float *a, const float *b, float *sum, ptrdiff_t count, cudaStream_t stream)
{
  const int threads = 256;
  const ptrdiff_t blocks = (count + threads - 1) / threads;
  if (count == 0)
    return 0;
  add<<<blocks < 65535 ? (int)blocks : 65535, threads, 0, stream>>>(a, b, sum, count);
  return (int)cudaGetLastError();
}
