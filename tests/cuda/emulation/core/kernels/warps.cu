#include "program.h"

template <class T>
__global__ void shuffles(const T *in, T *out, int width) {
  const int me = blockIdx.x * blockDim.x + threadIdx.x;
  const T mine = in[me];
  T *row = out + 4 * me;
  row[0] = __shfl_sync(0xffffffff, mine, threadIdx.x + 3, width);
  row[1] = __shfl_up_sync(0xffffffff, mine, 2, width);
  row[2] = __shfl_down_sync(0xffffffff, mine, 3, width);
  row[3] = __shfl_xor_sync(0xffffffff, mine, 5, width);
}
EXPORT shuffle_float(const float *in, float *out, int width) {
  return guarded([&] { shuffles<<<3, 64>>>(in, out, width); });
}
EXPORT shuffle_double(const double *in, double *out, int width) {
  return guarded([&] { shuffles<<<3, 64>>>(in, out, width); });
}
EXPORT shuffle_int64(const long long *in, long long *out, int width) {
  return guarded([&] { shuffles<<<3, 64>>>(in, out, width); });
}
EXPORT shuffle_uint32(const unsigned *in, unsigned *out, int width) {
  return guarded([&] { shuffles<<<3, 64>>>(in, out, width); });
}

__global__ void votes(const int *in, unsigned *out) {
  const int mine = in[threadIdx.x];
  unsigned *row = out + 6 * threadIdx.x;
  row[0] = __ballot_sync(0xffffffff, mine & 1);
  row[1] = __any_sync(0xffffffff, mine > 6);
  row[2] = __all_sync(0xffffffff, mine >= 0);
  row[3] = __match_any_sync(0xffffffff, mine);
  int same;
  row[4] = __match_all_sync(0xffffffff, threadIdx.x < 32 ? 7 : mine, &same);
  row[5] = same;
}
EXPORT vote(const int *in, unsigned *out) {
  return guarded([&] { votes<<<1, 64>>>(in, out); });
}

__global__ void reductions(const int *in, int *out) {
  const int mine = in[threadIdx.x];
  int *row = out + 7 * threadIdx.x;
  row[0] = __reduce_add_sync(0xffffffff, mine);
  row[1] = __reduce_min_sync(0xffffffff, mine);
  row[2] = __reduce_max_sync(0xffffffff, mine);
  row[3] = __reduce_and_sync(0xffffffff, unsigned(mine));
  row[4] = __reduce_or_sync(0xffffffff, unsigned(mine));
  row[5] = __reduce_xor_sync(0xffffffff, unsigned(mine));
  row[6] = __reduce_max_sync(0xffffffff, unsigned(mine));
}
EXPORT reduce(const int *in, int *out) {
  return guarded([&] { reductions<<<1, 64>>>(in, out); });
}

// Lanes part: each half has its own mask, then all come together again.
__global__ void halves(int *out) {
  const unsigned lane = threadIdx.x % 32;
  int sum = lane;
  if (lane < 16) {
    for (int d = 8; d; d /= 2) sum += __shfl_xor_sync(0x0000ffff, sum, d);
  } else {
    for (int d = 8; d; d /= 2) sum += __shfl_down_sync(0xffff0000, sum, d, 16);
    sum = __shfl_sync(0xffff0000, sum, 16);
  }
  __syncwarp();
  out[threadIdx.x] = sum + 1000 * __shfl_sync(0xffffffff, sum, 31);
}
EXPORT half(int *out) {
  return guarded([&] { halves<<<1, 96>>>(out); });
}

// Part of a round of shuffles, then something else: lane 20 alone adds, through a ballot of its own.
__global__ void leaves_round(int *out) {
  const unsigned lane = threadIdx.x;
  int mine = lane;
  if (lane == 20) mine += __ballot_sync(1u << 20, 1) >> 20;
  mine += __shfl_down_sync(0xffffffff, mine, 1);
  __syncthreads();
  mine += __shfl_down_sync(0xffffffff, mine, 1);
  out[lane] = mine;
}
EXPORT left_round(int *out) {
  return guarded([&] { leaves_round<<<1, 32>>>(out); });
}

__global__ void active(unsigned *out) {
  if (threadIdx.x % 3 == 0)
    out[threadIdx.x] = __activemask();
  else
    out[threadIdx.x] = __activemask();
}
EXPORT activemask(unsigned *out) {
  return guarded([&] { active<<<1, 64>>>(out); });
}

// Warps exchange through shared memory, with no barrier of the block.
__global__ void warp_memory(int *out) {
  __shared__ int values[64];
  values[threadIdx.x] = threadIdx.x;
  __syncwarp();
  const int other = values[threadIdx.x ^ 31];
  __syncwarp();
  values[threadIdx.x] = 2 * other;
  __syncwarp();
  out[threadIdx.x] = values[threadIdx.x / 32 * 32];
}
EXPORT through_memory(int *out) {
  return guarded([&] { warp_memory<<<1, 64>>>(out); });
}
