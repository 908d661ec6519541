#include "program.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

template <unsigned size>
__global__ void tiles(const int *in, int *out) {
  const auto tile = cg::tiled_partition<size>(cg::this_thread_block());
  const int mine = in[threadIdx.x];
  int *row = out + 8 * threadIdx.x;
  row[0] = tile.thread_rank() + 100 * tile.meta_group_rank() + 10000 * tile.meta_group_size();
  row[1] = cg::reduce(tile, mine, cg::plus<int>());
  row[2] = cg::reduce(tile, mine, cg::greater<int>());
  row[3] = cg::inclusive_scan(tile, mine);
  row[4] = cg::exclusive_scan(tile, mine);
  row[5] = tile.shfl(mine, 1);
  row[6] = tile.ballot(mine & 1);
  row[7] = tile.any(mine > 9) + 2 * tile.all(mine > 0);
  tile.sync();
}
EXPORT tiles32(const int *in, int *out) { return guarded([&] { tiles<32><<<1, 64>>>(in, out); }); }
EXPORT tiles8(const int *in, int *out) { return guarded([&] { tiles<8><<<1, 64>>>(in, out); }); }
EXPORT tiles2(const int *in, int *out) { return guarded([&] { tiles<2><<<1, 64>>>(in, out); }); }

// A group of any type, halved again and again, as NVIDIA's introduction has it.
__device__ int sum_of(cg::thread_group group, int *values, int mine) {
  const int lane = group.thread_rank();
  for (int i = group.size() / 2; i > 0; i /= 2) {
    values[lane] = mine;
    group.sync();
    if (lane < i) mine += values[lane + i];
    group.sync();
  }
  return mine;
}
__global__ void any_group(int *out) {
  extern __shared__ int values[];
  const cg::thread_block block = cg::this_thread_block();
  const int all = sum_of(block, values, threadIdx.x);
  const cg::thread_group tile = cg::tiled_partition(block, 16);
  const int part = sum_of(tile, values + threadIdx.x / 16 * 16, threadIdx.x);
  if (tile.thread_rank() == 0) out[threadIdx.x / 16] = part;
  if (block.thread_rank() == 0) out[8] = all;
}
EXPORT any_groups(int *out) {
  return guarded([&] { any_group<<<1, 128, 128 * sizeof(int)>>>(out); });
}

struct Wide { double a; long long b; float c; };
__global__ void coalesced(int *out) {
  int *row = out + 6 * threadIdx.x;
  if (threadIdx.x % 4 == 1) {
    const cg::coalesced_group group = cg::coalesced_threads();
    row[0] = group.thread_rank() + 100 * group.size();
    row[1] = cg::reduce(group, int(threadIdx.x), cg::plus<int>());
    row[2] = cg::inclusive_scan(group, int(threadIdx.x), cg::plus<int>());
    row[3] = group.shfl_down(int(threadIdx.x), 2);
    const Wide wide = group.shfl(Wide{double(threadIdx.x), 3, 4}, 2);
    row[4] = int(wide.a) + wide.b + int(wide.c);
    row[5] = cg::labeled_partition(group, threadIdx.x / 16).size();
  }
}
EXPORT coalesced_lanes(int *out) {
  return guarded([&] { coalesced<<<1, 32>>>(out); });
}

// Every block reads what its neighbour wrote, with the grid's barrier between; `steps` times.
__global__ void neighbours(int *a, int *b, int steps) {
  const cg::grid_group grid = cg::this_grid();
  const int n = grid.size(), me = grid.thread_rank();
  for (int i = 0; i < steps; ++i) {
    b[me] = a[(me + blockDim.x) % n] + 1;
    grid.sync();
    int *const kept = a;
    a = b;
    b = kept;
  }
}
EXPORT neighbour(int *a, int *b, int steps, int blocks, int threads) {
  return guarded([&] {
    void *arguments[] = {&a, &b, &steps};
    cudaLaunchCooperativeKernel(neighbours, dim3(blocks), dim3(threads), arguments, 0, nullptr);
  });
}
__global__ void some_blocks() {
  if (blockIdx.x) cg::this_grid().sync();
}
EXPORT missing_block() {
  return guarded([&] { cudaLaunchCooperativeKernel(some_blocks, dim3(3), dim3(32), nullptr, 0, nullptr); });
}
EXPORT not_cooperative() {
  return guarded([&] { some_blocks<<<2, 32>>>(); });
}
