#include "program.h"

// Every thread notes where it is: 3-D grids and blocks.
__global__ void place(int *out) {
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] = blockIdx.z * 100000 + blockIdx.y * 10000 + blockIdx.x * 1000 + threadIdx.z * 100 +
                                  threadIdx.y * 10 + threadIdx.x;
}
EXPORT places(int *out) {
  return guarded([&] { place<<<dim3(4, 3, 2), dim3(5, 4, 3)>>>(out); });
}

// A value goes through the whole block, a barrier a step; also for blocks that no warp fills.
__global__ void rotate(const int *in, int *out, int steps) {
  extern __shared__ int values[];
  const int me = threadIdx.x + blockDim.x * threadIdx.y, n = blockDim.x * blockDim.y;
  int mine = in[blockIdx.x * n + me];
  for (int i = 0; i < steps; ++i) {
    values[me] = mine;
    __syncthreads();
    mine = values[(me + 1) % n];
    __syncthreads();
  }
  out[blockIdx.x * n + me] = mine;
}
EXPORT rotated(const int *in, int *out, int blocks, int x, int y, int steps) {
  return guarded([&] { rotate<<<blocks, dim3(x, y), x * y * sizeof(int)>>>(in, out, steps); });
}

__global__ void predicates(const int *in, int *out) {
  const int me = threadIdx.x, yes = in[me];
  const int all = __syncthreads_and(yes), any = __syncthreads_or(yes), count = __syncthreads_count(yes);
  __syncthreads();
  out[me] = all * 10000 + any * 1000 + count;
}
EXPORT predicate(const int *in, int *out, int threads) {
  return guarded([&] { predicates<<<1, threads>>>(in, out); });
}

// Only some threads come to the barrier, the others have returned: as a GPU, so the emulator goes on with those it has.
__global__ void early(int *out, int n) {
  __shared__ int values[128];
  if (threadIdx.x >= n) return;
  for (int round = 0; round < 3; ++round) {
    values[threadIdx.x] = threadIdx.x + round;
    __syncthreads();
    out[threadIdx.x] = values[n - 1 - threadIdx.x];
    __syncthreads();
  }
}
EXPORT early_return(int *out, int n) {
  return guarded([&] { early<<<1, 128>>>(out, n); });
}

// Two barriers that meet: threads of one block wait at different lines.
__global__ void branches(int *out) {
  __shared__ int values[96];
  values[threadIdx.x] = threadIdx.x;
  if (threadIdx.x < 40)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = values[95 - threadIdx.x];
}
EXPORT branched(int *out) {
  return guarded([&] { branches<<<1, 96>>>(out); });
}

template <class T, int size>
__device__ T total(T value) {
  __shared__ T parts[size];
  parts[threadIdx.x] = value;
  __syncthreads();
  T sum = 0;
  for (int i = 0; i < size; ++i) sum += parts[i];
  __syncthreads();
  return sum;
}
__constant__ double factors[4] = {1, 2, 3, 4};
__device__ int visits[2];
__global__ void two_types(double *out) {
  const double a = total<double, 64>(threadIdx.x * factors[blockIdx.x % 4]);
  const int b = total<int, 64>(int(threadIdx.x));
  if (threadIdx.x == 0) {
    out[blockIdx.x] = a + b;
    atomicAdd(&visits[blockIdx.x % 2], 1);
  }
}
EXPORT variables(double *out, int *counted, int blocks) {
  return guarded([&] {
    memset(visits, 0, sizeof(visits));
    two_types<<<blocks, 64>>>(out);
    memcpy(counted, visits, sizeof(visits));
  });
}

// Arguments are copies: a kernel may use up its own.
struct Range { int begin, end; };
__global__ void consume(Range range, int step, int *out) {
  range.begin += threadIdx.x;
  int sum = 0;
  for (; range.begin < range.end; range.begin += step) sum += range.begin;
  out[threadIdx.x] = sum;
}
EXPORT consumed(int *out) {
  return guarded([&] { consume<<<1, 32>>>(Range{0, 1000}, 32, out); });
}
