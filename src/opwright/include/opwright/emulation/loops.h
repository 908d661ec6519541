/* Blocks as plain loops over their threads, of kernels in which no thread waits for another: the rewriter decides which.
 *
 * Such a kernel is a function that is told where its thread is, and the compiler sees the whole loop, so it can vectorise it.
 * The threads run one after the other, in the same order as elsewhere. Which of them runs is noted nowhere: after a fault, the
 * runtime runs the block again, thread by thread.
 */
#ifndef OPWRIGHT_EMULATION_LOOPS_H
#define OPWRIGHT_EMULATION_LOOPS_H

#include <new>

#include "context.h"

namespace opwright {
namespace emulation {

/* threadIdx, blockIdx, blockDim, gridDim of a thread. */
struct Here {
  uint3 thread, block;
  dim3 size, grid;
};

/* Of the thread that runs. */
OPWRIGHT_EMULATION_INLINE Here here() { return {thread_index(), block_index(), block_size(), grid_size()}; }

/* Launches with more threads or blocks than this along x don't run as plain loops: below it, `blockIdx.x * blockDim.x +
 * threadIdx.x` is an int that grows by one from thread to thread, which the compiler has to know to vectorise; so it is with a
 * constant of at most 511 in the place of blockDim.x. */
constexpr uint64_t most_in_a_row = 0x7fffffff, most_blocks_in_a_row = 1 << 22;

OPWRIGHT_EMULATION_INLINE void assume_plain(const dim3 &size, const uint3 &block) {
  if (size.x - 1 >= most_threads || block.x >= most_blocks_in_a_row) __builtin_unreachable();
  if (block.x * size.x > most_in_a_row - most_threads) __builtin_unreachable();
}

/* The next block of a grid, x fastest. */
OPWRIGHT_EMULATION_INLINE void advance(uint3 &block, const dim3 &grid) {
  if (++block.x != grid.x) return;
  block.x = 0;
  if (++block.y != grid.y) return;
  block.y = 0;
  ++block.z;
}

template <class Thread>
OPWRIGHT_EMULATION_INLINE void loop_over_threads(const Thread &thread, const dim3 size, const dim3 grid,
                                                 const uint3 block) {
  assume_plain(size, block);
  for (unsigned z = 0; z < size.z; ++z)
    for (unsigned y = 0; y < size.y; ++y)
      for (unsigned x = 0; x < size.x; ++x) thread(Here{{x, y, z}, block, size, grid});
}

/* A copy of what a launch passes on: the compiler must know that no kernel writes to it. */
template <class Body, bool may_copy = __is_trivially_copyable(Body)>
struct Kept {
  const Body body;
  explicit Kept(const Body &given) : body(given) {}
};
template <class Body>
struct Kept<Body, false> {
  const Body &body;
  explicit Kept(const Body &given) : body(given) {}
};

/* `count` blocks, from the one at hand. */
template <class Body>
void loop_over_blocks(void *erased, uint64_t count) {
  const Kept<Body> kept(*static_cast<const Body *>(erased));
  Context &c = context();
  const dim3 size = c.block_size, grid = c.grid_size;
  uint3 block = c.block;
  for (;;) {
    loop_over_threads([&kept](const Here &here) { kept.body(here); }, size, grid, block);
    if (!--count) return;
    advance(block, grid);
    c.block = block;
  }
}

/* The same for kernels with barriers, cut at them: loops over the threads of a block, one after the other. */
struct BlockHere {
  uint3 block;
  dim3 size, grid;

  /* f(threadIdx, number within the block) for each thread. */
  template <class Part>
  OPWRIGHT_EMULATION_INLINE void each(const Part &part) const {
    size_t row = 0;
    for (unsigned z = 0; z < size.z; ++z)
      for (unsigned y = 0; y < size.y; ++y, row += size.x)
        for (unsigned x = 0; x < size.x; ++x) part(uint3{x, y, z}, row + x);
  }
};

template <class T> struct WithoutConst { using type = T; };
template <class T> struct WithoutConst<const T> { using type = T; };
template <class T, size_t n> struct WithoutConst<const T[n]> { using type = T[n]; };

/* A variable of which each thread has its own, over the parts: on the block's stack, where it is small. It begins where it is
 * declared, not here. */
template <class T, bool is_small = (sizeof(T) <= 32)>
struct Private {
  union { typename WithoutConst<T>::type values[most_threads]; };
  Private() {}
  Private(const Private &) = delete;
  ~Private() {}
};
template <class T>
struct Private<T, false> {
  using Value = typename WithoutConst<T>::type;
  Value *const values = static_cast<Value *>(::operator new(most_threads * sizeof(T), std::align_val_t(alignof(T))));
  Private() = default;
  Private(const Private &) = delete;
  ~Private() { ::operator delete(values, std::align_val_t(alignof(T))); }
};

/* The beginning of such a variable, whose type may be a class. */
template <class T, bool zeroed, class Element>
OPWRIGHT_EMULATION_INLINE void begin(Element &variable) {
  if constexpr (zeroed) new (static_cast<void *>(&variable)) Element();
  else if constexpr (!__is_trivially_constructible(Element)) new (static_cast<void *>(&variable)) Element;
}
template <class T, bool zeroed, class Element, size_t n>
OPWRIGHT_EMULATION_INLINE void begin(Element (&variable)[n]) {
  for (Element &element : variable) opwright::emulation::begin<T, zeroed>(element);
}
template <class T, bool zeroed>
OPWRIGHT_EMULATION_INLINE void begin(typename WithoutConst<T>::type &variable, T value) {
  new (static_cast<void *>(&variable)) typename WithoutConst<T>::type(value);
}

template <class Body>
void loop_over_parts(void *erased, uint64_t count) {
  const Kept<Body> kept(*static_cast<const Body *>(erased));
  Context &c = context();
  const dim3 size = c.block_size, grid = c.grid_size;
  uint3 block = c.block;
  for (;;) {
    assume_plain(size, block);
    const BlockHere here{block, size, grid};
    kept.body(here);
    if (!--count) return;
    advance(block, grid);
    c.block = block;
  }
}

}  // namespace emulation
}  // namespace opwright
#endif
