// Memory of a block: its Context, shared memory, and a stack for every thread with a page under it that nobody may touch.
#include <new>
#include <sys/mman.h>

#include "block.h"
#include "shared_memory.h"
#if defined(OPWRIGHT_EMULATION_UCONTEXT)
#include <ucontext.h>
#endif

namespace opwright::emulation {
namespace {

// An odd number of 4 KiB pages between stacks, and tops that move within a page: 1024 stacks must not share a cache set.
constexpr size_t page = 4096, stack_bytes = 31 * page, stacks_begin = size_t(1) << 20, colours = 61, colour_bytes = 64;
// The last one, of the loop over blocks, also holds variables of all threads at once (loops.h).
constexpr size_t home_bytes = stack_bytes + 704 * page;
static_assert(stacks_begin + most_threads * stack_bytes + home_bytes < arena_bytes);
static_assert(sizeof(Block) <= shared_begin);
static_assert(shared_begin + most_times * (most_fixed + most_dynamic) <= stacks_begin);

#if defined(__APPLE__) && defined(__aarch64__)
constexpr size_t guard = 4 * page;
#else
constexpr size_t guard = page;
#endif

char *aligned(void *memory) {
  return reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(memory) + arena_bytes - 1) & ~(arena_bytes - 1));
}

// Address space only; whoever asks for twice as much finds an aligned arena within.
char *reserve() {
  void *memory = mmap(nullptr, 2 * arena_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char *begin = static_cast<char *>(memory), *arena = aligned(memory), *end = begin + 2 * arena_bytes;
  if (arena > begin) munmap(begin, size_t(arena - begin));
  if (end > arena + arena_bytes) munmap(arena + arena_bytes, size_t(end - arena) - arena_bytes);
  return arena;
}

}  // namespace

Block *reserve_block() {
  char *arena = reserve();
  if (!arena) return nullptr;
  if (mprotect(arena, stacks_begin, PROT_READ | PROT_WRITE)) {
    munmap(arena, arena_bytes);
    return nullptr;
  }
  Block *b = new (arena) Block;  // zeros: fresh pages
  b->fixed = arena + shared_begin;
  b->dynamic = b->fixed + most_times * most_fixed;
  return b;
}

void release_block(Block *b) { munmap(static_cast<void *>(b), arena_bytes); }

void *top_of_stack(Block &b, unsigned number) {
  char *low = reinterpret_cast<char *>(&b) + stacks_begin + number * stack_bytes;
  const size_t bytes = number == most_threads ? home_bytes : stack_bytes;
  if (!b.opened[number]) {
    if (mprotect(low + guard, bytes - guard, PROT_READ | PROT_WRITE))
      fault("memory",
            "there is no memory for the threads' stacks\n"
            "  likely fix: fewer workers, or a higher vm.max_map_count");
    b.opened[number] = true;
  }
  return low + bytes - (number % colours) * colour_bytes;
}

#if defined(OPWRIGHT_EMULATION_UCONTEXT)
void prepare(Slot &slot, void *top, void (*start)()) {
  constexpr size_t room = (sizeof(ucontext_t) + 63) / 64 * 64;
  char *at = static_cast<char *>(top) - room;
  ucontext_t *kept = new (at) ucontext_t;
  getcontext(kept);
  kept->uc_link = nullptr;
  kept->uc_stack.ss_sp = at - 24 * page;
  kept->uc_stack.ss_size = 24 * page;
  makecontext(kept, start, 0);
  slot.stack = kept;
}
void swap_contexts(Slot *from, Slot *to) {
  ucontext_t here;
  from->stack = &here;
  swapcontext(&here, static_cast<ucontext_t *>(to->stack));
}
#else
// As if `start` had been called: the stack pointer where the processor's calling convention wants it.
void prepare(Slot &slot, void *top, void (*start)()) {
  void **stack = reinterpret_cast<void **>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(63)) - 8;
#if defined(__x86_64__)
  *--stack = nullptr;
#endif
  slot.place = reinterpret_cast<void *>(start);
  slot.stack = stack;
  slot.frame = nullptr;
}
void swap_contexts(Slot *from, Slot *to) { swap(from, to); }
#endif

}  // namespace opwright::emulation
