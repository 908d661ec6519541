/* cub::BlockScan, cub::WarpScan. */
#ifndef OPWRIGHT_EMULATION_CUB_SCAN_H
#define OPWRIGHT_EMULATION_CUB_SCAN_H

#include "storage.h"

namespace cub {

template <class T, int X, BlockScanAlgorithm algorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
  static constexpr int threads = X * Y * Z, warps = threads / 32;
  static constexpr bool by_warps = detail::scans_by_warps(algorithm, threads);
  /* Of each warp its total; or of each thread the scan up to it. */
  struct Layout { Uninitialized<T> values[by_warps ? warps : threads], start; };
  /* What a thread learns: the scan up to it and up to the one before (none of the first thread), and the total. */
  struct Found { T inclusive, before, total; };

 public:
  struct TempStorage : detail::Storage<detail::scan_bytes<T, threads>(algorithm), detail::alignment_of<T>> {};
  BlockScan() : layout_(detail::own_storage<Layout>()) {}
  BlockScan(TempStorage &storage) : layout_(storage.template as<Layout>()) {}

  template <class Operation>
  void InclusiveScan(T input, T &output, Operation operation, T &total, OPWRIGHT_EMULATION_HERE) {
    const Found found = scan(input, operation, file, line);
    total = found.total;
    output = found.inclusive;
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
    const Found found = scan(input, operation, file, line);
    total = found.total;
    output = detail::linear_index() ? operation(initial, found.before) : initial;
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
    const detail::Use use(&layout_, sizeof(layout_), detail::whole_block, file, line);
    T total;
    ExclusiveScan(input, output, T(), Sum(), total, file, line);
    T start = total;
    if (detail::linear_index() < 32) start = prefix(total);
    output = share(start, file, line) + output;
  }

  template <int items, class Operation>
  void InclusiveScan(T (&input)[items], T (&output)[items], Operation operation, T &total, OPWRIGHT_EMULATION_HERE) {
    const Found found = scan(detail::fold(input, operation), operation, file, line);
    T all = detail::linear_index() ? operation(found.before, input[0]) : input[0];
    for (int i = 0; i < items; ++i) {
      if (i) all = operation(all, input[i]);
      output[i] = all;
    }
    total = found.total;
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
    const Found found = scan(detail::fold(input, operation), operation, file, line);
    T all = detail::linear_index() ? operation(initial, found.before) : initial;
    for (int i = 0; i < items; ++i) {
      const T here = input[i];
      output[i] = all;
      all = operation(all, here);
    }
    total = found.total;
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
  T &at(unsigned i) { return layout_.values[i].Alias(); }
  template <class Operation> Found scan(T input, Operation operation, const char *file, int line) {
    const detail::Use use(&layout_, sizeof(layout_), detail::whole_block, file, line);
    const unsigned me = detail::linear_index();
    if constexpr (by_warps) {
      Found found = of_warp(input, operation, file, line);
      const unsigned warp = me / 32;
      if (me % 32 == 31) at(warp) = found.inclusive;
      detail::wait(file, line);
      T all = at(0);
      for (unsigned i = 1; i <= unsigned(warps); ++i) {
        if (i == warp) {
          found.inclusive = operation(all, found.inclusive);
          found.before = me % 32 ? operation(all, found.before) : all;
        }
        if (i < unsigned(warps)) all = operation(all, at(i));
      }
      found.total = all;
      return found;
    } else {
      at(me) = input;
      detail::wait(file, line);
      if (me == 0)
        for (unsigned i = 1; i < threads; ++i) at(i) = operation(at(i - 1), at(i));
      detail::wait(file, line);
      return {at(me), at(me ? me - 1 : 0), at(threads - 1)};
    }
  }
  template <class Operation> static Found of_warp(T input, Operation operation, const char *file, int line) {
    using namespace opwright::emulation;
    const unsigned lane = lane_index();
    for (unsigned distance = 1; distance < 32; distance *= 2) {
      const T before = exchange_any(~0u, input, lane >= distance ? lane - distance : lane, file, line);
      if (lane >= distance) input = operation(before, input);
    }
    return {input, exchange_any(~0u, input, lane ? lane - 1 : lane, file, line), input};
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
  WarpScan(TempStorage &storage) : storage_(storage) {}

  template <class Operation> void InclusiveScan(T input, T &output, Operation operation, OPWRIGHT_EMULATION_HERE) {
    const detail::Use use(&storage_, sizeof(storage_), Width, file, line);
    output = up_to(input, operation, file, line);
  }
  template <class Operation>
  void InclusiveScan(T input, T &output, Operation operation, T &total, OPWRIGHT_EMULATION_HERE) {
    const detail::Use use(&storage_, sizeof(storage_), Width, file, line);
    output = up_to(input, operation, file, line);
    total = from(output, Width - 1, file, line);
  }
  template <class Operation>
  void ExclusiveScan(T input, T &output, T initial, Operation operation, OPWRIGHT_EMULATION_HERE) {
    const detail::Use use(&storage_, sizeof(storage_), Width, file, line);
    output = before(input, initial, operation, file, line);
  }
  void InclusiveSum(T input, T &output, OPWRIGHT_EMULATION_HERE) { InclusiveScan(input, output, Sum(), file, line); }
  void InclusiveSum(T input, T &output, T &total, OPWRIGHT_EMULATION_HERE) {
    InclusiveScan(input, output, Sum(), total, file, line);
  }
  void ExclusiveSum(T input, T &output, OPWRIGHT_EMULATION_HERE) {
    ExclusiveScan(input, output, T(), Sum(), file, line);
  }
  void ExclusiveSum(T input, T &output, T &total, OPWRIGHT_EMULATION_HERE) {
    const detail::Use use(&storage_, sizeof(storage_), Width, file, line);
    output = before(input, T(), Sum(), file, line);
    total = from(T(output + input), Width - 1, file, line);
  }
  T Broadcast(T input, unsigned lane, OPWRIGHT_EMULATION_HERE) {
    const detail::Use use(&storage_, sizeof(storage_), Width, file, line);
    return from(input, lane, file, line);
  }

 private:
  template <class Operation> static T up_to(T input, Operation operation, const char *file, int line) {
    using namespace opwright::emulation;
    const unsigned lane = lane_index();
    for (unsigned distance = 1; distance < Width; distance *= 2) {
      const T other = exchange_any(mask(), input, source_up(lane, distance, Width), file, line);
      if (lane % Width >= distance) input = operation(other, input);
    }
    return input;
  }
  template <class Operation>
  static T before(T input, T initial, Operation operation, const char *file, int line) {
    using namespace opwright::emulation;
    const T all = up_to(input, operation, file, line);
    const T other = exchange_any(mask(), all, source_up(lane_index(), 1, Width), file, line);
    return lane_index() % Width ? operation(initial, other) : initial;
  }
  static T from(T input, unsigned lane, const char *file, int line) {
    using namespace opwright::emulation;
    return exchange_any(mask(), input, source_lane(lane_index(), int(lane), Width), file, line);
  }
  static unsigned mask() {
    return Width == 32 ? ~0u : ((1u << Width % 32) - 1) << (opwright::emulation::lane_index() & ~unsigned(Width - 1));
  }
  TempStorage &storage_;
};

}  // namespace cub
#endif
