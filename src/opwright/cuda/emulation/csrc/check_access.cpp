/* Accesses that aren't plain: atomic ones, and those of many bytes. */
#include "check_touch.h"

namespace opwright {
namespace emulation {
namespace check {

void access(uintptr_t address, unsigned size, How how, Scope scope, uintptr_t code) {
  if (!in_kernel()) return;
  Live &l = *live;
  if (l.attention.atomic) {
    if (l.atomic_seen) return;
    l.atomic_seen = true, how = l.exchanges ? How::atomic_write : How::atomic_change, scope = l.scope;
  }
  const uint32_t reach = scope == Scope::block ? uint32_t(of_block) : 0;
  switch (how) {
    case How::read: return accessed<How::read>(l, address, size, 0, code);
    case How::write: return accessed<How::write>(l, address, size, 0, code);
    case How::atomic_read: return accessed<How::atomic_read>(l, address, size, atomic | reach, code);
    case How::atomic_write: return accessed<How::atomic_write>(l, address, size, atomic | reach, code);
    case How::atomic_change: return accessed<How::atomic_change>(l, address, size, atomic | reach, code);
    case How::frees: return accessed<How::frees>(l, address, size, atomic, code);
  }
}

void access_range(uintptr_t address, size_t size, How how, uintptr_t code) {
  constexpr unsigned largest = 16;
  if (!size) return;
  if (!in_kernel()) return host_access(address, size, how, code);
  const Span whole{address, size, code};
  if (how == How::read) begin_range(whole);
  while (size) {
    unsigned step = largest;
    while (step > size || (address & (step - 1))) step /= 2;
    access(address, step, how, Scope::device, code);
    address += step, size -= step;
  }
  if (how == How::read) end_range();
  else if (how == How::write) wrote_range(whole);
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
