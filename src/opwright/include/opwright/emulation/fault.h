/* Faults of a kernel: the launch ends with an error, the process lives on. */
#ifndef OPWRIGHT_EMULATION_FAULT_H
#define OPWRIGHT_EMULATION_FAULT_H

#include "../check.h"
#include "context.h"

namespace opwright {
namespace emulation {

/* From device code: ends the launch. The error is `text`, followed by the kernel, its launch, block and thread; `kind` is a
 * word for programs ("barrier", "race", ...). Threads that wait are dropped where they stand: their destructors don't run. */
[[noreturn]] OPWRIGHT_EMULATION_API void fault(const char *kind, const char *text);

/* The kind of the last launch of this OS thread that failed; "" when none has. */
OPWRIGHT_EMULATION_API const char *last_fault();

/* Who runs; from the host: false in `inside`, nothing else set. */
struct Current {
  bool inside;
  uint3 thread, block;
  unsigned linear, warp, lane;
  unsigned epoch;            /* barriers that the block has passed */
  unsigned warp_epoch;       /* collectives that the warp has passed */
  const char *kernel, *file; /* and the launch */
  int line;
};
OPWRIGHT_EMULATION_API Current current();

/* Whether this OS thread is running a kernel. */
OPWRIGHT_EMULATION_API bool inside_kernel();

/* Raises opwright.KernelError where the host has come to what only a kernel's threads can do; the rewriter adds it where nothing
 * else keeps the host away. */
OPWRIGHT_EMULATION_INLINE void only_in_kernel(const char *what, const char *file, int line) {
  if (__builtin_expect(inside_kernel(), 1)) return;
  ::opwright::detail::refuse(
      what, " outside of a kernel, in host code [", file, ":", line,
      "]\n  likely fix: launch the kernel, kernel<<<grid, block>>>(...), and call __device__ functions from kernels");
}

}  // namespace emulation
}  // namespace opwright
#endif
