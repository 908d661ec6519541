#include "program.h"

#include <cub/cub.cuh>

constexpr int threads = 96, items = 3;

struct Largest {
  __device__ float operator()(float a, float b) const { return a < b ? b : a; }
};
// Begins where the last tile ended, as a loop over tiles does.
struct Running {
  int total;
  __device__ int operator()(int block) {
    const int before = total;
    total += block;
    return before;
  }
};

__global__ void block_reduce(const float *in, float *out) {
  using Reduce = cub::BlockReduce<float, threads>;
  __shared__ typename Reduce::TempStorage storage;
  const int first = blockIdx.x * threads;
  const float sum = Reduce(storage).Sum(in[first + threadIdx.x]);
  __syncthreads();
  const float most = Reduce(storage).Reduce(in[first + threadIdx.x], Largest());
  __syncthreads();
  const float part = Reduce(storage).Sum(in[first + threadIdx.x], 40);
  __syncthreads();
  float several[2] = {in[first + threadIdx.x], 1};
  const float all = Reduce(storage).Sum(several);
  if (threadIdx.x == 0) {
    float *row = out + 4 * blockIdx.x;
    row[0] = sum, row[1] = most, row[2] = part, row[3] = all;
  }
}
EXPORT block_reduces(const float *in, float *out, int blocks) {
  return guarded([&] { block_reduce<<<blocks, threads>>>(in, out); });
}

__global__ void block_scan(const int *in, int *out) {
  using Scan = cub::BlockScan<int, threads>;
  using Load = cub::BlockLoad<int, threads, items, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, threads, items, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {
    typename Scan::TempStorage scan;
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } storage;
  const int n = threads * items;
  int mine[items], result[items], total;
  Load(storage.load).Load(in, mine);
  __syncthreads();
  Scan(storage.scan).InclusiveSum(mine, result, total);
  __syncthreads();
  Store(storage.store).Store(out, result);
  __syncthreads();
  Scan(storage.scan).ExclusiveSum(mine, result);
  __syncthreads();
  Store(storage.store).Store(out + n, result);
  __syncthreads();
  int one;
  Scan(storage.scan).ExclusiveScan(in[threadIdx.x], one, -5, cub::Max());
  out[2 * n + threadIdx.x] = one;
  __syncthreads();
  Running running{1000};
  for (int tile = 0; tile < items; ++tile) {
    Scan(storage.scan).ExclusiveSum(in[tile * threads + threadIdx.x], one, running);
    out[2 * n + threads + tile * threads + threadIdx.x] = one;
    __syncthreads();
  }
  if (threadIdx.x == 5) out[3 * n + threads] = total;
}
EXPORT block_scans(const int *in, int *out) {
  return guarded([&] { block_scan<<<1, threads>>>(in, out); });
}

template <class K>
__global__ void block_sort(const K *in, K *up, K *down, int *from) {
  using Sort = cub::BlockRadixSort<K, threads, items, int>;
  __shared__ typename Sort::TempStorage storage;
  K keys[items];
  int places[items];
  for (int i = 0; i < items; ++i) {
    places[i] = threadIdx.x * items + i;
    keys[i] = in[places[i]];
  }
  Sort(storage).Sort(keys, places);
  for (int i = 0; i < items; ++i) {
    up[threadIdx.x * items + i] = keys[i];
    from[threadIdx.x * items + i] = places[i];
  }
  __syncthreads();
  Sort(storage).SortDescendingBlockedToStriped(keys, places);
  for (int i = 0; i < items; ++i) down[i * threads + threadIdx.x] = keys[i];
}
#define SORT(name, K)                                                                      \
  EXPORT sort_##name(const K *in, K *up, K *down, int *from) {                             \
    return guarded([&] { block_sort<K><<<1, threads>>>(in, up, down, from); });            \
  }
SORT(int32, int)
SORT(uint8, unsigned char)
SORT(int16, short)
SORT(float32, float)
SORT(float64, double)

__global__ void warp_primitives(const int *in, int *out) {
  using Reduce = cub::WarpReduce<int>;
  using Scan = cub::WarpScan<int, 8>;
  __shared__ typename Reduce::TempStorage reduce[2];
  __shared__ typename Scan::TempStorage scan[8];
  const int mine = in[threadIdx.x], warp = threadIdx.x / 32;
  const int sum = Reduce(reduce[warp]).Sum(mine);
  __syncwarp();
  const int few = Reduce(reduce[warp]).Reduce(mine, cub::Max(), 10);
  int inclusive, exclusive, total;
  Scan(scan[threadIdx.x / 8]).InclusiveSum(mine, inclusive, total);
  __syncwarp();
  Scan(scan[threadIdx.x / 8]).ExclusiveSum(mine, exclusive);
  int *row = out + 5 * threadIdx.x;
  row[0] = threadIdx.x % 32 ? 0 : sum, row[1] = threadIdx.x % 32 ? 0 : few;
  row[2] = inclusive, row[3] = exclusive, row[4] = total;
}
EXPORT warps(const int *in, int *out) {
  return guarded([&] { warp_primitives<<<1, 64>>>(in, out); });
}

// The two calls that cub's device functions take: how much, then do it.
template <class Call>
void twice(Call call) {
  size_t bytes = 0;
  call(nullptr, bytes);
  void *storage;
  cudaMalloc(&storage, bytes);
  call(storage, bytes);
  cudaFree(storage);
}
struct Odd {
  __host__ __device__ bool operator()(int x) const { return x & 1; }
};
struct Square {
  __host__ __device__ double operator()(int x) const { return double(x) * x; }
};
EXPORT device(const int *in, const int *places, int n, int *out, double *squares) {
  return guarded([&] {
    twice([&](void *s, size_t &b) { cub::DeviceReduce::Sum(s, b, in, out, n); });
    twice([&](void *s, size_t &b) { cub::DeviceReduce::Max(s, b, in, out + 1, n); });
    twice([&](void *s, size_t &b) { cub::DeviceReduce::Min(s, b, in, out + 2, n); });
    cub::KeyValuePair<int, int> best;
    twice([&](void *s, size_t &b) { cub::DeviceReduce::ArgMax(s, b, in, &best, n); });
    out[3] = best.key;
    cub::TransformInputIterator<double, Square, const int *> transformed(in, Square());
    twice([&](void *s, size_t &b) { cub::DeviceReduce::Sum(s, b, transformed, squares, n); });
    int *next = out + 8;
    twice([&](void *s, size_t &b) { cub::DeviceScan::InclusiveSum(s, b, in, next, n); });
    twice([&](void *s, size_t &b) { cub::DeviceScan::ExclusiveSum(s, b, in, next + n, n); });
    twice([&](void *s, size_t &b) { cub::DeviceSelect::If(s, b, in, next + 2 * n, out + 4, n, Odd()); });
    twice([&](void *s, size_t &b) { cub::DeviceSelect::Unique(s, b, in, next + 3 * n, out + 5, n); });
    cub::CountingInputIterator<int> counting{0};
    twice([&](void *s, size_t &b) { cub::DeviceRadixSort::SortPairsDescending(s, b, in, next + 4 * n, places, next + 5 * n, n); });
    cub::DoubleBuffer<int> keys(next + 6 * n, next + 7 * n);
    memcpy(keys.Current(), in, n * sizeof(int));
    twice([&](void *s, size_t &b) { cub::DeviceRadixSort::SortKeys(s, b, keys, n); });
    if (keys.Current() != next + 6 * n) memcpy(next + 6 * n, keys.Current(), n * sizeof(int));
    twice([&](void *s, size_t &b) { cub::DeviceSelect::Flagged(s, b, counting, in, next + 7 * n, out + 6, n); });
  });
}
