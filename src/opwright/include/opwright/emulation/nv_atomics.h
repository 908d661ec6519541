/* CUDA 12.8's __nv_atomic functions. An order is made of fences before and after; a scope matters to the checker alone. */
#ifndef OPWRIGHT_EMULATION_NV_ATOMICS_H
#define OPWRIGHT_EMULATION_NV_ATOMICS_H

#include "atomics.h"

#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

namespace opwright {
namespace emulation {

/* For the time of an atomic function: its order, and whom it reaches. */
struct Ordered : ReachesBlock {
  int order;
  Ordered(int of, int scope) : ReachesBlock(scope <= __NV_THREAD_SCOPE_BLOCK), order(of) {
    if (order >= __NV_ATOMIC_RELEASE) __threadfence();
  }
  ~Ordered() {
    if (order != __NV_ATOMIC_RELAXED && order != __NV_ATOMIC_RELEASE) __threadfence();
  }
};

}  // namespace emulation
}  // namespace opwright

#define OPWRIGHT_EMULATION_SCOPE int order, int scope = __NV_THREAD_SCOPE_SYSTEM
#define OPWRIGHT_EMULATION_NV_ATOMIC(name, function)                                                     \
  template <class T>                                                                                     \
  OPWRIGHT_EMULATION_INLINE T name(T *address, OPWRIGHT_EMULATION_VALUE value, OPWRIGHT_EMULATION_SCOPE, \
                                   OPWRIGHT_EMULATION_HERE) {                                            \
    const ::opwright::emulation::Ordered ordered(order, scope);                                          \
    return function(address, value, file, line);                                                         \
  }
OPWRIGHT_EMULATION_NV_ATOMIC(__nv_atomic_fetch_add, atomicAdd)
OPWRIGHT_EMULATION_NV_ATOMIC(__nv_atomic_fetch_sub, atomicSub)
OPWRIGHT_EMULATION_NV_ATOMIC(__nv_atomic_fetch_and, atomicAnd)
OPWRIGHT_EMULATION_NV_ATOMIC(__nv_atomic_fetch_or, atomicOr)
OPWRIGHT_EMULATION_NV_ATOMIC(__nv_atomic_fetch_xor, atomicXor)
OPWRIGHT_EMULATION_NV_ATOMIC(__nv_atomic_fetch_min, atomicMin)
OPWRIGHT_EMULATION_NV_ATOMIC(__nv_atomic_fetch_max, atomicMax)
OPWRIGHT_EMULATION_NV_ATOMIC(__nv_atomic_exchange_n, atomicExch)
#undef OPWRIGHT_EMULATION_NV_ATOMIC

template <class T>
OPWRIGHT_EMULATION_INLINE void __nv_atomic_exchange(T *address, T *value, T *before, OPWRIGHT_EMULATION_SCOPE) {
  *before = __nv_atomic_exchange_n(address, *value, order, scope);
}
template <class T>
OPWRIGHT_EMULATION_INLINE void __nv_atomic_store_n(T *address, OPWRIGHT_EMULATION_VALUE value,
                                                   OPWRIGHT_EMULATION_SCOPE) {
  __nv_atomic_exchange_n(address, value, order, scope);
}
template <class T>
OPWRIGHT_EMULATION_INLINE void __nv_atomic_store(T *address, T *value, OPWRIGHT_EMULATION_SCOPE) {
  __nv_atomic_store_n(address, *value, order, scope);
}
template <class T>
OPWRIGHT_EMULATION_INLINE T __nv_atomic_load_n(const T *address, OPWRIGHT_EMULATION_SCOPE, OPWRIGHT_EMULATION_HERE) {
  const ::opwright::emulation::Ordered ordered(order, scope);
  const T value = ::opwright::emulation::atomic_load(address);
  ::opwright::emulation::tried_in_vain(file, line); /* who waits for another thread loads again and again */
  return value;
}
template <class T>
OPWRIGHT_EMULATION_INLINE void __nv_atomic_load(const T *address, T *value, OPWRIGHT_EMULATION_SCOPE,
                                                OPWRIGHT_EMULATION_HERE) {
  *value = __nv_atomic_load_n(address, order, scope, file, line);
}
template <class T>
OPWRIGHT_EMULATION_INLINE bool __nv_atomic_compare_exchange_n(T *address, T *expected, OPWRIGHT_EMULATION_VALUE value,
                                                              bool /* weak */, int order, int /* if it differs */,
                                                              int scope = __NV_THREAD_SCOPE_SYSTEM,
                                                              OPWRIGHT_EMULATION_HERE) {
  const ::opwright::emulation::Ordered ordered(order, scope);
  const T before = atomicCAS(address, *expected, value, file, line);
  const bool same = __builtin_memcmp(&before, expected, sizeof(T)) == 0;
  *expected = before;
  return same;
}
template <class T>
OPWRIGHT_EMULATION_INLINE bool __nv_atomic_compare_exchange(T *address, T *expected, T *value, bool weak, int order,
                                                            int if_differs, int scope = __NV_THREAD_SCOPE_SYSTEM,
                                                            OPWRIGHT_EMULATION_HERE) {
  return __nv_atomic_compare_exchange_n(address, expected, *value, weak, order, if_differs, scope, file, line);
}
OPWRIGHT_EMULATION_INLINE void __nv_atomic_thread_fence(int, int = __NV_THREAD_SCOPE_SYSTEM) { __threadfence(); }

#undef OPWRIGHT_EMULATION_SCOPE
#endif
