/* The functions that -fsanitize=thread makes compiled code call, defined by us: no sanitizer is linked. */
#include <opwright/emulation/hooks.h>
#include <string.h>

#include "check_quick.h"
#include "check_streams.h"

namespace {

using opwright::emulation::check::access;
using opwright::emulation::check::access_range;
using opwright::emulation::check::How;
using opwright::emulation::check::in_kernel;
using opwright::emulation::check::plain_access;
using opwright::emulation::check::Scope;
using opwright::emulation::check::synchronise;

constexpr int release = __ATOMIC_RELEASE;

bool acquires(int order) { return order != release; } /* relaxed ones too: few write the fence behind them */
bool releases(int order) { return order >= release; }

/* Before an atomic operation of compiled code. */
template <class T>
void before(const volatile void *address, How how, int order, uintptr_t code) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  if (!in_kernel()) {
    if (how != How::atomic_write) opwright::emulation::check::host_saw(at);
    return;
  }
  access(at, sizeof(T), how, Scope::device, code);
  if (opwright::emulation::check::live->attention.atomic)
    return; /* part of a function of CUDA's, which says itself what it is */
  const bool writes = how == How::atomic_write || how == How::atomic_change;
  synchronise(at, Scope::device, acquires(order), writes, writes && releases(order));
}

void copy(uintptr_t to, uintptr_t from, size_t size, uintptr_t code) {
  access_range(from, size, How::read, code);
  access_range(to, size, How::write, code);
  if (in_kernel()) opwright::emulation::check::copied_in_kernel(to, from, size);
}

}  // namespace

#define CALLBACK extern "C" __attribute__((visibility("default")))
#define CODE reinterpret_cast<uintptr_t>(__builtin_return_address(0))
#define AT(p) reinterpret_cast<uintptr_t>(p)

#define PLAIN(size)                                                                        \
  CALLBACK void __tsan_read##size(void *p) { plain_access<How::read, size>(AT(p), CODE); } \
  CALLBACK void __tsan_write##size(void *p) { plain_access<How::write, size>(AT(p), CODE); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
#undef PLAIN

/* Compiled code knows that these may lie anywhere: no fault. */
#define UNALIGNED(size)                                                                              \
  CALLBACK void __tsan_unaligned_read##size(void *p) { access_range(AT(p), size, How::read, CODE); } \
  CALLBACK void __tsan_unaligned_write##size(void *p) { access_range(AT(p), size, How::write, CODE); }
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)
#undef UNALIGNED

/* Volatile accesses of global memory are CUDA's relaxed atomics, and what flags are waited for with. In shared memory they are
 * what code before Volta used in place of barriers within a warp: there they are plain accesses. */
#define VOLATILE(size)                                                                                          \
  CALLBACK void __tsan_volatile_read##size(void *p) { volatile_access(AT(p), size, How::atomic_read, CODE); }   \
  CALLBACK void __tsan_volatile_write##size(void *p) { volatile_access(AT(p), size, How::atomic_write, CODE); } \
  CALLBACK void __tsan_unaligned_volatile_read##size(void *p) {                                                 \
    volatile_access(AT(p), size, How::atomic_read, CODE);                                                       \
  }                                                                                                             \
  CALLBACK void __tsan_unaligned_volatile_write##size(void *p) {                                                \
    volatile_access(AT(p), size, How::atomic_write, CODE);                                                      \
  }

namespace {

/* A thread that reads volatile variables again and again, and writes none, waits for another one, which may be one of its block:
 * they all run by turns. */
struct {
  uint32_t who;
  unsigned times;
} reads; /* one launch at a time is checked */

void waits(uintptr_t code) {
  constexpr unsigned patience = 256;
  const auto &l = *opwright::emulation::check::live;
  if (l.attention.atomic) return;
  reads = {l.me(), reads.who == l.me() ? reads.times + 1 : 0};
  if (reads.times && reads.times % patience == 0) opwright::emulation::let_others_run(code);
}

void volatile_access(uintptr_t address, unsigned size, How how, uintptr_t code) {
  const bool writes = how == How::atomic_write;
  if (!in_kernel()) {
    if (!writes) opwright::emulation::check::host_saw(address);
    return;
  }
  if (writes) reads.times = 0;
  if (opwright::emulation::check::own_memory(address)) {
    access(address, size, writes ? How::write : How::read, Scope::device, code);
    if (!writes && opwright::emulation::check::in_shared_memory(address)) waits(code);
    return;
  }
  access(address, size, how, Scope::device, code);
  synchronise(address, Scope::device, true, writes, false);
  if (!writes) waits(code);
}

}  // namespace
VOLATILE(1)
VOLATILE(2)
VOLATILE(4)
VOLATILE(8)
VOLATILE(16)
#undef VOLATILE

CALLBACK void __tsan_read_range(void *p, long size) { access_range(AT(p), static_cast<size_t>(size), How::read, CODE); }
CALLBACK void __tsan_write_range(void *p, long size) {
  access_range(AT(p), static_cast<size_t>(size), How::write, CODE);
}
CALLBACK void __tsan_init() {}
CALLBACK void __tsan_func_entry(void *) {}
CALLBACK void __tsan_func_exit() {}
CALLBACK void __tsan_vptr_update(void **p, void *) { plain_access<How::write, sizeof(void *)>(AT(p), CODE); }
CALLBACK void __tsan_vptr_read(void **p) { plain_access<How::read, sizeof(void *)>(AT(p), CODE); }

CALLBACK void *__tsan_memcpy(void *to, const void *from, size_t size) {
  copy(AT(to), AT(from), size, CODE);
  return memcpy(to, from, size);
}
CALLBACK void *__tsan_memmove(void *to, const void *from, size_t size) {
  copy(AT(to), AT(from), size, CODE);
  return memmove(to, from, size);
}
CALLBACK void *__tsan_memset(void *to, int value, size_t size) {
  access_range(AT(to), size, How::write, CODE);
  return memset(to, value, size);
}

CALLBACK void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (in_kernel()) opwright::emulation::check::fence(Scope::device);
}
/* What __threadfence_block() is: all threads of a block are one to the machine. */
CALLBACK void __tsan_atomic_signal_fence(int) {
  if (in_kernel()) opwright::emulation::check::fence(Scope::block);
}

/* Names such as __tsan_atomic32_fetch_add: the compiler knows them with types of its own. */
#define ATOMIC(bits, T, result, name, parameters)                                                           \
  CALLBACK result opwright_check_atomic##bits##_##name parameters __asm__("__tsan_atomic" #bits "_" #name); \
  CALLBACK result opwright_check_atomic##bits##_##name parameters
#define CHANGE(bits, T, name)                                      \
  ATOMIC(bits, T, T, name, (volatile T * p, T value, int order)) { \
    before<T>(p, How::atomic_change, order, CODE);                 \
    return __atomic_##name(p, value, __ATOMIC_SEQ_CST);            \
  }
#define COMPARE(bits, T, name, weak)                                                                  \
  ATOMIC(bits, T, int, name, (volatile T * p, T * expected, T value, int order, int)) {               \
    before<T>(p, How::atomic_change, order, CODE);                                                    \
    return __atomic_compare_exchange_n(p, expected, value, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
#define ATOMICS(bits, T)                                               \
  ATOMIC(bits, T, T, load, (const volatile T *p, int order)) {         \
    before<T>(p, How::atomic_read, order, CODE);                       \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                       \
  }                                                                    \
  ATOMIC(bits, T, void, store, (volatile T * p, T value, int order)) { \
    before<T>(p, How::atomic_write, order, CODE);                      \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                      \
  }                                                                    \
  ATOMIC(bits, T, T, exchange, (volatile T * p, T value, int order)) { \
    before<T>(p, How::atomic_write, order, CODE);                      \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);            \
  }                                                                    \
  CHANGE(bits, T, fetch_add)                                           \
  CHANGE(bits, T, fetch_sub)                                           \
  CHANGE(bits, T, fetch_and)                                           \
  CHANGE(bits, T, fetch_or)                                            \
  CHANGE(bits, T, fetch_xor)                                           \
  CHANGE(bits, T, fetch_nand)                                          \
  COMPARE(bits, T, compare_exchange_strong, false)                     \
  COMPARE(bits, T, compare_exchange_weak, true)

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
