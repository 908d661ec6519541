// __shared__ variables: a number each for the process, a place each for the block that uses them.
#include "shared_memory.h"

#include <deque>
#include <opwright/emulation/forks.h>
#include <opwright/emulation/shared.h>

#include "block.h"

namespace opwright::emulation {
namespace {

Mutex<> mutex;
Lasting<std::deque<Declaration>> all;  // libraries may be loaded while the process ends

Declaration declared(unsigned number) {
  const std::lock_guard lock(mutex);
  return (*all)[number];
}

}  // namespace

unsigned declare_shared(const Declaration &declaration) {
  const std::lock_guard lock(mutex);
  all->push_back(declaration);
  return unsigned(all->size() - 1);
}

size_t declarations() {
  const std::lock_guard lock(mutex);
  return all->size();
}

uint32_t place_shared(unsigned number) {
  Block &b = block();
  const Declaration found = declared(number);
  const size_t alignment = found.alignment < 16 ? 16 : found.alignment;
  const size_t offset = (b.fixed_used + red_zone + alignment - 1) / alignment * alignment;
  if (offset + found.bytes > most_fixed * shared_times()) {
    Message message;
    message << "__shared__ " << found.names << " needs " << found.bytes << " bytes, and the block has used "
            << b.fixed_used << " of " << most_fixed * shared_times()
            << "\n  likely fix: extern __shared__ memory, whose size the launch gives";
    fault("shared", message.text());
  }
  b.fixed_used = uint32_t(offset + found.bytes);
  b.offsets[number] = uint32_t(offset);
  if (hooks() && hooks()->shared_allocated) hooks()->shared_allocated(b, b.fixed + offset, found.bytes, found.names);
  return uint32_t(offset);
}

}  // namespace opwright::emulation
