// The tensors of calls: lent to kernels when a call begins, taken back when it ends. Copies are held against them.
#include "lending.h"

#include <opwright/emulation/hooks.h>

#include <algorithm>

namespace opwright::emulation {
namespace {

thread_local std::vector<Lent> given;

void take_back(std::vector<Lent>::iterator which) {
  const Lent gone = *which;
  given.erase(which);
  if (hooks() && hooks()->taken_back)
    hooks()->taken_back(reinterpret_cast<const void *>(gone.low), size_t(gone.high - gone.low));
}

}  // namespace

const Lent *lent_at(const void *address, size_t bytes) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  const Lent *found = nullptr;
  for (const Lent &each : given) {
    if (at < each.low || at >= each.high) continue;
    if (bytes <= each.high - at) return &each;
    found = &each;
  }
  return found;
}

void lend(const void *memory, size_t bytes, const char *name, size_t element, Use use) {
  if (!memory || !bytes) return;
  if (hooks() && hooks()->lent) hooks()->lent(memory, bytes, name, element, use);
  const uintptr_t low = reinterpret_cast<uintptr_t>(memory);
  given.push_back({low, low + bytes, name, use});
}

void take_back(const void *memory) {
  const uintptr_t low = reinterpret_cast<uintptr_t>(memory);
  const auto found = std::find_if(given.rbegin(), given.rend(), [&](const Lent &each) { return each.low == low; });
  if (found != given.rend()) take_back(std::prev(found.base()));
}

const std::vector<Lent> &all_lent() { return given; }

size_t lent() { return given.size(); }

void take_back_since(size_t count) {
  while (given.size() > count) take_back(std::prev(given.end()));
}

}  // namespace opwright::emulation
