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

/* Lets `site` go the short way from now on, where its region allows it: it has to have cells no larger than the access. */
inline void prepare(Site &site, How how, unsigned size) {
  const Region &region = *site.region;
  if (region.kind == Kind::internal || !region.cells || (1u << region.shift) > size || site.bytes < size) return;
  if (region.use == Use::read && how == How::write) return;
  if (region.tracked() && region.written.empty()) return;
  site.cells = reinterpret_cast<uintptr_t>(region.cells) - (region.base() >> region.shift) * sizeof(Cell);
  site.written = region.tracked() ? const_cast<uint64_t *>(region.written.data()) : nullptr;
  site.shift = static_cast<uint8_t>(region.shift), site.shared = region.shared();
  site.reach = site.bytes - size + 1;
}

/* Granules of four bytes, or of as many as are touched: known where the compiler can make use of it. */
template <unsigned size> constexpr unsigned usual = size >= 4 ? 2 : size / 2;

/* Whether that was all: an aligned access of memory that the instruction's site knows, in order with all before it. */
template <How how, unsigned size>
OPWRIGHT_EMULATION_INLINE bool quick_access(Live &l, const Site &site, unsigned shift, uintptr_t address,
                                            uintptr_t code) {
  const uintptr_t at = address - site.low;
  if (site.code != code || at >= site.reach || (address & (size - 1)) || l.attention.any()) return false;
  const uint64_t bytes = ((uint64_t(1) << size) - 1) << at % 64;
  if (site.written) {
    if (at % 64 + size > 64) return false;
    if (how == How::read && (site.written[at / 64] & bytes) != bytes) return false;
  }
  const Now now{l, site, l.me(), l.ordered_before[site.shared]};
  Cell *cell = reinterpret_cast<Cell *>(site.cells + (address >> shift) * sizeof(Cell));
  Cell *const end = cell + (size >> shift);
  do {
    if (how == How::read && site.shared && cell->write.stamp < l.begin) return false; /* no thread of the block has */
    if (!quick_cell<how>(*cell, now)) return false;
  } while (++cell != end);
  if (how == How::write && site.written) site.written[at / 64] |= bytes;
  return true;
}

template <How how>
__attribute__((noinline)) void by_host(uintptr_t address, unsigned size, uintptr_t code) {
  if (live) host_access(address, size, how, code);
}

template <How how>
__attribute__((noinline)) void thorough_access(uintptr_t address, unsigned size, uintptr_t code) {
  Live &l = *live;
  if (__builtin_expect(l.attention.atomic, 0)) return access(address, size, how, Scope::device, code);
  accessed<how>(l, address, size, 0, code);
  Site &site = l.site(code);
  if (!site.reach && site.code == code) prepare(site, how, size);
}

/* Also of memory whose granules are smaller, since some of it has been touched in smaller parts. */
template <How how, unsigned size>
__attribute__((noinline)) void other_access(uintptr_t address, uintptr_t code) {
  Live &l = *live;
  const Site &site = l.site(code);
  if (site.shift == usual<size> || !quick_access<how, size>(l, site, site.shift, address, code))
    thorough_access<how>(address, size, code);
}

/* A plain access of compiled code. */
template <How how, unsigned size>
OPWRIGHT_EMULATION_INLINE void plain_access(uintptr_t address, uintptr_t code) {
  if (__builtin_expect(!in_kernel(), 0)) return by_host<how>(address, size, code);
  Live &l = *live;
  const Site &site = l.site(code);
  if (site.shift == usual<size> && quick_access<how, size>(l, site, usual<size>, address, code)) return;
  /* A thread's own variable, an array mostly, is nobody else's: no store to it changes what a pending write has left. */
  if (l.own(address) && !l.attention.atomic) return;
  other_access<how, size>(address, code);
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
