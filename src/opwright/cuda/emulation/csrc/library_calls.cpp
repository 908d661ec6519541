// Functions of the C library that are others in kernels. Emulated code calls these in place of the C library's (identifiers.py).
#include <sched.h>
#include <time.h>

#include <opwright/emulation/fault.h>
#include <opwright/emulation/memory_hints.h>

#include "work.h"

using namespace opwright::emulation;

#define CODE reinterpret_cast<uintptr_t>(__builtin_return_address(0))
#define CALL(type) extern "C" OPWRIGHT_EMULATION_API type

// CUDA has one of its own for kernels.
CALL(clock_t) opwright_emulation_clock() { return inside_kernel() ? clock_t(clock_ticks()) : clock(); }

// libcu++'s host code waits by these, for a cuda::barrier for example. Who is waited for is another thread of the block, mostly.
CALL(int) opwright_emulation_nanosleep(const timespec *time, timespec *left) {
  if (!inside_kernel()) return nanosleep(time, left);
  let_others_run(CODE);
  return 0;
}
CALL(int) opwright_emulation_sched_yield() {
  if (!inside_kernel()) return sched_yield();
  let_others_run(CODE);
  return 0;
}
