/* cub::DeviceRadixSort. */
#ifndef OPWRIGHT_EMULATION_CUB_DEVICE_SORT_H
#define OPWRIGHT_EMULATION_CUB_DEVICE_SORT_H

#include "device.h"

namespace cub {

class DeviceRadixSort {
  template <class K> static constexpr int bits = detail::Key<K>::bits;

  template <class K, class V>
  static cudaError_t sort(void *storage, size_t &bytes, const K *keys, K *sorted, const V *values, V *moved,
                          long long count, int begin, int end, bool descending) {
    const size_t n = size_t(count);
    if (detail::asks(storage, bytes, 2 * n * sizeof(unsigned))) return cudaSuccess;
    unsigned *from = static_cast<unsigned *>(storage), *other = from + n;
    detail::sort_indices(keys, from, other, n, begin, end, descending);
    for (size_t i = 0; i < n; ++i) {
      sorted[i] = keys[from[i]];
      if (values) moved[i] = values[from[i]];
    }
    return cudaSuccess;
  }

 public:
#define OPWRIGHT_EMULATION_SORT(keys_name, pairs_name, descending)                                                     \
  template <class K>                                                                                                   \
  static cudaError_t keys_name(void *storage, size_t &bytes, const K *keys, K *sorted, long long count, int begin = 0, \
                               int end = bits<K>, cudaStream_t = nullptr, bool = false) {                              \
    const NullType *none = nullptr;                                                                                    \
    return sort(storage, bytes, keys, sorted, none, static_cast<NullType *>(nullptr), count, begin, end, descending);  \
  }                                                                                                                    \
  template <class K>                                                                                                   \
  static cudaError_t keys_name(void *storage, size_t &bytes, DoubleBuffer<K> &keys, long long count, int begin = 0,    \
                               int end = bits<K>, cudaStream_t = nullptr, bool = false) {                              \
    const cudaError_t done = keys_name(storage, bytes, keys.Current(), keys.Alternate(), count, begin, end);           \
    keys.selector ^= storage != nullptr;                                                                               \
    return done;                                                                                                       \
  }                                                                                                                    \
  template <class K, class V>                                                                                          \
  static cudaError_t pairs_name(void *storage, size_t &bytes, const K *keys, K *sorted, const V *values, V *moved,     \
                                long long count, int begin = 0, int end = bits<K>, cudaStream_t = nullptr,             \
                                bool = false) {                                                                        \
    return sort(storage, bytes, keys, sorted, values, moved, count, begin, end, descending);                           \
  }                                                                                                                    \
  template <class K, class V>                                                                                          \
  static cudaError_t pairs_name(void *storage, size_t &bytes, DoubleBuffer<K> &keys, DoubleBuffer<V> &values,          \
                                long long count, int begin = 0, int end = bits<K>, cudaStream_t = nullptr,             \
                                bool = false) {                                                                        \
    const cudaError_t done = sort<K, V>(storage, bytes, keys.Current(), keys.Alternate(), values.Current(),            \
                                        values.Alternate(), count, begin, end, descending);                            \
    keys.selector ^= storage != nullptr;                                                                               \
    values.selector ^= storage != nullptr;                                                                             \
    return done;                                                                                                       \
  }
  OPWRIGHT_EMULATION_SORT(SortKeys, SortPairs, false)
  OPWRIGHT_EMULATION_SORT(SortKeysDescending, SortPairsDescending, true)
#undef OPWRIGHT_EMULATION_SORT
};

}  // namespace cub
#endif
