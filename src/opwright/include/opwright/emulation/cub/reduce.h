/* cub::BlockReduce, cub::WarpReduce. As with cub, only the first thread's result is defined. */
#ifndef OPWRIGHT_EMULATION_CUB_REDUCE_H
#define OPWRIGHT_EMULATION_CUB_REDUCE_H

#include "storage.h"

namespace cub {

template <class T, int X, BlockReduceAlgorithm algorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
  static constexpr int threads = X * Y * Z, warps = (threads + 31) / 32;
  static constexpr bool by_warps = algorithm == BLOCK_REDUCE_WARP_REDUCTIONS;
  struct Layout { Uninitialized<T> values[by_warps ? warps : threads]; };

 public:
  struct TempStorage
      : detail::Storage<detail::reduce_bytes<T, threads>(algorithm), by_warps ? alignof(T) : detail::alignment_of<T>> {
  };
  BlockReduce() : layout_(detail::own_storage<Layout>()) {}
  BlockReduce(TempStorage &storage) : layout_(storage.template as<Layout>()) {}

  template <class Operation> T Reduce(T input, Operation operation, OPWRIGHT_EMULATION_HERE) {
    return Reduce(input, operation, threads, file, line);
  }
  template <class Operation> T Reduce(T input, Operation operation, int valid, OPWRIGHT_EMULATION_HERE) {
    const detail::Use use(&layout_, sizeof(layout_), detail::whole_block, file, line);
    const unsigned me = detail::linear_index();
    if (!by_warps) at(me) = input;
    else input = of_warp(input, operation, valid, file, line);
    if (by_warps && me % 32 == 0) at(me / 32) = input;
    detail::wait(file, line);
    if (me) return input;
    return by_warps ? fold(operation, (valid + 31) / 32) : all(operation, valid);
  }
  template <int items, class Operation> T Reduce(T (&input)[items], Operation operation, OPWRIGHT_EMULATION_HERE) {
    return Reduce(detail::fold(input, operation), operation, threads, file, line);
  }
  T Sum(T input, OPWRIGHT_EMULATION_HERE) { return Reduce(input, cub::Sum(), threads, file, line); }
  T Sum(T input, int valid, OPWRIGHT_EMULATION_HERE) { return Reduce(input, cub::Sum(), valid, file, line); }
  template <int items> T Sum(T (&input)[items], OPWRIGHT_EMULATION_HERE) {
    return Reduce(detail::fold(input, cub::Sum()), cub::Sum(), threads, file, line);
  }

 private:
  T &at(unsigned i) { return layout_.values[i].Alias(); }
  /* By shuffles; the last warp may have fewer lanes. */
  template <class Operation> static T of_warp(T input, Operation operation, int valid, const char *file, int line) {
    using namespace opwright::emulation;
    const int first = int(detail::linear_index() / 32 * 32), lane = int(lane_index());
    const int lanes = threads - first < 32 ? threads - first : 32,
              counted = valid - first < lanes ? valid - first : lanes;
    const unsigned mask = lanes == 32 ? ~0u : (1u << lanes) - 1;
    for (int distance = 1; distance < lanes; distance *= 2) {
      const T other = exchange_any(mask, input, unsigned(lane + distance < lanes ? lane + distance : lane), file, line);
      if (lane + distance < counted) input = operation(input, other);
    }
    return input;
  }
  template <class Operation> T fold(Operation operation, int count) {
    T result = at(0);
    for (int i = 1; i < count; ++i) result = operation(result, at(unsigned(i)));
    return result;
  }
  /* Warp by warp too: long sums of floats keep their digits. */
  template <class Operation> T all(Operation operation, int valid) {
    T result = at(0);
    for (int first = 0; first < valid; first += 32) {
      T part = at(unsigned(first));
      for (int i = first + 1; i < valid && i < first + 32; ++i) part = operation(part, at(unsigned(i)));
      result = first ? operation(result, part) : part;
    }
    return result;
  }
  Layout &layout_;
};

template <class T, int Width = 32, int = 0>
class WarpReduce {
 public:
  struct TempStorage {};
  WarpReduce(TempStorage &storage) : storage_(storage) {}

  template <class Operation> T Reduce(T input, Operation operation, OPWRIGHT_EMULATION_HERE) {
    return Reduce(input, operation, Width, file, line);
  }
  template <class Operation> T Reduce(T input, Operation operation, int valid, OPWRIGHT_EMULATION_HERE) {
    using namespace opwright::emulation;
    const detail::Use use(&storage_, sizeof(storage_), Width, file, line);
    const unsigned lane = lane_index(), rank = lane % Width;
    for (int distance = 1; distance < Width; distance *= 2) {
      const T other = exchange_any(mask(), input, source_down(lane, unsigned(distance), round_up()), file, line);
      if (int(rank) + distance < valid) input = operation(input, other);
    }
    return input;
  }
  T Sum(T input, OPWRIGHT_EMULATION_HERE) { return Reduce(input, cub::Sum(), Width, file, line); }
  T Sum(T input, int valid, OPWRIGHT_EMULATION_HERE) { return Reduce(input, cub::Sum(), valid, file, line); }

 private:
  static_assert((Width & (Width - 1)) == 0, "the emulator has logical warps of 1, 2, 4, 8, 16 and 32 threads");
  static constexpr int round_up() { return Width; }
  static unsigned mask() {
    return Width == 32 ? ~0u : ((1u << Width % 32) - 1) << (opwright::emulation::lane_index() & ~unsigned(Width - 1));
  }
  TempStorage &storage_;
};

}  // namespace cub
#endif
