/* memcpy, memmove and memset of checked code. Of a copy whose size is a power of two up to 16, g++ makes accesses, which the checker is
 * told of; what else it makes of them, a loop or a call, it tells nobody. */
#ifndef OPWRIGHT_EMULATION_COPIES_H
#define OPWRIGHT_EMULATION_COPIES_H

#include <string.h>

/* With _FORTIFY_SOURCE the C library defines them so already. */
#if !defined(__clang__) && !(defined(__USE_FORTIFY_LEVEL) && __USE_FORTIFY_LEVEL > 0)
#define OPWRIGHT_EMULATION_ACCESSES(size) (__builtin_constant_p(size) && size <= 16 && (size & (size - 1)) == 0)
#define OPWRIGHT_EMULATION_FOR(name) extern inline __attribute__((gnu_inline, always_inline, artificial)) void *name

extern "C" {
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *to, int value, size_t size);

OPWRIGHT_EMULATION_FOR(memcpy)(void *__restrict to, const void *__restrict from, size_t size) noexcept {
  return OPWRIGHT_EMULATION_ACCESSES(size) ? __builtin_memcpy(to, from, size) : __tsan_memcpy(to, from, size);
}
OPWRIGHT_EMULATION_FOR(memmove)(void *to, const void *from, size_t size) noexcept {
  return OPWRIGHT_EMULATION_ACCESSES(size) ? __builtin_memmove(to, from, size) : __tsan_memmove(to, from, size);
}
OPWRIGHT_EMULATION_FOR(memset)(void *to, int value, size_t size) noexcept { return __tsan_memset(to, value, size); }
}
#undef OPWRIGHT_EMULATION_ACCESSES
#undef OPWRIGHT_EMULATION_FOR
#endif

#endif
