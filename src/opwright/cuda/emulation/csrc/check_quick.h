/* The short way of a plain access: the same instruction as before in the same region, by whatever threads, without a fault.
 *
 * It does nothing that the long way (check_touch.h) wouldn't do, and gives up where it can't tell: then the long way looks at the
 * same access from the beginning. What the short way may have done by then, to the first of several cells, the long way does again
 * with the same outcome, since an access is ordered after another one of its own thread.
 */
#ifndef OPWRIGHT_EMULATION_CHECK_QUICK_H
#define OPWRIGHT_EMULATION_CHECK_QUICK_H

#include "check_touch.h"

namespace opwright {
namespace emulation {
namespace check {

/* The running thread, and what is ordered before it; what is rarely needed stays where it is. */
struct Now {
  const Live &live;
  const Site &site;
  uint32_t me, ordered_before;

  Access access() const { return {live.now, me, site.place}; }

  /* As `Live::ordered`, by barriers of the block and by the launch's begin alone: false may still be true. */
  bool ordered(const Access &access) const {
    if (access.stamp < ordered_before) return true;
    if ((access.who ^ me) >> thread_bits) return false;
    if (access.stamp < live.begin) return false; /* of 2^22 blocks before, whose number looks the same */
    return access.stamp < live.barrier || (access.who == me && !(access.code & several));
  }
};

template <How how>
OPWRIGHT_EMULATION_INLINE bool quick_cell(Cell &cell, const Now &now) {
  if (__builtin_expect(!now.ordered(cell.write), 0)) return false;
  if (how == How::read) {
    /* As `note_read`: of two readers, the one that is ordered before this access makes room. */
    if (cell.read.who == now.me || now.ordered(cell.read)) {
      cell.read = now.access();
    } else {
      if (__builtin_expect(now.live.finer, 0)) return false; /* it may be ordered all the same */
      cell.other_stamp = now.live.now, cell.other = now.me;
    }
    return true;
  }
  if (!now.ordered(cell.read) || !now.ordered({cell.other_stamp, cell.other, 0})) return false;
  cell.write = now.access(); /* as `note_write` */
  cell.read.stamp = cell.other_stamp = 0;
  return true;
}

/* A granule of shared memory: whatever is older than the barrier, of the block or the grid, is ordered, and whatever is older than the
 * block isn't there. */
template <How how>
OPWRIGHT_EMULATION_INLINE bool quick_shared(Cell &cell, const Now &now, unsigned shift, uintptr_t address) {
  const Live &l = now.live;
  if (shift == word_shift) absorb(l, address, cell);
  if (how != How::read) return quick_cell<how>(cell, now);
  if (__builtin_expect(cell.write.stamp - l.begin >= now.ordered_before - l.begin, 0))
    return cell.write.stamp >= l.begin && quick_cell<how>(cell, now);
  if (cell.read.stamp < now.ordered_before || cell.read.who == now.me) cell.read = now.access();
  else if (l.finer) return false; /* it may be ordered all the same */
  else cell.other_stamp = l.now, cell.other = now.me;
  if (shift == word_shift) remember_readers(l, address, cell);
  return true;
}

/* A read of what several threads of this launch have read, and none has written. Where the cell's reader is of another block than this
 * thread, this one becomes the other reader, as in `quick_cell`, whatever else is in the cell. */
OPWRIGHT_EMULATION_INLINE bool quick_reader(Word &word, const Live &l) {
  const Word before = word;
  const bool of_other_blocks = before.stamp() < l.begin || (before.of_another_block() && before.stamp() >= l.turn);
  if (before.stamp() < l.launch || !of_other_blocks || l.finer) return false;
  word = Word::of_cell_and_reader(l.now, l.thread(), true);
  return true;
}

/* Puts an access in the place of the one that a word holds, which it is ordered after. */
template <How how>
OPWRIGHT_EMULATION_INLINE bool quick_word(Word &word, const Live &l, const Site &site) {
  const Word before = word, mine = site.word.at(l.now, l.thread());
  if (before.in_cell()) return how == How::read && quick_reader(word, l);
  if (before.stamp() < l.launch) {
    if (how == How::read && l.keeps_writes && before.wrote()) return false;
  } else {
    const bool same = before.thread() == mine.thread();
    if (before.stamp() < l.turn || !(same || before.stamp() < l.barrier)) return false;
    /* Of a thread's write and its read at the same time, whatever is ordered with one is ordered with the other. */
    if (how == How::read && before.wrote()) return same && before.stamp() == l.now;
  }
  word = mine;
  return true;
}

/* As `quick_cell`, of a granule that has a word: that holds the access alone again as soon as no other matters. */
template <How how>
inline bool quick_opened(const Live &l, const Site &site, size_t granule) {
  Region &region = *site.region;
  Cell &cell = opened(l, region, granule);
  const Now now{l, site, l.me(), l.ordered_before[0]};
  if (!quick_cell<how>(cell, now)) return false;
  const bool alone =
      how == How::write || (cell.other_stamp < l.launch && cell.write.stamp < (l.keeps_writes ? 1 : l.launch));
  if (alone) {
    region.words[granule] = Word(now.access(), how == How::write);
  } else if (cell.other_stamp == l.now && cell.other == now.me && cell.write.stamp < l.launch) {
    region.words[granule] = Word::of_cell_and_reader(l.now, l.thread(), cell.read.stamp < l.begin);
  }
  return true;
}

/* How many addresses from the region's first on may be touched by so many bytes. */
inline uintptr_t reach(const Region &region, unsigned size) { return region.high - region.low - size + 1; }

/* Granules of four bytes, or of as many as are touched: known where the compiler can make use of it. */
template <unsigned size> constexpr unsigned usual = size >= 4 ? 2 : size / 2;

/* Lets `site` go the short way from now on, where its region allows it: it has to have granules no larger than the access. */
template <How how>
inline void prepare(Site &site, unsigned size, unsigned usual_shift) {
  const Region &region = *site.region;
  if (region.kind == Kind::internal || !region.shadow || (1u << region.shift) > size) return;
  if (region.high - region.low < size || site.place >> flag_bits >= Word::numbers) return;
  if (region.use == Use::read && how == How::write) return;
  if (region.tracked() && region.written.empty()) return;
  const uintptr_t first = region.base() >> region.shift;
  site.shadow = region.words ? reinterpret_cast<uintptr_t>(region.words) - first * sizeof(Word)
                             : reinterpret_cast<uintptr_t>(region.cells) - first * sizeof(Cell);
  site.written = region.tracked() ? const_cast<uint64_t *>(region.written.data()) : nullptr;
  site.word = Word({0, 0, site.place}, how == How::write);
  site.shift = static_cast<uint8_t>(region.shift), site.shared = region.shared(), site.ready = true;
  site.reach = site.shift == usual_shift ? reach(region, size) : 0;
}

/* Whether that was all: an aligned access of memory that the instruction's site knows, in order with all before it. `opens`: also
 * where more than one access of a granule matters. */
template <How how, unsigned size, bool opens>
OPWRIGHT_EMULATION_INLINE bool quick_access(Live &l, const Site &site, unsigned shift, uintptr_t reach,
                                            uintptr_t address, uintptr_t code) {
  const uintptr_t at = address - site.low;
  if (site.code != code || at >= reach || (address & (alignment_of(size) - 1))) return false;
  if (how == How::write) l.stored = {address, size, code};
  const uint64_t bytes = ((uint64_t(1) << size) - 1) << at % 64;
  if (site.written) {
    if (at % 64 + size > 64) return false;
    if (how == How::read && (site.written[at / 64] & bytes) != bytes) return false;
  }
  if (site.shared) {
    if (__builtin_expect(!l.has(*site.region), 0)) return false; /* another block's variable was there */
    const Now now{l, site, l.me(), l.ordered_before[1]};
    Cell *cell = reinterpret_cast<Cell *>(site.shadow + (address >> shift) * sizeof(Cell));
    Cell *const end = cell + (size >> shift);
    uintptr_t granule = address;
    do {
      if (!quick_shared<how>(*cell, now, shift, granule)) return false;
      granule += uintptr_t(1) << shift;
    } while (++cell != end);
  } else {
    Word *word = reinterpret_cast<Word *>(site.shadow + (address >> shift) * sizeof(Word));
    Word *const end = word + (size >> shift);
    do {
      if (quick_word<how>(*word, l, site)) continue;
      if (!opens || !quick_opened<how>(l, site, word - site.region->words)) return false;
    } while (++word != end);
  }
  if (how == How::write && site.written) site.written[at / 64] |= bytes;
  return true;
}

template <How how>
void thorough_access(uintptr_t address, unsigned size, unsigned usual_shift, uintptr_t code) {
  Live &l = *live;
  if (__builtin_expect(l.attention.atomic, 0)) return access(address, size, how, Scope::device, code);
  accessed<how>(l, address, size, 0, code);
  Site &site = l.site(code);
  if (!site.ready && site.code == code) prepare<how>(site, size, usual_shift);
}

/* Also of memory whose granules are smaller, since some of it has been touched in smaller parts; of what several threads read; and
 * what isn't a kernel's. */
template <How how, unsigned size>
__attribute__((noinline)) void other_access(uintptr_t address, uintptr_t code) {
  if (__builtin_expect(!in_kernel(), 0)) return host_access(address, size, how, code);
  Live &l = *live;
  /* A thread's own variable, an array mostly, is nobody else's: no store to it changes what a pending write has left. */
  if (l.own(address) && !l.attention.atomic) {
    if (how == How::write) l.stored = {};
    return;
  }
  const Site &site = l.site(code);
  if (l.quick && site.ready &&
      quick_access<how, size, true>(l, site, site.shift, reach(*site.region, size), address, code))
    return;
  thorough_access<how>(address, size, usual<size>, code);
}

template <How how, unsigned size>
OPWRIGHT_EMULATION_INLINE void site_access(uintptr_t address, uintptr_t code) {
  Live &l = *live;
  const Site &site = l.site(code);
  if (__builtin_expect(reinterpret_cast<uintptr_t>(&context()) != l.quick, 0) ||
      !quick_access<how, size, false>(l, site, usual<size>, site.reach, address, code))
    other_access<how, size>(address, code);
}
/* Apart from what is before it, which needs no registers of its own. */
template <How how, unsigned size>
__attribute__((noinline)) void first_access(uintptr_t address, uintptr_t code) {
  site_access<how, size>(address, code);
}

/* A plain access of compiled code. */
template <How how, unsigned size>
OPWRIGHT_EMULATION_INLINE void plain_access(uintptr_t address, uintptr_t code) {
  if constexpr (how == How::write || size < 4) site_access<how, size>(address, code);
  else if (__builtin_expect(!read_again<size>(*live, address), 0)) first_access<how, size>(address, code);
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
