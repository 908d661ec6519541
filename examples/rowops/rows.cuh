/* What kernels with one block for each row share: the threads of a row, and reductions over them. */
#pragma once

#include <opwright.h>

constexpr int WARP = 32;
constexpr int MOST_THREADS = 256;

/* Threads for a row: whole warps, as many as leave each thread about four elements. */
inline int threads_of(int64_t columns) {
  int threads = WARP;
  while (threads < MOST_THREADS && threads * 4 < columns) threads *= 2;
  return threads;
}

struct Sum {
  template <class A>
  __device__ A operator()(A a, A b) const { return a + b; }
};

struct Most {
  template <class A>
  __device__ A operator()(A a, A b) const { return a > b || a != a ? a : b; }  // a NaN stays
};

/* `value` of all threads of the block, combined: the same result in each. First within each warp, by shuffles; then over the
 * warps' results, by shared memory. All threads have to come here. */
template <class A, class Combine>
__device__ A over_block(A value, Combine combine) {
  __shared__ A of_warps[MOST_THREADS / WARP];
  for (int lanes = WARP / 2; lanes > 0; lanes /= 2) value = combine(value, __shfl_xor_sync(0xffffffff, value, lanes));
  if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = value;
  __syncthreads();
  value = of_warps[0];
  for (int warp = 1; warp < blockDim.x / WARP; ++warp) value = combine(value, of_warps[warp]);
  __syncthreads();  // before the next reduction writes of_warps
  return value;
}
