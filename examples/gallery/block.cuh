/* What kernels with a block for each row share: its threads, and reductions over them. */
#pragma once

#include <opwright.h>

constexpr int WARP = 32;
constexpr int MOST_THREADS = 256;

/* Threads for a row: whole warps, as many as leave each thread about four elements. */
inline int threads_of(int64_t elements) {
  int threads = WARP;
  while (threads < MOST_THREADS && threads * 4 < elements) threads *= 2;
  return threads;
}

struct Sum {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a + b;
  }
};

struct Most {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a > b || a != a ? a : b;
  }  // a NaN stays
};

/* `value` of all threads of the block, combined: the same result in each. All threads have to come here. */
template <class A, class Combine>
__device__ A over_block(A value, Combine combine) {
  __shared__ A of_warps[MOST_THREADS / WARP];
  for (int lanes = WARP / 2; lanes > 0; lanes /= 2) value = combine(value, __shfl_xor_sync(0xffffffff, value, lanes));
  if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = value;
  __syncthreads();
  value = of_warps[0];
  for (int warp = 1; warp < int(blockDim.x / WARP); ++warp) value = combine(value, of_warps[warp]);
  __syncthreads();  // before the next reduction writes of_warps
  return value;
}

/* Where a block finds the largest value: of equal ones the first place. A place of -1 is none. */
template <class A>
struct Best {
  A value;
  int64_t place;
};

template <class A>
__device__ bool better(const Best<A> &a, const Best<A> &b) {
  if (a.place < 0 || b.place < 0) return b.place < 0 && a.place >= 0;
  return a.value > b.value || (!(b.value > a.value) && a.place < b.place);
}

template <class A>
__device__ Best<A> best_of_block(Best<A> mine) {
  __shared__ Best<A> of_threads[MOST_THREADS];
  of_threads[threadIdx.x] = mine;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (int(threadIdx.x) < half && better(of_threads[threadIdx.x + half], of_threads[threadIdx.x]))
      of_threads[threadIdx.x] = of_threads[threadIdx.x + half];
    __syncthreads();
  }
  mine = of_threads[0];
  __syncthreads();  // before the next search writes of_threads
  return mine;
}
