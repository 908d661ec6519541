/* The shadow of memory: who touched each word last, when, and where in the source.
 *
 * Time is one counter for a process, which grows at every event that orders accesses (a barrier, a fence, a block's begin).
 * Blocks run on one worker while they are checked, so that what the shadow says is exact and the same in every run.
 */
#ifndef OPWRIGHT_EMULATION_CHECK_SHADOW_H
#define OPWRIGHT_EMULATION_CHECK_SHADOW_H

#include <stddef.h>
#include <stdint.h>

#include <string>

namespace opwright {
namespace emulation {
namespace check {

constexpr unsigned thread_bits = 10; /* a block has at most 1024 threads */

/* Properties of an access, in the low bits of its code; above them the distance of its instruction from the launch's first. */
enum Flag : uint32_t { atomic = 1, several = 2, of_block = 4, flag_bits = 4 };

struct Access {
  uint32_t stamp, who, code; /* who: the block's number in its launch, then the thread's in the block */
};

/* One granule: the last write, and two readers of different threads: whoever writes differs from one of them. */
struct Cell {
  Access write, read;
  uint32_t other_stamp, other;
};
static_assert(sizeof(Cell) == 32, "half a cache line");

enum class Kind : uint8_t { tensor, allocated, shared, dynamic_shared, variable, internal };

/* A stretch of memory that kernels may touch (or may not any more). */
struct Region {
  uintptr_t low = 0, high = 0;
  std::string name;
  Kind kind = Kind::allocated;
  unsigned element = 0; /* its elements' size in bytes, where that is known */
  unsigned shift = 2;   /* a granule has 1 << shift bytes */
  Cell *cells = nullptr;
  size_t cells_bytes = 0;

  Region() = default;
  Region(uintptr_t low_, uintptr_t high_, std::string name_, Kind kind_)
      : low(low_), high(high_), name(std::move(name_)), kind(kind_) {}
  Region(const Region &) = delete;
  Region &operator=(const Region &) = delete;
  ~Region() { release(); }
  bool shared() const { return kind == Kind::shared || kind == Kind::dynamic_shared; }
  /* Gives it a shadow that can tell accesses of `size` bytes at `address` apart. */
  void refine(uintptr_t address, unsigned size);
  void release();
  Cell *cell(uintptr_t address) const { return cells + ((address - base()) >> shift); }
  uintptr_t base() const { return low & ~uintptr_t(3); }
};

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
