/* The block that a CUDA thread belongs to, found from the stack pointer.
 *
 * All stacks of a block lie in one arena, aligned to its size, at whose beginning its Context is: so `context()` is two
 * instructions. A thread-local variable would be a function call in every function of a library that was loaded late.
 */
#ifndef OPWRIGHT_EMULATION_CONTEXT_H
#define OPWRIGHT_EMULATION_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "indices.h"

#define OPWRIGHT_EMULATION_INLINE inline __attribute__((always_inline))
#define OPWRIGHT_EMULATION_API __attribute__((visibility("default")))

namespace opwright {
namespace emulation {

constexpr uintptr_t arena_bytes = uintptr_t(1) << 27;
constexpr unsigned warp_size = 32, most_threads = 1024, most_warps = most_threads / warp_size;

/* Where a CUDA thread goes on when it isn't running: a place in the code, a stack; and its index. */
struct Slot {
  void *place, *stack, *frame;
  uint3 thread;
  unsigned linear;
};

/* What compiled kernels read and write themselves; the rest of a block is the runtime's (csrc/block.h). */
struct Context {
  uint3 thread; /* of the thread that runs; `linear` is its number within the block, x fastest */
  unsigned linear;
  uint3 block;
  dim3 block_size, grid_size;
  /* No thread of the block has waited yet: they run one after the other in a loop. False as soon as one has. */
  bool leave_loop;
  bool fibers;
  /* Rounds. While every thread of the block comes to the same barrier in order, the next to run is the next slot. The keys
   * say where it has to be for that: the line of the barrier, and the line and kind of the collective. 0: ask the runtime. */
  int barrier_key, warp_key;
  Slot *current, *end, *warp_end;
  uint64_t *deposit; /* the values that the lanes of this warp bring to its collective */
  char *fixed, *dynamic;
  uint32_t carry;    /* of the last addition of inline PTX that leaves one: 0 or 1 */
  uint32_t *offsets; /* of every __shared__ variable, from `fixed`; 0: not used by this block yet */
};

OPWRIGHT_EMULATION_INLINE Context &context() {
#if defined(__x86_64__)
  uintptr_t here;
  __asm__("movq %%rsp, %0" : "=r"(here));
#elif defined(__aarch64__)
  uintptr_t here;
  __asm__("mov %0, sp" : "=r"(here));
#else
  const uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
#endif
  return *reinterpret_cast<Context *>(here & ~(arena_bytes - 1));
}

/* Whether `address` belongs to the block that runs: its shared memory, or a thread's stack. No other worker can see it. */
OPWRIGHT_EMULATION_INLINE bool own(const void *address) {
  return ((reinterpret_cast<uintptr_t>(address) ^ reinterpret_cast<uintptr_t>(&context())) & ~(arena_bytes - 1)) == 0;
}

#if defined(OPWRIGHT_EMULATION_CHECK) && (defined(__x86_64__) || defined(__aarch64__))
/* A number or a pointer of the emulator's own. The compiler puts a call to the checker before each load that it knows of, which
 * would find nothing here; of an instruction it only knows what it reads. */
template <class T>
OPWRIGHT_EMULATION_INLINE T unwatched(const T &from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "what one load brings");
  T value;
#if defined(__x86_64__)
  __asm__("mov %1, %0" : "=r"(value) : "m"(from));
#else
  if (sizeof(T) == 4) __asm__("ldr %w0, %1" : "=r"(value) : "m"(from));
  else __asm__("ldr %x0, %1" : "=r"(value) : "m"(from));
#endif
  return value;
}
OPWRIGHT_EMULATION_INLINE const uint3 unwatched(const uint3 &from) {
  return {unwatched(from.x), unwatched(from.y), unwatched(from.z)};
}
OPWRIGHT_EMULATION_INLINE const dim3 unwatched(const dim3 &from) {
  return __builtin_bit_cast(dim3, uint3{unwatched(from.x), unwatched(from.y), unwatched(from.z)});
}
#else
template <class T>
OPWRIGHT_EMULATION_INLINE const T &unwatched(const T &from) {
  return from;
}
#endif

/* With a checker they are copies; CUDA lets nobody take their addresses. */
OPWRIGHT_EMULATION_INLINE decltype(auto) thread_index() { return unwatched(context().thread); }
OPWRIGHT_EMULATION_INLINE decltype(auto) block_index() { return unwatched(context().block); }
OPWRIGHT_EMULATION_INLINE decltype(auto) block_size() { return unwatched(context().block_size); }
OPWRIGHT_EMULATION_INLINE decltype(auto) grid_size() { return unwatched(context().grid_size); }

/* The thread's number within its block, x fastest. */
OPWRIGHT_EMULATION_INLINE unsigned linear_index() { return unwatched(context().linear); }
OPWRIGHT_EMULATION_INLINE unsigned lane_index() { return linear_index() % warp_size; }

}  // namespace emulation
}  // namespace opwright

/* Elsewhere the rewriter puts the calls: a source may have variables of these names. */
#if !defined(OPWRIGHT_EMULATION_REWRITTEN)
#define threadIdx (::opwright::emulation::thread_index())
#define blockIdx (::opwright::emulation::block_index())
#define blockDim (::opwright::emulation::block_size())
#define gridDim (::opwright::emulation::grid_size())
#endif
constexpr int warpSize = 32;

#endif
