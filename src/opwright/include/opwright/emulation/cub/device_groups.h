/* cub's device-wide algorithms over runs, keys, segments and bins. */
#ifndef OPWRIGHT_EMULATION_CUB_DEVICE_GROUPS_H
#define OPWRIGHT_EMULATION_CUB_DEVICE_GROUPS_H

#include "device.h"

namespace cub {

struct DeviceRunLengthEncode {
  template <class Input, class Unique, class Counts, class Runs>
  static cudaError_t Encode(void *storage, size_t &bytes, Input input, Unique unique, Counts counts, Runs runs,
                            long long count, cudaStream_t = nullptr, bool = false) {
    if (detail::asks(storage, bytes)) return cudaSuccess;
    long long found = 0;
    for (long long i = 0, first = 0; i < count; ++i) {
      if (i + 1 < count && input[i + 1] == input[i]) continue;
      unique[found] = input[first], counts[found++] = i + 1 - first;
      first = i + 1;
    }
    *runs = found;
    return cudaSuccess;
  }
  template <class Input, class Offsets, class Lengths, class Runs>
  static cudaError_t NonTrivialRuns(void *storage, size_t &bytes, Input input, Offsets offsets, Lengths lengths,
                                    Runs runs, long long count, cudaStream_t = nullptr, bool = false) {
    if (detail::asks(storage, bytes)) return cudaSuccess;
    long long found = 0;
    for (long long i = 0, first = 0; i < count; ++i) {
      if (i + 1 < count && input[i + 1] == input[i]) continue;
      if (i > first) offsets[found] = first, lengths[found++] = i + 1 - first;
      first = i + 1;
    }
    *runs = found;
    return cudaSuccess;
  }
};

struct DeviceSegmentedReduce {
  template <class Input, class Output, class Begins, class Ends, class Operation, class T>
  static cudaError_t Reduce(void *storage, size_t &bytes, Input input, Output output, long long segments, Begins begins,
                            Ends ends, Operation operation, T initial, cudaStream_t = nullptr, bool = false) {
    if (detail::asks(storage, bytes)) return cudaSuccess;
    for (long long s = 0; s < segments; ++s) {
      T all = initial;
      for (auto i = begins[s]; i < ends[s]; ++i) all = T(operation(all, T(input[i])));
      output[s] = all;
    }
    return cudaSuccess;
  }
  template <class Input, class Output, class Begins, class Ends>
  static cudaError_t Sum(void *storage, size_t &bytes, Input input, Output output, long long segments, Begins begins,
                         Ends ends, cudaStream_t = nullptr, bool = false) {
    return Reduce(storage, bytes, input, output, segments, begins, ends, cub::Sum(), detail::Item<Input>());
  }
  template <class Input, class Output, class Begins, class Ends>
  static cudaError_t Max(void *storage, size_t &bytes, Input input, Output output, long long segments, Begins begins,
                         Ends ends, cudaStream_t = nullptr, bool = false) {
    return extreme(storage, bytes, input, output, segments, begins, ends, cub::Max());
  }
  template <class Input, class Output, class Begins, class Ends>
  static cudaError_t Min(void *storage, size_t &bytes, Input input, Output output, long long segments, Begins begins,
                         Ends ends, cudaStream_t = nullptr, bool = false) {
    return extreme(storage, bytes, input, output, segments, begins, ends, cub::Min());
  }

 private:
  /* Of an empty segment cub gives the least, or the largest, number there is; here it stays as it was. */
  template <class Input, class Output, class Begins, class Ends, class Operation>
  static cudaError_t extreme(void *storage, size_t &bytes, Input input, Output output, long long segments,
                             Begins begins, Ends ends, Operation operation) {
    if (detail::asks(storage, bytes)) return cudaSuccess;
    for (long long s = 0; s < segments; ++s) {
      if (!(begins[s] < ends[s])) continue;
      detail::Item<Input> all = input[begins[s]];
      for (auto i = begins[s] + 1; i < ends[s]; ++i) all = operation(all, input[i]);
      output[s] = all;
    }
    return cudaSuccess;
  }
};

struct DeviceHistogram {
  template <class Input, class Counter, class Level>
  static cudaError_t HistogramEven(void *storage, size_t &bytes, Input input, Counter *bins, int levels, Level lower,
                                   Level upper, long long count, cudaStream_t = nullptr, bool = false) {
    const auto bin = [=](Level value) {
      if (!(lower <= value && value < upper)) return -1;
      if constexpr (opwright::emulation::is_whole<Level>::value)
        return int((unsigned long long)(value - lower) * (levels - 1) / (unsigned long long)(upper - lower));
      else return int((value - lower) * (Level(levels - 1) / (upper - lower)));
    };
    return fill(storage, bytes, input, bins, levels, count, [=](auto value) { return bin(Level(value)); });
  }
  template <class Input, class Counter, class Level>
  static cudaError_t HistogramRange(void *storage, size_t &bytes, Input input, Counter *bins, int levels,
                                    const Level *bounds, long long count, cudaStream_t = nullptr, bool = false) {
    return fill(storage, bytes, input, bins, levels, count, [=](auto value) {
      int at = -1;
      while (at + 1 < levels && bounds[at + 1] <= Level(value)) ++at;
      return at;
    });
  }

 private:
  template <class Input, class Counter, class Bin>
  static cudaError_t fill(void *storage, size_t &bytes, Input input, Counter *bins, int levels, long long count,
                          Bin bin) {
    if (detail::asks(storage, bytes)) return cudaSuccess;
    for (int i = 0; i + 1 < levels; ++i) bins[i] = 0;
    for (long long i = 0; i < count; ++i)
      if (const int at = bin(input[i]); at >= 0 && at + 1 < levels) ++bins[at];
    return cudaSuccess;
  }
};

/* With DeviceReduce's other functions: what is equal and adjacent is one key. */
template <class Keys, class Unique, class Values, class Totals, class Runs, class Operation>
inline cudaError_t DeviceReduce::ReduceByKey(void *storage, size_t &bytes, Keys keys, Unique unique, Values values,
                                             Totals totals, Runs runs, Operation operation, long long count,
                                             cudaStream_t, bool) {
  if (detail::asks(storage, bytes)) return cudaSuccess;
  long long found = 0;
  for (long long i = 0; i < count;) {
    detail::Item<Values> all = values[i];
    const long long first = i++;
    for (; i < count && keys[i] == keys[first]; ++i) all = operation(all, values[i]);
    unique[found] = keys[first], totals[found++] = all;
  }
  *runs = found;
  return cudaSuccess;
}

}  // namespace cub
#endif
