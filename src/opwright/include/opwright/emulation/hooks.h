/* What a checker is told: fill in a table and install it before the first launch.
 *
 * With hooks every barrier and collective goes through the runtime, never through the inlined rounds (compiled code defines
 * OPWRIGHT_EMULATION_CHECK, which leaves those out), and one worker runs all blocks. Compiled code reads what the emulator keeps
 * for it without telling anybody (`unwatched`). A hook may call fault(). It runs on
 * the stack of the thread named, uninstrumented. Addresses of a block's own arena, `own(address)`, below `fixed` are the
 * emulator's (threadIdx and the like); between `fixed` and `dynamic + bytes` shared memory; above, stacks.
 */
#ifndef OPWRIGHT_EMULATION_HOOKS_H
#define OPWRIGHT_EMULATION_HOOKS_H

#include <string>

#include "check.h"
#include "launch.h"

namespace opwright {
namespace emulation {

struct Place {
  const char *file;
  int line;
};

/* Work that was given to a stream, beside launches. */
struct StreamWork {
  const char *name, *file;
  int line;
  const void *stream;
  bool async;
};

/* `height` rows of `width` bytes, `pitch` bytes apart, of an operand of an operator that runs without a kernel. `exact`: that is all
 * that the operator touches of it, as far as is known. */
struct Operand {
  const void *memory;
  size_t pitch, width, height;
  bool writes, exact;
};

struct Hooks {
  void (*launch_begin)(const Launch &launch);
  void (*launch_end)(const Launch &launch, bool failed);
  void (*block_begin)(Context &block); /* before its first thread */
  void (*block_end)(Context &block);   /* all its threads have returned */
  /* Linear indices. Not within the loop of `threads`, which ends after the thread at hand where `leave_loop` is set. */
  void (*thread_switch)(Context &block, unsigned from, unsigned to);
  /* All threads that still run have come to a barrier; `epoch` is the new count. `returned`: how many didn't come because
   * they have returned. */
  void (*barrier)(Context &block, Place place, unsigned epoch, unsigned returned);
  /* A thread has come to another __syncthreads than those that wait already. */
  void (*divergent_barrier)(Context &block, Place here, Place others);
  /* A __syncwarp of the lanes `came` of warp `warp` is complete; `mask` is what it named. Shuffles, votes and the other
   * collectives order no accesses of memory, and aren't told. */
  void (*warp_barrier)(Context &block, unsigned warp, unsigned mask, unsigned came, Place place);
  /* A collective ends though lanes that its mask names have returned, a shuffle reads a lane that doesn't take part, or
   * the lane that calls isn't in its own mask: `absent` are those lanes. */
  void (*absent_lanes)(Context &block, unsigned mask, unsigned absent, const char *what, Place place);
  void (*shared_allocated)(Context &block, void *memory, size_t bytes, const char *names); /* "" for dynamic */
  /* What is between is one atomic access; it may exchange the value, and do nothing else with the one before. */
  void (*atomic_begin)(const void *address, size_t bytes, bool exchanges);
  void (*atomic_end)(const void *address, size_t bytes);
  /* By the runtime API; `of_tensor`: for another library's tensor, which is called `what`. */
  void (*device_allocated)(void *memory, size_t bytes, const char *what, bool empty, bool of_tensor);
  void (*device_freed)(void *memory,
                       const StreamWork &work); /* no file: by another library's allocator, in no stream */
  void (*grid_barrier)(unsigned epoch);         /* all blocks of a cooperative launch have come */
  void (*lent)(const void *memory, size_t bytes, const char *name, size_t element, Use use);
  void (*taken_back)(const void *memory, size_t bytes);
  void (*stream_created)(const void *stream, bool blocking_not);
  void (*stream_waited)(const void *stream); /* by the host, as the next one */
  void (*device_waited)();
  void (*event_recorded)(const void *event, const void *stream);
  void (*event_waited)(const void *event, const void *stream, bool by_host);
  std::string (*source_of)(uintptr_t code); /* the author's line of an instruction, the one before `code`; or "" */
  /* By the runtime API, in a stream; null: set to a value. */
  void (*copied)(void *to, const void *from, size_t bytes, const StreamWork &work);
  /* A library's call, in a stream, reads or writes rows of memory (as for may_touch). */
  void (*used)(const void *memory, size_t pitch, size_t width, size_t height, bool writes, const char *operand,
               const StreamWork &work);
  /* The runtime touches memory for the kernel's thread that runs, called from `code`. */
  void (*touched)(const void *memory, size_t bytes, bool writes, uintptr_t code);
  /* An asynchronous copy to shared memory begins: what will be there isn't yet. */
  void (*awaited)(void *memory, size_t bytes);
  /* The kernel's thread that runs has memory of the device's heap by a call ("malloc", "new") that returns to `code`; or gives it back. */
  void (*heap_allocated)(void *memory, size_t bytes, const char *call, bool zeroed, uintptr_t code);
  void (*heap_freed)(void *memory, uintptr_t code);
  /* It gives back what it may not: what is wrong, what came, the fix. */
  void (*heap_misused)(const std::string &what, const std::string &found, const char *fix, uintptr_t code);
  void (*host_misused)(const std::string &text); /* the host has done what is wrong */
  /* The host copies between allocations, in no stream. */
  void (*moved)(void *to, const void *from, size_t bytes);
  /* An operator has run on memory of the device without a kernel, in a stream; `work.async`: the host doesn't wait for its end. A
   * report, or "". */
  std::string (*operated)(const Operand *operands, size_t count, const StreamWork &work);
};

/* For the checker: the kernel's thread that runs waits, at an instruction, for what another one of its block may do. */
void let_others_run(uintptr_t code);

/* Null entries are left out. Null: no checker. */
OPWRIGHT_EMULATION_API void install_hooks(const Hooks *hooks);
OPWRIGHT_EMULATION_API const Hooks *hooks();

}  // namespace emulation
}  // namespace opwright
#endif
