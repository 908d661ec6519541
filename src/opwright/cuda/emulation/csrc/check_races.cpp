/* What is said of two accesses that nothing orders. */
#include <string.h>

#include "check_report.h"
#include "check_touch.h"

namespace opwright {
namespace emulation {
namespace check {
namespace {

const char *verb(How how) {
  return how == How::read ? "reads" : how == How::write ? "writes" : how == How::frees ? "frees" : "atomically changes";
}

Place place_of(const Access &access) { return place(live->instructions[access.code >> flag_bits]); }

std::string other_text(const Conflict &conflict) {
  const bool same = live->same_block(conflict.other);
  std::string text =
      thread_text(conflict.other.who) + (same ? " of the same block " : " of " + block_text(conflict.other) + " ");
  text += conflict.did;
  if (conflict.other.code) {
    const Place other = place_of(conflict.other);
    text += " it at " + other.text();
    const std::string line = line_text(other);
    if (!line.empty()) text += "\n    " + line.substr(0, 90) + "\n ";
  } else {
    text += " it";
  }
  return text;
}

const char *race_fix(const Conflict &conflict, const Region &region) {
  if (!live->same_block(conflict.other)) return "use an atomic operation, or let each block touch memory of its own";
  return region.shared() ? "put a __syncthreads() (or __syncwarp() within a warp) between the two"
                         : "put a __syncthreads() between the two, or use an atomic operation";
}

/* Both accesses' places may silence it. */
std::string race_text(const Region &region, uintptr_t address, unsigned size, How how, const Conflict &conflict,
                      uintptr_t code) {
  if (conflict.other.code && silenced(place_of(conflict.other), race)) return "";
  const char *where = region.shared() ? "shared" : "global";
  const std::string found = std::string(verb(how)) + " " + bytes(size) + ", " + spot(region, address) + "; " +
                            other_text(conflict) + " with nothing between that orders the two";
  return text_of({race, std::string("data race in ") + where + " memory", found, race_fix(conflict, region)},
                 place(code));
}

}  // namespace

void raced(const Region &region, uintptr_t address, unsigned size, How how, const Conflict &conflict, uintptr_t code) {
  Live &l = *live;
  const uintptr_t key = code * 31 + (conflict.other.code >> flag_bits);
  if (l.silenced.count(key)) return;
  const std::string text = race_text(region, address, size, how, conflict, code);
  if (text.empty()) {
    l.silenced.insert(key);
  } else if (how == How::write && size <= sizeof(l.pending.before)) {
    if (l.attention.pending) return; /* of the same store */
    l.attend(&Attention::pending, true);
    l.pending.address = address, l.pending.size = size, l.pending.text = text;
    memcpy(l.pending.before, reinterpret_cast<const void *>(address), size);
    /* Before another thread runs it has to be known whether it was. */
    Context &block = *reinterpret_cast<Context *>(l.arena);
    block.leave_loop = true;
    block.barrier_key = 0;
  } else {
    stop(race, text);
  }
}

void settle() {
  Live &l = *live;
  l.attend(&Attention::pending, false);
  if (memcmp(l.pending.before, reinterpret_cast<const void *>(l.pending.address), l.pending.size) != 0)
    stop(race, l.pending.text);
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
