/* What cooperative groups and cub need of a warp beyond CUDA's own functions: values of any size, lanes by rank. */
#ifndef OPWRIGHT_EMULATION_GROUPS_EXCHANGE_H
#define OPWRIGHT_EMULATION_GROUPS_EXCHANGE_H

#include "../core.h"

namespace opwright {
namespace emulation {

/* A shuffle of any trivially copyable value, eight bytes at a time. */
template <class T>
inline T exchange_any(unsigned mask, const T &value, unsigned source, const char *file, int line) {
  constexpr size_t words = (sizeof(T) + 7) / 8;
  uint64_t pieces[words] = {};
  __builtin_memcpy(pieces, &value, sizeof(T));
  for (size_t i = 0; i < words; ++i) pieces[i] = exchange(mask, pieces[i], source, file, line);
  T result = value;
  __builtin_memcpy(static_cast<void *>(&result), pieces, sizeof(T));
  return result;
}

inline unsigned count_lanes(unsigned mask) { return unsigned(__builtin_popcount(mask)); }
inline unsigned lanes_below(unsigned lane) { return (1u << lane) - 1; }

/* The lane whose rank among those of `mask` is `rank`. */
inline unsigned lane_of_rank(unsigned mask, unsigned rank) {
  while (rank--) mask &= mask - 1;
  return mask ? unsigned(__builtin_ctz(mask)) : 0;
}

/* The bits of `lanes` that stand in `mask`, moved together: lanes become ranks. */
inline unsigned pack_lanes(unsigned lanes, unsigned mask) {
  unsigned packed = 0;
  for (unsigned rank = 0; mask; mask &= mask - 1, ++rank) packed |= (lanes >> __builtin_ctz(mask) & 1) << rank;
  return packed;
}

}  // namespace emulation
}  // namespace opwright
#endif
