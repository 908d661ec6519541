/* How much shared memory cub's primitives take: as much as with nvcc, so that kernels that count on it fit (the sizes that nvcc 13.0
 * gives with CCCL 3.0: tests/cuda/emulation/core/kernels/cub_sizes.txt). What the primitives here keep there is no more than that.
 */
#ifndef OPWRIGHT_EMULATION_CUB_STORAGE_H
#define OPWRIGHT_EMULATION_CUB_STORAGE_H

#include "common.h"
#include "use.h"

namespace cub {
namespace detail {

constexpr size_t widest = 16; /* what cub aligns most storage to */
constexpr size_t up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }
constexpr size_t most(size_t a, size_t b) { return a < b ? b : a; }
constexpr bool is_power_of_2(int n) { return (n & (n - 1)) == 0; }

template <size_t bytes, size_t alignment> struct Storage {
  alignas(alignment) char memory[bytes];
  template <class Layout> Layout &as() {
    static_assert(sizeof(Layout) <= bytes, "more than cub takes");
    return *reinterpret_cast<Layout *>(memory);
  }
};
template <class T> constexpr size_t alignment_of = most(alignof(T), widest);

/* Warps of 1, 2, 4, ..., 32 threads shuffle; others go through memory, with room behind the last thread. */
constexpr int warp_elements(int width) {
  int half = 1;
  while (2 * half < width) half *= 2;
  return width + half;
}
template <class T> constexpr size_t warp_reduce_bytes(int width) {
  return is_power_of_2(width) ? 1 : up(size_t(warp_elements(width)) * (sizeof(T) + 1), alignof(T));
}
template <class T> constexpr size_t warp_scan_bytes(int width) {
  return is_power_of_2(width) ? 1 : size_t(warp_elements(width)) * sizeof(T);
}

/* The threads of one warp that go over what a block has put into a grid, and that grid. */
constexpr int raking_segment(int threads) { return (threads + 31) / 32; }
constexpr int raking_threads(int threads) { return (threads + raking_segment(threads) - 1) / raking_segment(threads); }
template <class T> constexpr size_t raking_grid_bytes(int threads) {
  const int segment = raking_segment(threads), padded = segment + (segment % 2 == 0 && segment > 2);
  return up(size_t(raking_threads(threads) * padded) * sizeof(T), alignment_of<T>);
}

template <class T, int threads> constexpr size_t reduce_bytes(BlockReduceAlgorithm algorithm) {
  constexpr int warps = (threads + 31) / 32, width = threads < 32 ? threads : 32;
  if (algorithm == BLOCK_REDUCE_WARP_REDUCTIONS)
    return up(size_t(warps) * warp_reduce_bytes<T>(width), alignof(T)) + size_t(warps + 1) * sizeof(T);
  return up(most(warp_reduce_bytes<T>(raking_threads(threads)), raking_grid_bytes<T>(threads)), alignment_of<T>);
}

constexpr bool scans_by_warps(BlockScanAlgorithm algorithm, int threads) {
  return algorithm == BLOCK_SCAN_WARP_SCANS && threads % 32 == 0;
}
template <class T, int threads> constexpr size_t scan_bytes(BlockScanAlgorithm algorithm) {
  constexpr size_t warps = threads / 32, a = alignment_of<T>;
  if (scans_by_warps(algorithm, threads))
    return up(up(warps * sizeof(T) + warps, alignof(T)) + sizeof(T), most(32, alignof(T)));
  return up(up(warp_scan_bytes<T>(raking_threads(threads)), a) + raking_grid_bytes<T>(threads) + sizeof(T), a);
}

template <class T, int items> constexpr size_t exchange_bytes(int threads) {
  const size_t count = size_t(threads) * items;
  return up((count + (items > 4 && is_power_of_2(items) ? count / 32 : 0)) * sizeof(T), alignment_of<T>);
}

/* Counters of four bits' digits, two in a word, or what an exchange of keys or values takes. */
template <class K, class V, int items, int threads> constexpr size_t sort_bytes() {
  const size_t ranks = size_t(threads) * 9 * 4 + scan_bytes<unsigned, threads>(BLOCK_SCAN_WARP_SCANS);
  const size_t values = __is_same(V, NullType) ? 0 : exchange_bytes<V, items>(threads);
  return up(most(ranks, most(exchange_bytes<K, items>(threads), values)), alignment_of<K>);
}

}  // namespace detail
}  // namespace cub
#endif
