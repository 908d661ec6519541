/* Words of shared memory that are read again before anything happens that orders accesses: what a further thread has to look at.
 *
 * Once a thread has read a word that was written before the last barrier, no other thread's read of it is a fault, as long as the
 * time stays the same. All that is left to do is to note it as the cell's other reader. That is done here, in eight bytes that
 * are found from the address alone; whoever looks at the cell takes it over from here first (`absorb`).
 */
#ifndef OPWRIGHT_EMULATION_CHECK_READERS_H
#define OPWRIGHT_EMULATION_CHECK_READERS_H

#include "check_state.h"

namespace opwright {
namespace emulation {
namespace check {

/* Gives each block that begins a table of its own, for all its shared memory; all of them back, when no launch runs; and forgets
 * what is in them. */
class ReaderTables {
 public:
  Readers *take();
  void give_back() { used_ = 0; }
  void forget();

 private:
  std::vector<Readers *> all_;
  size_t used_ = 0;
};

/* Whether that was all: a read of `size` bytes, each word of which another thread has read at this time, as the only or the first. */
template <unsigned size>
OPWRIGHT_EMULATION_INLINE bool read_again(const Live &l, uintptr_t address) {
  constexpr unsigned words = size >> word_shift;
  const uintptr_t offset = address - l.shared_low;
  const uintptr_t word = offset >> word_shift | offset << (64 - word_shift); /* beyond all where it isn't aligned */
  if (__builtin_expect(word >= l.shared_words || word % words, 0)) return false;
  Readers *const readers = l.readers + word;
  const uint32_t me = l.thread();
  for (unsigned i = 0; i < words; ++i)
    if (__builtin_expect(readers[i].stamp != l.now || readers[i].first == me, 0)) return false;
  for (unsigned i = 0; i < words; ++i) readers[i].last = static_cast<uint16_t>(me);
  return true;
}

inline Readers &readers_of(const Live &l, uintptr_t address) {
  return l.readers[(address - l.shared_low) >> word_shift];
}

/* Before the cell of a word is used: what was noted beside it. What is older than the barrier matters to nobody. */
OPWRIGHT_EMULATION_INLINE void absorb(const Live &l, uintptr_t address, Cell &cell) {
  Readers &readers = readers_of(l, address);
  if (readers.stamp < l.ordered_before[1]) return;
  if (readers.last != readers.first) cell.other_stamp = readers.stamp, cell.other = l.first | readers.last;
  readers.stamp = 0;
}

/* After a read of a word that was written before the last barrier, when the time's first reader is the cell's. */
OPWRIGHT_EMULATION_INLINE void remember_readers(const Live &l, uintptr_t address, const Cell &cell) {
  if (cell.read.stamp != l.now) return;
  const uint32_t last = cell.other_stamp == l.now ? cell.other : cell.read.who;
  readers_of(l, address) = {l.now, static_cast<uint16_t>(cell.read.who & most_thread),
                            static_cast<uint16_t>(last & most_thread)};
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
