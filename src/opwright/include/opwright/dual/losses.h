/* What would copy a number without its derivative, byte by byte, doesn't compile. Included before the author's text, for
 * `memcpy` and `std::memcpy` alike. */
#ifndef OPWRIGHT_LOSSES_H
#define OPWRIGHT_LOSSES_H

#include "dual_number.h"

#define OPWRIGHT_COPIES_BYTES(name)                                                                              \
  template <class S, int N>                                                                                      \
  inline void *name(opwright::Dual<S, N> *to, const opwright::Dual<S, N> *from, size_t bytes) {                  \
    return __builtin_##name(static_cast<void *>(to), from, bytes);                                               \
  }                                                                                                              \
  template <class S, int N, class B>                                                                             \
  inline void *name(opwright::Dual<S, N> *to, const B *from, size_t bytes) {                                     \
    static_assert(sizeof(S) == 0, #name " into numbers with derivatives: copy element by element, y[i] = x[i]"); \
    return __builtin_##name(static_cast<void *>(to), from, bytes);                                               \
  }                                                                                                              \
  template <class A, class S, int N>                                                                             \
  inline void *name(A *to, const opwright::Dual<S, N> *from, size_t bytes) {                                     \
    static_assert(sizeof(S) == 0, #name " would lose the derivative: copy element by element, y[i] = x[i]");     \
    return __builtin_##name(static_cast<void *>(to), from, bytes);                                               \
  }
namespace opwright {
OPWRIGHT_COPIES_BYTES(memcpy)
OPWRIGHT_COPIES_BYTES(memmove)
}  // namespace opwright
namespace std {
OPWRIGHT_COPIES_BYTES(memcpy)
OPWRIGHT_COPIES_BYTES(memmove)
}  // namespace std
#undef OPWRIGHT_COPIES_BYTES
#endif
