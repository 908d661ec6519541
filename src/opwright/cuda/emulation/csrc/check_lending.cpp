/* The tensors of calls: lent to kernels when a call begins, taken back when it ends. */
#include <opwright/emulation/check.h>

#include <algorithm>
#include <vector>

#include "check_access.h"
#include "check_launches.h"
#include "check_regions.h"

namespace opwright {
namespace emulation {
namespace {

struct Lent { uintptr_t low, high; };
thread_local std::vector<Lent> given;

void take_back(std::vector<Lent>::iterator which) {
  const Lent gone = *which;
  given.erase(which);
  const check::BetweenLaunches alone;
  check::remove_region(gone.low, gone.high); /* other OS threads may have lent the same memory, more or less of it */
}

}  // namespace

void lend(const void *memory, size_t bytes, const char *name, size_t element) {
  if (!memory || !bytes) return;
  if (given.empty()) check::forget_the_host();
  const uintptr_t low = reinterpret_cast<uintptr_t>(memory);
  const check::BetweenLaunches alone;
  check::add_region(low, low + bytes, name, check::Kind::tensor, static_cast<unsigned>(element));
  given.push_back({low, low + bytes});
}

void take_back(const void *memory) {
  const uintptr_t low = reinterpret_cast<uintptr_t>(memory);
  const auto found = std::find_if(given.rbegin(), given.rend(), [&](const Lent &each) { return each.low == low; });
  if (found != given.rend()) take_back(std::prev(found.base()));
}

size_t lent() { return given.size(); }

void take_back_since(size_t count) {
  while (given.size() > count) take_back(std::prev(given.end()));
}

}  // namespace emulation
}  // namespace opwright
