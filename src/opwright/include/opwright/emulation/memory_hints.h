/* Loads and stores with a word about caches, which the emulator has none of, and what a kernel may ask of its place. */
#ifndef OPWRIGHT_EMULATION_MEMORY_HINTS_H
#define OPWRIGHT_EMULATION_MEMORY_HINTS_H

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fault.h"

#define OPWRIGHT_EMULATION_LOAD(name)               \
  template <class T>                                \
  OPWRIGHT_EMULATION_INLINE T name(const T *from) { \
    return *from;                                   \
  }
OPWRIGHT_EMULATION_LOAD(__ldg)
OPWRIGHT_EMULATION_LOAD(__ldca)
OPWRIGHT_EMULATION_LOAD(__ldcg)
OPWRIGHT_EMULATION_LOAD(__ldcs)
OPWRIGHT_EMULATION_LOAD(__ldcv)
OPWRIGHT_EMULATION_LOAD(__ldlu)
#undef OPWRIGHT_EMULATION_LOAD
namespace opwright {
namespace emulation {
template <class T> struct same { using type = T; };
OPWRIGHT_EMULATION_API long long clock_ticks();
[[noreturn]] OPWRIGHT_EMULATION_API void failed_assertion(const char *text, const char *file, int line,
                                                          const char *function);
}  // namespace emulation
}  // namespace opwright
#define OPWRIGHT_EMULATION_STORE(name)                                                              \
  template <class T>                                                                                \
  OPWRIGHT_EMULATION_INLINE void name(T *to, typename ::opwright::emulation::same<T>::type value) { \
    *to = value;                                                                                    \
  }
OPWRIGHT_EMULATION_STORE(__stcg)
OPWRIGHT_EMULATION_STORE(__stcs)
OPWRIGHT_EMULATION_STORE(__stwb)
OPWRIGHT_EMULATION_STORE(__stwt)
#undef OPWRIGHT_EMULATION_STORE

/* Nanoseconds; it never stands still between two calls. */
OPWRIGHT_EMULATION_INLINE long long clock64() { return ::opwright::emulation::clock_ticks(); }
[[noreturn]] inline void __trap() { ::opwright::emulation::fault("trap", "__trap() was called"); }
inline void __brkpt() {}
inline void __prof_trigger(int) {}
/* An address of shared memory is its distance from the beginning of the block's arena, which fits 32 bits. */
OPWRIGHT_EMULATION_INLINE size_t __cvta_generic_to_shared(const void *address) {
  return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(&::opwright::emulation::context());
}
OPWRIGHT_EMULATION_INLINE void *__cvta_shared_to_generic(size_t address) {
  return reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(&::opwright::emulation::context()) + address);
}
OPWRIGHT_EMULATION_INLINE size_t __cvta_generic_to_global(const void *address) {
  return reinterpret_cast<size_t>(address);
}
OPWRIGHT_EMULATION_INLINE void *__cvta_global_to_generic(size_t address) { return reinterpret_cast<void *>(address); }
inline unsigned __isShared(const void *address) { return ::opwright::emulation::own(address); }
inline unsigned __isGlobal(const void *address) { return !::opwright::emulation::own(address); }

#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif
#define __nv_assume(condition) ((void)0)

#endif
