/* One access of a kernel: is it memory that it may touch, and is it ordered with those before it? Most accesses take the short way
 * of check_quick.h instead.
 */
#ifndef OPWRIGHT_EMULATION_CHECK_TOUCH_H
#define OPWRIGHT_EMULATION_CHECK_TOUCH_H

#include <algorithm>

#include "check_access.h"
#include "check_readers.h"

namespace opwright {
namespace emulation {
namespace check {

constexpr bool reads(How how) { return how == How::read || how == How::atomic_read || how == How::atomic_change; }
constexpr bool writes(How how) { return how != How::read && how != How::atomic_read; }

inline const char *noun(How how) { return writes(how) ? "write" : "read"; }

/* "1 byte", "4 bytes". */
inline std::string bytes(uintptr_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

struct Conflict {
  Access other;
  const char *did;
};

/* Faults; those that the author has silenced return. */
void outside(const Region &region, uintptr_t address, unsigned size, How how, uintptr_t code);
void misaligned(const Region &region, uintptr_t address, unsigned size, How how, uintptr_t code);
void unwritten(const Region &region, uintptr_t address, unsigned size, uintptr_t code);
void between_streams(const Region &region, Cell &cell, uintptr_t address, unsigned size, How how, uintptr_t code);
void strayed(const Region &region, uintptr_t address, unsigned size, How how, uintptr_t code);
void written_input(const Region &region, uintptr_t address, unsigned size, uintptr_t code);
void raced(const Region &region, uintptr_t address, unsigned size, How how, const Conflict &conflict, uintptr_t code);

/* Whether a read that finds a byte unwritten may go on: some of what it reads is written. It is a struct's copy then (check_copies.cpp). */
bool in_part(Live &l, Region &region, uintptr_t address, unsigned size, uintptr_t code);

/* The region of an address that isn't where the instruction's last one was; null where it doesn't matter, or is silenced. */
Region *look_up(Live &l, Site &site, uintptr_t address, unsigned size, How how, uintptr_t code);

/* Two atomic operations don't race, if each reaches the other. */
inline bool both_atomic(const Live &l, const Access &other, uint32_t flags) {
  if (!(other.code & flags & atomic)) return false;
  return !((other.code | flags) & of_block) || l.same_block(other);
}

inline bool conflicts(const Live &l, const Access &other, uint32_t flags, uint32_t since) {
  return !l.ordered(other, since) && !both_atomic(l, other, flags);
}

inline void note_read(const Live &l, Cell &cell, const Access &mine, uint32_t since) {
  if (cell.read.who == mine.who || l.ordered(cell.read, since)) {
    cell.read = mine;
  } else {
    cell.other_stamp = mine.stamp, cell.other = mine.who;
  }
}

inline void note_write(const Live &l, Cell &cell, Access mine, uint32_t since) {
  const Access before = cell.write;
  const bool of_others = before.who != mine.who || (before.code & several);
  if (of_others && !l.ordered(before, since)) mine.code |= several;
  cell.write = mine;
  if (!(mine.code & atomic)) {
    cell.read.stamp = cell.other_stamp = 0;
  } else if (before.stamp >= since && !(before.code & atomic)) {
    /* Plain accesses before an atomic one stay of interest to later ones. */
    if (cell.read.stamp < since) cell.read = {before.stamp, before.who, before.code | wrote};
    else cell.other_stamp = before.stamp, cell.other = before.who;
  }
}

template <How how>
inline bool examine(const Live &l, const Cell &cell, const Access &mine, uint32_t since, Conflict *conflict) {
  if (conflicts(l, cell.write, mine.code, since)) {
    *conflict = {cell.write, cell.write.code & atomic ? "atomically changed" : "wrote"};
    return true;
  }
  if (!writes(how) && !(cell.read.code & wrote)) return false;
  if (conflicts(l, cell.read, mine.code, since)) {
    *conflict = {cell.read, cell.read.code & wrote ? "wrote" : "read"};
    return true;
  }
  if (!writes(how)) return false;
  const Access other{cell.other_stamp, cell.other, cell.read.code & uint32_t(atomic)};
  if (conflicts(l, other, mine.code, since)) {
    *conflict = {{other.stamp, other.who, 0}, "read"};
    return true;
  }
  return false;
}

inline bool initialised(const Live &l, const Region &region, const Cell &cell) {
  return !region.shared() || l.same_block(cell.write);
}

/* The cell of a granule, with what is noted elsewhere: the access that its word holds, or its readers. */
inline Cell &opened(const Live &l, Region &region, size_t granule) {
  Cell &cell = region.cells[granule];
  if (!region.words && region.shift == word_shift) absorb(l, region.base() + (granule << word_shift), cell);
  if (!region.words) return cell;
  const Word word = region.words[granule];
  if (word.in_cell() && !word.has_reader()) return cell;
  const uint32_t block = word.stamp() < l.launch ? 0 : l.block_of(word.stamp());
  const uint32_t who = block << thread_bits | word.thread();
  if (word.has_reader()) {
    cell.other_stamp = word.stamp(), cell.other = who;
  } else {
    cell = Cell();
    if (!word.empty()) (word.wrote() ? cell.write : cell.read) = {word.stamp(), who, word.code()};
  }
  region.words[granule] = Word::of_cell();
  return cell;
}

template <How how>
inline void touch(Live &l, Region &region, uintptr_t address, unsigned size, const Access &mine, uintptr_t code) {
  const unsigned unit = 1u << region.shift;
  if (!region.shadow || ((address | size) & (unit - 1))) region.refine(address, size);
  const uint32_t since = region.shared() ? std::max(l.block->begin, l.launch) : l.launch;
  size_t granule = region.granule(address);
  const size_t end = granule + ((size + (1u << region.shift) - 1) >> region.shift);
  if (region.use != Use::changed) {
    if (writes(how) && region.use == Use::read) written_input(region, address, size, code);
    if (region.tracked()) {
      if (reads(how) && !region.is_written(address, size)) {
        region.find_writes(address, size);
        const bool fine = !region.tracked() || region.is_written(address, size) ||
                          (how == How::read && in_part(l, region, address, size, code));
        if (!fine) unwritten(region, address, size, code);
      }
      if (writes(how)) region.mark(address, size);
    }
  }
  bool partly = false;
  for (; granule != end; ++granule) {
    Cell &cell = opened(l, region, granule);
    Conflict conflict;
    if (reads(how) && !partly && !initialised(l, region, cell)) {
      partly = how == How::read && in_part(l, region, address, size, code);
      if (!partly) unwritten(region, address, size, code);
      if (!partly && !writes(how)) return;
    }
    if (examine<how>(l, cell, mine, since, &conflict)) {
      raced(region, address, size, how, conflict, code);
    }
    if (__builtin_expect(!l.unordered.empty(), 0) && !region.shared())
      between_streams(region, cell, address, size, how, code);
    if (writes(how)) note_write(l, cell, mine, since);
    else note_read(l, cell, mine, since);
  }
}

/* Of 16 bytes, a struct's copy may have the alignment of eight. What needs more says so itself (check_undefined.cpp). */
constexpr unsigned alignment_of(unsigned size) { return size < 8 ? size : 8; }

template <How how>
inline void accessed(Live &l, uintptr_t address, unsigned size, uint32_t flags, uintptr_t code) {
  if (l.attention.pending) settle();
  if (l.own(address)) return;
  Site &site = l.site(code);
  Region *region = site.region;
  if (site.code != code || address - site.low >= region->high - site.low || (region->shared() && !l.has(*region))) {
    region = look_up(l, site, address, size, how, code);
    if (!region) return;
  }
  if (region->kind == Kind::internal) return;
  if (address >= region->high || region->high - address < size) return outside(*region, address, size, how, code);
  if (l.attention.stray && address - l.stray.low < l.stray.bytes && l.stray.who == l.me())
    strayed(*region, address, size, how, code);
  if (address & (alignment_of(size) - 1)) misaligned(*region, address, size, how, code);
  touch<how>(l, *region, address, size, {l.now, l.me(), site.place | flags}, code);
  if (how == How::write) l.stored = {address, size, code};
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
