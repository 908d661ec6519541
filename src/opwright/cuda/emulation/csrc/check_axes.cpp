/* Indices beyond their axis that lead into the tensor all the same. */
#include <opwright/tensors/axes.h>

#include "check_regions.h"
#include "check_report.h"
#include "check_touch.h"

namespace opwright {
namespace emulation {
namespace check {
namespace {

/* The first index that was too large (or negative) of the view that is being indexed. */
bool astray = false;
int64_t index = 0, size = 0;

}  // namespace

/* Whoever only wanted the address, one past the end of a row, has not come here. */
void strayed(const Region &region, uintptr_t address, unsigned bytes_, How how, uintptr_t code) {
  const Stray stray = live->stray;
  live->stray = {};
  live->attend(&Attention::stray, false);
  const std::string axis = "index " + std::to_string(stray.index) + " of an axis of " + std::to_string(stray.size);
  report({bounds, std::string("index beyond its axis, a ") + (writes(how) ? "write" : "read"),
          "got: " + axis + ", which leads to " + bytes(bytes_) + ", " + spot(region, address),
          "compare the index with the axis's size before the access"},
         code);
}

}  // namespace check

void axis_index(int64_t index, int64_t size) {
  if (check::astray || (index >= 0 && index < size)) return;
  check::astray = true, check::index = index, check::size = size;
}

void axis_at(const volatile void *address, int64_t bytes) {
  const bool astray = check::astray;
  check::astray = false;
  if (!check::in_kernel()) return;
  check::Live &l = *check::live;
  const uintptr_t low = reinterpret_cast<uintptr_t>(address);
  const uintptr_t length = bytes > 0 ? uintptr_t(bytes) : 1;
  if (astray) l.stray = {low, length, l.me(), check::index, check::size};
  else if (l.stray.who == l.me() && low - l.stray.low < l.stray.bytes) l.stray.low = low, l.stray.bytes = length;
  else l.stray = {};
  l.attend(&check::Attention::stray, l.stray.bytes != 0);
}

}  // namespace emulation
}  // namespace opwright
