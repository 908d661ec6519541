/* Reads of memory of which some bytes are written and others aren't: copies of structs, whose padding nobody writes, or a member.
 *
 * Copying such bytes is no fault, using them is one. So they are unwritten in the copy, too, where it is known which one that is.
 */
#include "check_regions.h"
#include "check_source.h"
#include "check_touch.h"

namespace opwright {
namespace emulation {

uintptr_t copy_awaited(const void *address); /* async_copies.cpp */

namespace check {
namespace {

/* Of `a = b`, two structs, compiled code names what it writes and at once what it reads; of a copy by memcpy, the other way round. What
 * a copy moves comes after both. */
bool at_once(const Span &first, const Span &second) {
  constexpr uintptr_t longest = 48; /* between two calls that pass addresses, and nothing else */
  return first.size == second.size && second.code - first.code - 1 < longest;
}

bool in_one_line(Live &l, const Span &written, const Span &read) {
  const auto [found, added] = l.one_line.emplace(read.code, false);
  if (added) {
    const Place from = place(read.code), to = place(written.code);
    found->second = from.line == to.line && from.file == to.file;
  }
  return found->second;
}

Region *at(uintptr_t address) { return own_memory(address) ? shared_at(address) : region_at(address); }

/* From `address` on, how many of `size` bytes in a row are written, or aren't. */
size_t run(const Live &l, Region &region, uintptr_t address, size_t size, bool are) {
  if (!region.shared()) return region.tracked() ? region.run(address, size, are) : are ? size : 0;
  if (!region.shadow) return are ? 0 : size;
  uintptr_t end = address;
  while (end < address + size) {
    const size_t granule = region.granule(end);
    if (initialised(l, region, opened(l, region, granule)) != are) break;
    end = region.base() + ((granule + 1) << region.shift);
  }
  return std::min(size_t(end - address), size);
}

/* Of shared memory, as far as whole granules are. */
void forget_writes(const Live &l, Region &region, uintptr_t address, size_t size) {
  if (!region.shared()) return region.unmark(address, size);
  const uintptr_t rounded = address - region.base() + (uintptr_t(1) << region.shift) - 1;
  const size_t end = (address + size - region.base()) >> region.shift;
  for (size_t granule = rounded >> region.shift; granule < end; ++granule) opened(l, region, granule).write = {};
}

void carry(const Live &l, uintptr_t to, Region &of, uintptr_t from, size_t size) {
  Region *into = at(to);
  if (!into || !(into->shared() ? into->shadow != nullptr : into->tracked()) || into->high - to < size) return;
  for (size_t done = 0; done < size;) {
    done += run(l, of, from + done, size - done, true);
    const size_t missing = run(l, of, from + done, size - done, false);
    forget_writes(l, *into, to + done, missing);
    done += missing;
  }
}

bool awaited(const Live &l, Region &region, const Span &read) {
  for (size_t done = 0; region.shared() && done < read.size; ++done) {
    done += run(l, region, read.low + done, read.size - done, true);
    if (done < read.size && copy_awaited(reinterpret_cast<const void *>(read.low + done))) return true;
  }
  return false;
}

}  // namespace

bool in_part(Live &l, Region &region, uintptr_t address, unsigned size, uintptr_t code) {
  const bool ranged = l.range.holds(address);
  if (ranged && l.range_in_part) return true;
  const Span read = ranged ? l.range : Span{address, size, code};
  if (read.low < region.low || region.high - read.low < read.size) return false;
  if (run(l, region, read.low, read.size, false) == read.size || awaited(l, region, read)) return false;
  l.range_in_part = ranged;
  if (at_once(l.stored, read) && in_one_line(l, l.stored, read)) carry(l, l.stored.low, region, read.low, read.size);
  return true;
}

void begin_range(const Span &read) {
  Live &l = *live;
  l.range = read, l.range_in_part = false;
}

void end_range() {
  Live &l = *live;
  /* One that is its own copy's is no source of the next write's. */
  l.loaded = at_once(l.stored, l.range) ? Span() : l.range;
  l.range = l.stored = {};
}

void wrote_range(const Span &written) {
  Live &l = *live;
  l.stored = at_once(l.loaded, written) ? Span() : written;
  l.loaded = {};
}

void copied_in_kernel(uintptr_t to, uintptr_t from, size_t size) {
  Region *of = size ? at(from) : nullptr;
  if (of && of->high - from >= size) carry(*live, to, *of, from, size);
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
