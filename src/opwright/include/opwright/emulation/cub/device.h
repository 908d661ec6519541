/* cub's device-wide algorithms: called by the host, they do their work there, on the memory that stands for the device's.
 * As with cub, a first call without temporary storage says how much is needed.
 */
#ifndef OPWRIGHT_EMULATION_CUB_DEVICE_H
#define OPWRIGHT_EMULATION_CUB_DEVICE_H

#include "../cuda_api.h"
#include "common.h"

namespace cub {
namespace detail {

/* True in the call that asks for the size. */
inline bool asks(void *storage, size_t &bytes, size_t needed = 1) {
  if (!storage) bytes = needed ? needed : 1;
  else ::opwright::emulation::host_work_of_thread({"a function of CUB's", "", 0});
  return !storage;
}

template <class T> struct Plain { using type = T; };
template <class T> struct Plain<const T> { using type = T; };
template <class T> struct Plain<T &> : Plain<T> {};
template <class T> T made(); /* for decltype only */
template <class Iterator> using Item = typename Plain<decltype(made<Iterator>()[0])>::type;

template <class Input, class Output, class Operation, class T>
inline void scan(Input input, Output output, size_t count, Operation operation, T all, bool has, bool inclusive) {
  for (size_t i = 0; i < count; ++i) {
    const T item = input[i];
    if (!inclusive) output[i] = all;
    all = has ? operation(all, item) : item;
    has = true;
    if (inclusive) output[i] = all;
  }
}

}  // namespace detail

struct DeviceReduce {
  template <class Input, class Output, class Operation, class T>
  static cudaError_t Reduce(void *storage, size_t &bytes, Input input, Output output, long long count,
                            Operation operation, T initial, cudaStream_t = nullptr, bool = false) {
    if (detail::asks(storage, bytes)) return cudaSuccess;
    for (long long i = 0; i < count; ++i) initial = T(operation(initial, T(input[i])));
    *output = initial;
    return cudaSuccess;
  }
  template <class Input, class Output>
  static cudaError_t Sum(void *storage, size_t &bytes, Input input, Output output, long long count,
                         cudaStream_t = nullptr, bool = false) {
    return Reduce(storage, bytes, input, output, count, cub::Sum(), detail::Item<Input>());
  }
  template <class Input, class Output>
  static cudaError_t Max(void *storage, size_t &bytes, Input input, Output output, long long count,
                         cudaStream_t = nullptr, bool = false) {
    return extreme(storage, bytes, input, output, count, cub::Max());
  }
  template <class Input, class Output>
  static cudaError_t Min(void *storage, size_t &bytes, Input input, Output output, long long count,
                         cudaStream_t = nullptr, bool = false) {
    return extreme(storage, bytes, input, output, count, cub::Min());
  }
  template <class Input, class Output>
  static cudaError_t ArgMax(void *storage, size_t &bytes, Input input, Output output, int count, cudaStream_t = nullptr,
                            bool = false) {
    return place(storage, bytes, input, output, count, cub::ArgMax());
  }
  template <class Input, class Output>
  static cudaError_t ArgMin(void *storage, size_t &bytes, Input input, Output output, int count, cudaStream_t = nullptr,
                            bool = false) {
    return place(storage, bytes, input, output, count, cub::ArgMin());
  }
  template <class Keys, class Unique, class Values, class Totals, class Runs, class Operation>
  static cudaError_t ReduceByKey(void *storage, size_t &bytes, Keys keys, Unique unique, Values values, Totals totals,
                                 Runs runs, Operation operation, long long count, cudaStream_t = nullptr, bool = false);

 private:
  template <class Input, class Output, class Operation>
  static cudaError_t extreme(void *storage, size_t &bytes, Input input, Output output, long long count,
                             Operation operation) {
    if (!storage || count < 1) return detail::asks(storage, bytes), cudaSuccess;
    return Reduce(storage, bytes, input + 1, output, count - 1, operation, detail::Item<Input>(input[0]));
  }
  template <class Input, class Output, class Operation>
  static cudaError_t place(void *storage, size_t &bytes, Input input, Output output, int count, Operation operation) {
    if (!storage || count < 1) return detail::asks(storage, bytes), cudaSuccess;
    KeyValuePair<int, detail::Item<Input>> best{0, input[0]};
    for (int i = 1; i < count; ++i) best = operation(best, KeyValuePair<int, detail::Item<Input>>{i, input[i]});
    *output = best;
    return cudaSuccess;
  }
};

struct DeviceScan {
  template <class Input, class Output, class Operation, class T>
  static cudaError_t ExclusiveScan(void *storage, size_t &bytes, Input input, Output output, Operation operation,
                                   T initial, long long count, cudaStream_t = nullptr, bool = false) {
    if (!detail::asks(storage, bytes)) detail::scan(input, output, size_t(count), operation, initial, true, false);
    return cudaSuccess;
  }
  template <class Input, class Output, class Operation>
  static cudaError_t InclusiveScan(void *storage, size_t &bytes, Input input, Output output, Operation operation,
                                   long long count, cudaStream_t = nullptr, bool = false) {
    if (!detail::asks(storage, bytes))
      detail::scan(input, output, size_t(count), operation, detail::Item<Input>(), false, true);
    return cudaSuccess;
  }
  template <class Input, class Output>
  static cudaError_t ExclusiveSum(void *storage, size_t &bytes, Input input, Output output, long long count,
                                  cudaStream_t = nullptr, bool = false) {
    return ExclusiveScan(storage, bytes, input, output, cub::Sum(), detail::Item<Input>(), count);
  }
  template <class Input, class Output>
  static cudaError_t InclusiveSum(void *storage, size_t &bytes, Input input, Output output, long long count,
                                  cudaStream_t = nullptr, bool = false) {
    return InclusiveScan(storage, bytes, input, output, cub::Sum(), count);
  }
};

struct DeviceSelect {
  template <class Input, class Flags, class Output, class Count>
  static cudaError_t Flagged(void *storage, size_t &bytes, Input input, Flags flags, Output output, Count selected,
                             long long count, cudaStream_t = nullptr, bool = false) {
    return pick(storage, bytes, input, output, selected, count, [=](long long i) { return bool(flags[i]); });
  }
  template <class Input, class Output, class Count, class Condition>
  static cudaError_t If(void *storage, size_t &bytes, Input input, Output output, Count selected, long long count,
                        Condition condition, cudaStream_t = nullptr, bool = false) {
    return pick(storage, bytes, input, output, selected, count, [=](long long i) { return bool(condition(input[i])); });
  }
  template <class Input, class Output, class Count>
  static cudaError_t Unique(void *storage, size_t &bytes, Input input, Output output, Count selected, long long count,
                            cudaStream_t = nullptr, bool = false) {
    return pick(storage, bytes, input, output, selected, count,
                [=](long long i) { return !i || !(input[i] == input[i - 1]); });
  }

 private:
  template <class Input, class Output, class Count, class Chosen>
  static cudaError_t pick(void *storage, size_t &bytes, Input input, Output output, Count selected, long long count,
                          Chosen chosen) {
    if (detail::asks(storage, bytes)) return cudaSuccess;
    long long kept = 0;
    for (long long i = 0; i < count; ++i)
      if (chosen(i)) output[kept++] = input[i];
    *selected = kept;
    return cudaSuccess;
  }
};

}  // namespace cub
#endif
