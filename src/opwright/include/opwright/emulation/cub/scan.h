/* cub::BlockScan, cub::WarpScan. */
#ifndef OPWRIGHT_EMULATION_CUB_SCAN_H
#define OPWRIGHT_EMULATION_CUB_SCAN_H

#include "common.h"

namespace cub {

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
  static constexpr int threads = X * Y * Z;
  struct Layout { Uninitialized<T> values[threads], total, start; }; /* values[i]: of all before and i */

 public:
  struct TempStorage : Uninitialized<Layout> {};
  BlockScan() : layout_(detail::own_storage<Layout>()) {}
  BlockScan(TempStorage &storage) : layout_(storage.Alias()) {}

  template <class Operation>
  void InclusiveScan(T input, T &output, Operation operation, T &total, OPWRIGHT_EMULATION_HERE) {
    scan(input, operation, file, line);
    total = layout_.total.Alias();
    output = before_and(detail::linear_index());
  }
  template <class Operation> void InclusiveScan(T input, T &output, Operation operation, OPWRIGHT_EMULATION_HERE) {
    T total;
    InclusiveScan(input, output, operation, total, file, line);
  }
  void InclusiveSum(T input, T &output, OPWRIGHT_EMULATION_HERE) { InclusiveScan(input, output, Sum(), file, line); }
  void InclusiveSum(T input, T &output, T &total, OPWRIGHT_EMULATION_HERE) {
    InclusiveScan(input, output, Sum(), total, file, line);
  }

  template <class Operation>
  void ExclusiveScan(T input, T &output, T initial, Operation operation, T &total, OPWRIGHT_EMULATION_HERE) {
    scan(input, operation, file, line);
    const unsigned me = detail::linear_index();
    total = layout_.total.Alias();
    output = me ? operation(initial, before_and(me - 1)) : initial;
  }
  template <class Operation>
  void ExclusiveScan(T input, T &output, T initial, Operation operation, OPWRIGHT_EMULATION_HERE) {
    T total;
    ExclusiveScan(input, output, initial, operation, total, file, line);
  }
  void ExclusiveSum(T input, T &output, OPWRIGHT_EMULATION_HERE) {
    ExclusiveScan(input, output, T(), Sum(), file, line);
  }
  void ExclusiveSum(T input, T &output, T &total, OPWRIGHT_EMULATION_HERE) {
    ExclusiveScan(input, output, T(), Sum(), total, file, line);
  }
  /* `prefix(total)`, called by the first warp, gives what comes before the block. */
  template <class Prefix>
  void ExclusiveSum(T input, T &output, Prefix &prefix, OPWRIGHT_EMULATION_HERE) {
    T total, start;
    ExclusiveScan(input, output, T(), Sum(), total, file, line);
    if (detail::linear_index() < 32) start = prefix(total);
    output = share(start, file, line) + output;
  }

  template <int items, class Operation>
  void InclusiveScan(T (&input)[items], T (&output)[items], Operation operation, T &total, OPWRIGHT_EMULATION_HERE) {
    scan(detail::fold(input, operation), operation, file, line);
    const unsigned me = detail::linear_index();
    T all = me ? operation(before_and(me - 1), input[0]) : input[0];
    for (int i = 0; i < items; ++i) {
      if (i) all = operation(all, input[i]);
      output[i] = all;
    }
    total = layout_.total.Alias();
  }
  template <int items, class Operation>
  void InclusiveScan(T (&input)[items], T (&output)[items], Operation operation, OPWRIGHT_EMULATION_HERE) {
    T total;
    InclusiveScan(input, output, operation, total, file, line);
  }
  template <int items> void InclusiveSum(T (&input)[items], T (&output)[items], OPWRIGHT_EMULATION_HERE) {
    InclusiveScan(input, output, Sum(), file, line);
  }
  template <int items> void InclusiveSum(T (&input)[items], T (&output)[items], T &total, OPWRIGHT_EMULATION_HERE) {
    InclusiveScan(input, output, Sum(), total, file, line);
  }
  template <int items, class Operation>
  void ExclusiveScan(T (&input)[items], T (&output)[items], T initial, Operation operation, T &total,
                     OPWRIGHT_EMULATION_HERE) {
    scan(detail::fold(input, operation), operation, file, line);
    const unsigned me = detail::linear_index();
    T all = me ? operation(initial, before_and(me - 1)) : initial;
    for (int i = 0; i < items; ++i) {
      const T here = input[i];
      output[i] = all;
      all = operation(all, here);
    }
    total = layout_.total.Alias();
  }
  template <int items, class Operation>
  void ExclusiveScan(T (&input)[items], T (&output)[items], T initial, Operation operation, OPWRIGHT_EMULATION_HERE) {
    T total;
    ExclusiveScan(input, output, initial, operation, total, file, line);
  }
  template <int items> void ExclusiveSum(T (&input)[items], T (&output)[items], OPWRIGHT_EMULATION_HERE) {
    ExclusiveScan(input, output, T(), Sum(), file, line);
  }
  template <int items> void ExclusiveSum(T (&input)[items], T (&output)[items], T &total, OPWRIGHT_EMULATION_HERE) {
    ExclusiveScan(input, output, T(), Sum(), total, file, line);
  }

 private:
  T &before_and(unsigned i) { return layout_.values[i].Alias(); }
  template <class Operation> void scan(T input, Operation operation, const char *file, int line) {
    const unsigned me = detail::linear_index();
    before_and(me) = input;
    detail::wait(file, line);
    if (me == 0) {
      for (unsigned i = 1; i < threads; ++i) before_and(i) = operation(before_and(i - 1), before_and(i));
      layout_.total.Alias() = before_and(threads - 1);
    }
    detail::wait(file, line);
  }
  T share(T value, const char *file, int line) {
    if (detail::linear_index() == 0) layout_.start.Alias() = value;
    detail::wait(file, line);
    return layout_.start.Alias();
  }
  Layout &layout_;
};

template <class T, int Width = 32, int = 0>
class WarpScan {
  static_assert((Width & (Width - 1)) == 0, "the emulator has logical warps of 1, 2, 4, 8, 16 and 32 threads");

 public:
  struct TempStorage {};
  WarpScan(TempStorage &) {}

  template <class Operation> void InclusiveScan(T input, T &output, Operation operation, OPWRIGHT_EMULATION_HERE) {
    using namespace opwright::emulation;
    const unsigned lane = lane_index();
    for (unsigned distance = 1; distance < Width; distance *= 2) {
      const T before = exchange_any(mask(), input, source_up(lane, distance, Width), file, line);
      if (lane % Width >= distance) input = operation(before, input);
    }
    output = input;
  }
  template <class Operation>
  void InclusiveScan(T input, T &output, Operation operation, T &total, OPWRIGHT_EMULATION_HERE) {
    InclusiveScan(input, output, operation, file, line);
    total = Broadcast(output, Width - 1, file, line);
  }
  template <class Operation>
  void ExclusiveScan(T input, T &output, T initial, Operation operation, OPWRIGHT_EMULATION_HERE) {
    using namespace opwright::emulation;
    T all;
    InclusiveScan(input, all, operation, file, line);
    const T before = exchange_any(mask(), all, source_up(lane_index(), 1, Width), file, line);
    output = lane_index() % Width ? operation(initial, before) : initial;
  }
  void InclusiveSum(T input, T &output, OPWRIGHT_EMULATION_HERE) { InclusiveScan(input, output, Sum(), file, line); }
  void InclusiveSum(T input, T &output, T &total, OPWRIGHT_EMULATION_HERE) {
    InclusiveScan(input, output, Sum(), total, file, line);
  }
  void ExclusiveSum(T input, T &output, OPWRIGHT_EMULATION_HERE) {
    ExclusiveScan(input, output, T(), Sum(), file, line);
  }
  void ExclusiveSum(T input, T &output, T &total, OPWRIGHT_EMULATION_HERE) {
    ExclusiveSum(input, output, file, line);
    total = Broadcast(T(output + input), Width - 1, file, line);
  }
  T Broadcast(T input, unsigned from, OPWRIGHT_EMULATION_HERE) {
    using namespace opwright::emulation;
    return exchange_any(mask(), input, source_lane(lane_index(), int(from), Width), file, line);
  }

 private:
  static unsigned mask() {
    return Width == 32 ? ~0u : ((1u << Width % 32) - 1) << (opwright::emulation::lane_index() & ~unsigned(Width - 1));
  }
};

}  // namespace cub
#endif
