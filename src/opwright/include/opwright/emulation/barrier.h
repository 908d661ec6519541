/* __syncthreads and its relatives. */
#ifndef OPWRIGHT_EMULATION_BARRIER_H
#define OPWRIGHT_EMULATION_BARRIER_H

#include "swap.h"

namespace opwright {
namespace emulation {

enum class Predicate { none, conjunction, disjunction, count };

/* Waits for all threads of the block; what the predicate came to. */
OPWRIGHT_EMULATION_API int barrier(Predicate what, int predicate, const char *file, int line);

OPWRIGHT_EMULATION_INLINE void barrier(const char *file, int line) {
#if !defined(OPWRIGHT_EMULATION_CHECK)
  Context &c = context();
  Slot *me = c.current, *next = me + 1;
  if (__builtin_expect(c.barrier_key == line && next != c.end, 1)) {
    run_instead(c, me, next);
    return;
  }
#endif
  barrier(Predicate::none, 1, file, line);
}

/* Waits for all threads of all blocks of a cooperative launch. */
OPWRIGHT_EMULATION_API void grid_barrier(const char *file, int line);

/* Lets the other threads of the block run: somebody who waits for them calls it again and again. */
OPWRIGHT_EMULATION_API void yield(const char *file, int line);

}  // namespace emulation
}  // namespace opwright

#define OPWRIGHT_EMULATION_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

OPWRIGHT_EMULATION_INLINE void __syncthreads(OPWRIGHT_EMULATION_HERE) { ::opwright::emulation::barrier(file, line); }
OPWRIGHT_EMULATION_INLINE int __syncthreads_and(int predicate, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::barrier(::opwright::emulation::Predicate::conjunction, predicate, file, line);
}
OPWRIGHT_EMULATION_INLINE int __syncthreads_or(int predicate, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::barrier(::opwright::emulation::Predicate::disjunction, predicate, file, line);
}
OPWRIGHT_EMULATION_INLINE int __syncthreads_count(int predicate, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::barrier(::opwright::emulation::Predicate::count, predicate, file, line);
}
OPWRIGHT_EMULATION_INLINE void __nanosleep(unsigned, OPWRIGHT_EMULATION_HERE) {
  ::opwright::emulation::yield(file, line);
}

#endif
