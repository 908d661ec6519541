/* What the lanes of a warp do together: shuffles, votes, matches, reductions, __syncwarp, __activemask. */
#ifndef OPWRIGHT_EMULATION_WARP_H
#define OPWRIGHT_EMULATION_WARP_H

#include "barrier.h"

namespace opwright {
namespace emulation {

enum Collective { shuffle = 1, synchronise, ballot, match_any, match_all, add, least, most, conjoin, disjoin, exclude };

/* Waits until every lane of `mask` that still runs has come; then what the collective gives this lane. `source`: the lane
 * that a shuffle reads; whether a reduction compares signed numbers. Of a ballot: the lanes that came, and who said yes. */
OPWRIGHT_EMULATION_API uint64_t collective(Collective kind, unsigned mask, uint64_t value, unsigned source,
                                           const char *file, int line);
OPWRIGHT_EMULATION_API unsigned active_mask(const char *file, int line);

OPWRIGHT_EMULATION_INLINE int warp_key(Collective kind, int line) { return line * 16 + kind; }

OPWRIGHT_EMULATION_INLINE uint64_t exchange(unsigned mask, uint64_t value, unsigned source, const char *file,
                                            int line) {
#if !defined(OPWRIGHT_EMULATION_CHECK)
  Context &c = context();
  Slot *me = c.current, *next = me + 1;
  if (__builtin_expect(c.warp_key == warp_key(shuffle, line) && next != c.warp_end && mask == ~0u, 1)) {
    uint64_t *deposit = c.deposit;
    deposit[c.linear % warp_size] = value;
    run_instead(c, me, next);
    return deposit[source];
  }
#endif
  return collective(shuffle, mask, value, source, file, line);
}

OPWRIGHT_EMULATION_INLINE void synchronise_warp(unsigned mask, const char *file, int line) {
#if !defined(OPWRIGHT_EMULATION_CHECK)
  Context &c = context();
  Slot *me = c.current, *next = me + 1;
  if (__builtin_expect(c.warp_key == warp_key(synchronise, line) && next != c.warp_end && mask == ~0u, 1)) {
    run_instead(c, me, next);
    return;
  }
#endif
  collective(synchronise, mask, 0, 0, file, line);
}

/* Any trivially copyable value of up to eight bytes, as CUDA's shuffles take them. */
template <class T>
OPWRIGHT_EMULATION_INLINE T exchange_value(unsigned mask, T value, unsigned source, const char *file, int line) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle takes values of at most eight bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = exchange(mask, bits, source, file, line);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

/* Which lane the four shuffles read; a lane that would read beyond its part of `width` lanes reads itself. */
OPWRIGHT_EMULATION_INLINE unsigned source_lane(unsigned lane, int from, int width) {
  return (lane & ~unsigned(width - 1)) | (unsigned(from) & unsigned(width - 1));
}
OPWRIGHT_EMULATION_INLINE unsigned source_up(unsigned lane, unsigned delta, int width) {
  return (lane & unsigned(width - 1)) < delta ? lane : lane - delta;
}
OPWRIGHT_EMULATION_INLINE unsigned source_down(unsigned lane, unsigned delta, int width) {
  return delta >= unsigned(width) - (lane & unsigned(width - 1)) ? lane : lane + delta;
}
OPWRIGHT_EMULATION_INLINE unsigned source_xor(unsigned lane, int other, int width) {
  const unsigned from = lane ^ unsigned(other);
  return from >= (lane & ~unsigned(width - 1)) + unsigned(width) ? lane : from;
}

template <class T> struct is_signed { static constexpr bool value = T(-1) < T(0); };

template <class T>
OPWRIGHT_EMULATION_INLINE T reduce_lanes(Collective kind, unsigned mask, T value, const char *file, int line) {
  return T(collective(kind, mask, uint64_t(int64_t(value)) & (is_signed<T>::value ? ~uint64_t(0) : uint64_t(T(-1))),
                      is_signed<T>::value, file, line));
}

template <class T>
OPWRIGHT_EMULATION_INLINE uint64_t bits_of(T value) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "at most eight bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}

}  // namespace emulation
}  // namespace opwright

template <class T>
OPWRIGHT_EMULATION_INLINE T __shfl_sync(unsigned mask, T value, int from, int width = 32, OPWRIGHT_EMULATION_HERE) {
  using namespace ::opwright::emulation;
  return exchange_value(mask, value, source_lane(lane_index(), from, width), file, line);
}
template <class T>
OPWRIGHT_EMULATION_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                                           OPWRIGHT_EMULATION_HERE) {
  using namespace ::opwright::emulation;
  return exchange_value(mask, value, source_up(lane_index(), delta, width), file, line);
}
template <class T>
OPWRIGHT_EMULATION_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                                             OPWRIGHT_EMULATION_HERE) {
  using namespace ::opwright::emulation;
  return exchange_value(mask, value, source_down(lane_index(), delta, width), file, line);
}
template <class T>
OPWRIGHT_EMULATION_INLINE T __shfl_xor_sync(unsigned mask, T value, int other, int width = 32,
                                            OPWRIGHT_EMULATION_HERE) {
  using namespace ::opwright::emulation;
  return exchange_value(mask, value, source_xor(lane_index(), other, width), file, line);
}

OPWRIGHT_EMULATION_INLINE void __syncwarp(unsigned mask = ~0u, OPWRIGHT_EMULATION_HERE) {
  ::opwright::emulation::synchronise_warp(mask, file, line);
}
OPWRIGHT_EMULATION_INLINE unsigned __activemask(OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::active_mask(file, line);
}
OPWRIGHT_EMULATION_INLINE unsigned __ballot_sync(unsigned mask, int predicate, OPWRIGHT_EMULATION_HERE) {
  using namespace ::opwright::emulation;
  return unsigned(collective(ballot, mask, predicate != 0, 0, file, line));
}
OPWRIGHT_EMULATION_INLINE int __any_sync(unsigned mask, int predicate, OPWRIGHT_EMULATION_HERE) {
  return __ballot_sync(mask, predicate, file, line) != 0;
}
OPWRIGHT_EMULATION_INLINE int __all_sync(unsigned mask, int predicate, OPWRIGHT_EMULATION_HERE) {
  return __ballot_sync(mask, !predicate, file, line) == 0;
}
template <class T>
OPWRIGHT_EMULATION_INLINE unsigned __match_any_sync(unsigned mask, T value, OPWRIGHT_EMULATION_HERE) {
  using namespace ::opwright::emulation;
  return unsigned(collective(match_any, mask, bits_of(value), 0, file, line));
}
template <class T>
OPWRIGHT_EMULATION_INLINE unsigned __match_all_sync(unsigned mask, T value, int *predicate, OPWRIGHT_EMULATION_HERE) {
  using namespace ::opwright::emulation;
  const unsigned same = unsigned(collective(match_all, mask, bits_of(value), 0, file, line));
  *predicate = same != 0;
  return same;
}

#define OPWRIGHT_EMULATION_REDUCE(name, kind)                                                         \
  template <class T>                                                                                  \
  OPWRIGHT_EMULATION_INLINE T name(unsigned mask, T value, OPWRIGHT_EMULATION_HERE) {                 \
    return ::opwright::emulation::reduce_lanes(::opwright::emulation::kind, mask, value, file, line); \
  }
OPWRIGHT_EMULATION_REDUCE(__reduce_add_sync, add)
OPWRIGHT_EMULATION_REDUCE(__reduce_min_sync, least)
OPWRIGHT_EMULATION_REDUCE(__reduce_max_sync, most)
OPWRIGHT_EMULATION_REDUCE(__reduce_and_sync, conjoin)
OPWRIGHT_EMULATION_REDUCE(__reduce_or_sync, disjoin)
OPWRIGHT_EMULATION_REDUCE(__reduce_xor_sync, exclude)
#undef OPWRIGHT_EMULATION_REDUCE

#endif
