/* cub::BlockReduce, cub::WarpReduce. As with cub, only the first thread's result is defined. */
#ifndef OPWRIGHT_EMULATION_CUB_REDUCE_H
#define OPWRIGHT_EMULATION_CUB_REDUCE_H

#include "common.h"

namespace cub {

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
  static constexpr int threads = X * Y * Z;
  struct Layout { Uninitialized<T> values[threads]; };

 public:
  struct TempStorage : Uninitialized<Layout> {};
  BlockReduce() : layout_(detail::own_storage<Layout>()) {}
  BlockReduce(TempStorage &storage) : layout_(storage.Alias()) {}

  template <class Operation> T Reduce(T input, Operation operation, OPWRIGHT_EMULATION_HERE) {
    return Reduce(input, operation, threads, file, line);
  }
  template <class Operation> T Reduce(T input, Operation operation, int valid, OPWRIGHT_EMULATION_HERE) {
    const unsigned me = detail::linear_index();
    layout_.values[me].Alias() = input;
    detail::wait(file, line);
    return me == 0 ? all(operation, valid) : input;
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
  T &at(int i) { return layout_.values[i].Alias(); }
  /* Warp by warp, as cub does: long sums of floats keep their digits. */
  template <class Operation> T all(Operation operation, int valid) {
    T result = at(0);
    for (int first = 0; first < valid; first += 32) {
      T part = at(first);
      for (int i = first + 1; i < valid && i < first + 32; ++i) part = operation(part, at(i));
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
  WarpReduce(TempStorage &) {}

  template <class Operation> T Reduce(T input, Operation operation, OPWRIGHT_EMULATION_HERE) {
    return Reduce(input, operation, Width, file, line);
  }
  template <class Operation> T Reduce(T input, Operation operation, int valid, OPWRIGHT_EMULATION_HERE) {
    using namespace opwright::emulation;
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
};

}  // namespace cub
#endif
