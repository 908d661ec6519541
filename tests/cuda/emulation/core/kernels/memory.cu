#include "program.h"

#include <cuda_fp16.h>
#include <cuda_bf16.h>

// Every operation, on global memory (all blocks) and on shared memory (a block for itself).
template <class T>
__device__ void operate(T *where, T value) {
  atomicAdd(where, value);
  atomicSub(where + 1, value);
  atomicMin(where + 2, value);
  atomicMax_block(where + 3, value);
  atomicExch_system(where + 4, T(7));
}
template <class T>
__device__ void operate_bits(T *where, T value) {
  atomicAnd(where + 5, T(~(T(1) << value % 20)));
  atomicOr(where + 6, T(T(1) << value % 24));
  atomicXor(where + 7, value);
}
template <class T, bool bits>
__global__ void everything(T *out, const T *start) {
  __shared__ T own[8];
  if (threadIdx.x < 8) own[threadIdx.x] = start[threadIdx.x];
  __syncthreads();
  const T value = T(threadIdx.x + blockIdx.x * blockDim.x) - T(bits ? 0 : 50);
  operate(out, value);
  operate(own, value);
  if constexpr (bits) {
    operate_bits(out, value);
    operate_bits(own, value);
  }
  __syncthreads();
  if (threadIdx.x < 8) out[8 * (1 + blockIdx.x) + threadIdx.x] = own[threadIdx.x];
}
#define EVERYTHING(name, T, bits)                                                     \
  EXPORT name(T *out, const T *start, int blocks) {                                   \
    return guarded([&] { everything<T, bits><<<blocks, 100>>>(out, start); });        \
  }
EVERYTHING(atomics_int, int, true)
EVERYTHING(atomics_unsigned, unsigned, true)
EVERYTHING(atomics_int64, long long, true)
EVERYTHING(atomics_uint64, unsigned long long, true)
EVERYTHING(atomics_float, float, false)
EVERYTHING(atomics_double, double, false)

// Halves count exactly as far as they have the digits for it.
template <class T>
__global__ void count_up(T *out) {
  atomicAdd(out, T(1.0f));
}
EXPORT atomics_half(void *half, void *bfloat) {
  return guarded([&] {
    count_up<<<16, 128>>>(static_cast<__half *>(half));
    count_up<<<2, 128>>>(static_cast<__nv_bfloat16 *>(bfloat));
  });
}

__global__ void wrap(unsigned *out, unsigned limit) {
  atomicInc(out, limit);
  atomicDec(out + 1, limit);
}
EXPORT wrapped(unsigned *out, unsigned limit) {
  return guarded([&] { wrap<<<7, 64>>>(out, limit); });
}

// An addition made of atomicCAS, and a lock taken by threads of one block that wait for each other.
__global__ void exchange(unsigned long long *sum, unsigned short *small) {
  const double mine = 0.5;
  unsigned long long seen = *sum, before;
  do {
    before = seen;
    seen = atomicCAS(sum, before, __double_as_longlong(__longlong_as_double(before) + mine));
  } while (seen != before);
  unsigned short low = *small, was;
  do {
    was = low;
    low = atomicCAS(small, was, (unsigned short)(was + 1));
  } while (low != was);
}
EXPORT exchanged(unsigned long long *sum, unsigned short *small) {
  return guarded([&] { exchange<<<50, 64>>>(sum, small); });
}

__global__ void locked(int *counter, int *lock) {
  __shared__ int mutex;
  if (threadIdx.x == 0) mutex = 0;
  __syncthreads();
  while (atomicExch(&mutex, 1)) {
  }
  __syncwarp(__activemask());
  ++counter[blockIdx.x];
  __threadfence();
  atomicExch(&mutex, 0);
}
EXPORT lock(int *counter, int *unused) {
  return guarded([&] { locked<<<4, 64>>>(counter, unused); });
}

// The last block to finish adds up what the others have left.
__device__ unsigned finished;
__global__ void last_block(const float *in, float *parts, float *out, int n) {
  __shared__ bool last;
  __shared__ float values[64];
  float sum = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) sum += in[i];
  values[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 64; ++i) values[0] += values[i];
    parts[blockIdx.x] = values[0];
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float all = 0;
    for (int i = 0; i < gridDim.x; ++i) all += ((volatile float *)parts)[i];
    *out = all;
  }
}
EXPORT last(const float *in, float *parts, float *out, int n) {
  return guarded([&] { last_block<<<40, 64>>>(in, parts, out, n); });
}
