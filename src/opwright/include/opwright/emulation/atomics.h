/* Atomic functions and fences. Every scope is the same here: what a block has to itself needs no locked instruction, and
 * what it shares gets the strongest.
 */
#ifndef OPWRIGHT_EMULATION_ATOMICS_H
#define OPWRIGHT_EMULATION_ATOMICS_H

#include "barrier.h"
#include "check.h"
#include "in_order.h"

namespace opwright {
namespace emulation {

OPWRIGHT_EMULATION_API void atomic_begins(const void *address, size_t bytes, bool exchanges);
OPWRIGHT_EMULATION_API void atomic_ends(const void *address, size_t bytes);

/* Tells the checker, where there is one, what one atomic access is. */
struct AtomicAccess {
#if defined(OPWRIGHT_EMULATION_CHECK)
  const void *address;
  size_t bytes;
  AtomicAccess(const void *a, size_t n, bool exchanges) : address(a), bytes(n) { atomic_begins(a, n, exchanges); }
  ~AtomicAccess() { atomic_ends(address, bytes); }
#else
  AtomicAccess(const void *, size_t, bool) {}
#endif
};

/* For the time of an atomic function: whether it reaches the threads of its block, and no others. */
struct ReachesBlock {
#if defined(OPWRIGHT_EMULATION_CHECK)
  bool block;
  explicit ReachesBlock(bool only_block = true) : block(only_block) {
    if (block) atomics_reach_block(true);
  }
  ~ReachesBlock() {
    if (block) atomics_reach_block(false);
  }
#else
  explicit ReachesBlock(bool = true) {}
#endif
};

template <size_t bytes> struct Bits;
template <> struct Bits<1> { using type = uint8_t; };
template <> struct Bits<2> { using type = uint16_t; };
template <> struct Bits<4> { using type = uint32_t; };
template <> struct Bits<8> { using type = uint64_t; };
template <> struct Bits<16> { using type = unsigned __int128; };

/* Keeps a parameter out of the deduction, so that `atomicAdd(&total, 1)` takes its type from the memory alone. */
template <class T> struct Same { using type = T; };

/* *address = next(*address), at once. Exchanges: next(x) doesn't depend on x. */
template <class T, class Next>
OPWRIGHT_EMULATION_INLINE T modify(T *address, Next next, bool exchanges = false) {
  const AtomicAccess access(address, sizeof(T), exchanges);
  if (runs_in_order<T>::value || own(address)) {
    const T before = *address;
    *address = next(before);
    return before;
  }
  using Word = typename Bits<sizeof(T)>::type;
  Word *word = reinterpret_cast<Word *>(address), before, after;
  before = sizeof(T) > 8 ? *word : __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    T value;
    __builtin_memcpy(&value, &before, sizeof(T));
    const T changed = next(value);
    __builtin_memcpy(&after, &changed, sizeof(T));
    if (__atomic_compare_exchange_n(word, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return value;
  }
}

template <class T> OPWRIGHT_EMULATION_INLINE T atomic_load(const T *address) {
  const AtomicAccess access(address, sizeof(T), false);
  if (runs_in_order<T>::value || own(address)) return *address;
  using Word = typename Bits<sizeof(T)>::type;
  const Word *from = reinterpret_cast<const Word *>(address),
             word = sizeof(T) > 8 ? *from : __atomic_load_n(from, __ATOMIC_RELAXED);
  T value;
  __builtin_memcpy(&value, &word, sizeof(T));
  return value;
}

/* A thread that waits for another one tries the same thing again and again: after some tries the others get their turn. */
OPWRIGHT_EMULATION_API void tried_in_vain(const char *file, int line);
/* After an addition of 0 and the like: by a literal, this reads what another thread will write. Computed values that happen
 * to be 0 are additions, among which others needn't get their turn. */
#define OPWRIGHT_EMULATION_ONLY_READS(nothing) \
  if (__builtin_constant_p(nothing) && (nothing)) ::opwright::emulation::tried_in_vain(file, line)

template <class T> struct is_whole { static constexpr bool value = false; };
#define OPWRIGHT_EMULATION_WHOLE(T) \
  template <> struct is_whole<T> { static constexpr bool value = true; };
OPWRIGHT_EMULATION_WHOLE(int)
OPWRIGHT_EMULATION_WHOLE(unsigned)
OPWRIGHT_EMULATION_WHOLE(long)
OPWRIGHT_EMULATION_WHOLE(unsigned long)
OPWRIGHT_EMULATION_WHOLE(long long)
OPWRIGHT_EMULATION_WHOLE(unsigned long long)
#undef OPWRIGHT_EMULATION_WHOLE

template <class T>
OPWRIGHT_EMULATION_INLINE T atomic_add(T *address, T value) {
  if constexpr (is_whole<T>::value) {
    const AtomicAccess access(address, sizeof(T), false);
    if (!own(address)) return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
    const T before = *address;
    __builtin_add_overflow(before, value, address); /* wraps, as the device does */
    return before;
  } else {
    return modify(address, [value](T old) { return T(old + value); });
  }
}

/* Adds to both elements of a pair: each addition is atomic, the two together aren't, as on the device. */
template <class Pair>
OPWRIGHT_EMULATION_INLINE Pair atomic_add_pair(Pair *address, Pair value) {
  Pair before;
  before.x = atomic_add(&address->x, value.x);
  before.y = atomic_add(&address->y, value.y);
  return before;
}

}  // namespace emulation
}  // namespace opwright

#define OPWRIGHT_EMULATION_VALUE typename ::opwright::emulation::Same<T>::type

/* name, name_block and name_system: the same but for the checker. */
#define OPWRIGHT_EMULATION_SCOPES(name)                                                                            \
  template <class T>                                                                                               \
  OPWRIGHT_EMULATION_INLINE T name##_block(T *address, OPWRIGHT_EMULATION_VALUE value, OPWRIGHT_EMULATION_HERE) {  \
    const ::opwright::emulation::ReachesBlock reach;                                                               \
    return name(address, value, file, line);                                                                       \
  }                                                                                                                \
  template <class T>                                                                                               \
  OPWRIGHT_EMULATION_INLINE T name##_system(T *address, OPWRIGHT_EMULATION_VALUE value, OPWRIGHT_EMULATION_HERE) { \
    return name(address, value, file, line);                                                                       \
  }

/* nothing: whether the value changes nothing, whatever stands there. */
#define OPWRIGHT_EMULATION_ATOMIC(name, nothing, ...)                                                     \
  template <class T>                                                                                      \
  OPWRIGHT_EMULATION_INLINE T name(T *address, OPWRIGHT_EMULATION_VALUE value, OPWRIGHT_EMULATION_HERE) { \
    const T before = __VA_ARGS__;                                                                         \
    OPWRIGHT_EMULATION_ONLY_READS(nothing);                                                               \
    return before;                                                                                        \
  }                                                                                                       \
  OPWRIGHT_EMULATION_SCOPES(name)
#define OPWRIGHT_EMULATION_NEXT(expression) \
  ::opwright::emulation::modify(address, [value](T old) -> T { return expression; })

OPWRIGHT_EMULATION_ATOMIC(atomicAdd, value == T(0), ::opwright::emulation::atomic_add(address, value))
OPWRIGHT_EMULATION_ATOMIC(atomicSub, value == T(0), ::opwright::emulation::atomic_add(address, T(T(0) - value)))
OPWRIGHT_EMULATION_ATOMIC(atomicMin, false, OPWRIGHT_EMULATION_NEXT(value < old ? value : old))
OPWRIGHT_EMULATION_ATOMIC(atomicMax, value == T(0), OPWRIGHT_EMULATION_NEXT(old < value ? value : old))
OPWRIGHT_EMULATION_ATOMIC(atomicAnd, value == T(~T(0)), OPWRIGHT_EMULATION_NEXT(old &value))
OPWRIGHT_EMULATION_ATOMIC(atomicOr, value == T(0), OPWRIGHT_EMULATION_NEXT(old | value))
OPWRIGHT_EMULATION_ATOMIC(atomicXor, value == T(0), OPWRIGHT_EMULATION_NEXT(old ^ value))
OPWRIGHT_EMULATION_ATOMIC(atomicInc, false, OPWRIGHT_EMULATION_NEXT(old >= value ? T(0) : T(old + 1)))
OPWRIGHT_EMULATION_ATOMIC(atomicDec, false, OPWRIGHT_EMULATION_NEXT(old == 0 || old > value ? value : T(old - 1)))

template <class T>
OPWRIGHT_EMULATION_INLINE T atomicExch(T *address, OPWRIGHT_EMULATION_VALUE value, OPWRIGHT_EMULATION_HERE) {
  const T before = ::opwright::emulation::modify(address, [value](T) -> T { return value; }, true);
  if (__builtin_memcmp(&before, &value, sizeof(T)) == 0) ::opwright::emulation::tried_in_vain(file, line);
  return before;
}
OPWRIGHT_EMULATION_SCOPES(atomicExch)

template <class T>
OPWRIGHT_EMULATION_INLINE T atomicCAS(T *address, OPWRIGHT_EMULATION_VALUE compare, OPWRIGHT_EMULATION_VALUE value,
                                      OPWRIGHT_EMULATION_HERE) {
  const T before = ::opwright::emulation::modify(
      address, [compare, value](T old) -> T { return __builtin_memcmp(&old, &compare, sizeof(T)) == 0 ? value : old; });
  if (__builtin_memcmp(&before, &compare, sizeof(T)) != 0 || __builtin_memcmp(&compare, &value, sizeof(T)) == 0)
    ::opwright::emulation::tried_in_vain(file, line); /* nothing has changed */
  return before;
}
template <class T>
OPWRIGHT_EMULATION_INLINE T atomicCAS_block(T *address, OPWRIGHT_EMULATION_VALUE compare,
                                            OPWRIGHT_EMULATION_VALUE value, OPWRIGHT_EMULATION_HERE) {
  const ::opwright::emulation::ReachesBlock reach;
  return atomicCAS(address, compare, value, file, line);
}
template <class T>
OPWRIGHT_EMULATION_INLINE T atomicCAS_system(T *address, OPWRIGHT_EMULATION_VALUE compare,
                                             OPWRIGHT_EMULATION_VALUE value, OPWRIGHT_EMULATION_HERE) {
  return atomicCAS(address, compare, value, file, line);
}

OPWRIGHT_EMULATION_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
OPWRIGHT_EMULATION_INLINE void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
OPWRIGHT_EMULATION_INLINE void __threadfence_block() {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
} /* one OS thread a block */

#undef OPWRIGHT_EMULATION_ATOMIC
#undef OPWRIGHT_EMULATION_NEXT
#undef OPWRIGHT_EMULATION_ONLY_READS
#endif
