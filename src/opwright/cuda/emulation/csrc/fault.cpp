// Faults: what is said of them, and how a launch ends early.
#include <opwright/emulation/fault.h>

#include <cstdio>
#include <vector>

#include "work.h"

namespace opwright::emulation {

extern thread_local Block *running;

namespace {

const Hooks *installed = nullptr;

std::string triple(const uint3 &t) {
  return "(" + std::to_string(t.x) + ", " + std::to_string(t.y) + ", " + std::to_string(t.z) + ")";
}

uint3 index_of(const Block &b, unsigned linear) {
  return {linear % b.block_size.x, linear / b.block_size.x % b.block_size.y, linear / b.block_size.x / b.block_size.y};
}

}  // namespace

std::string where(const Block &b) {
  const Launch &launch = b.work->launch;
  return std::string("\n  in ") + launch.kernel + ", launched at " + launch.file + ":" + std::to_string(launch.line) +
         ", block " + triple(b.block);
}

std::string where(const Block &b, unsigned linear) { return where(b) + ", thread " + triple(index_of(b, linear)); }

void fault(const char *kind, const char *text) {
  Block *b = running;
  if (!b) {
    fprintf(stderr, "opwright: a fault outside of a kernel: %s\n", text);
    __builtin_trap();
  }
  if (b->plain) try_again(*b, kind, text);
  else record(*b->work, kind, text + where(*b, b->linear));
  Slot nowhere;
  swap(&nowhere, &b->native);
  __builtin_unreachable();
}

// Who waits where, in words: the first few places, with how many threads each.
std::string deadlocked(Block &b) {
  struct Group {
    Place place;
    const char *what;
    unsigned threads, first;
  };
  std::vector<Group> groups;
  for (unsigned i = 0; i < b.count; ++i) {
    const Warp &warp = b.warp_of(i);
    const uint32_t bit = 1u << i % warp_size;
    if (!(warp.live & bit)) continue;
    const char *what = warp.at_barrier & bit ? "at a barrier"
                       : warp.at_grid & bit  ? "for the grid"
                                             : "for lanes of their warp";
    const Place p = b.places[i];
    Group *found = nullptr;
    for (Group &g : groups)
      if (g.what == what && g.place.line == p.line && !__builtin_strcmp(g.place.file, p.file)) found = &g;
    if (found) ++found->threads;
    else groups.push_back({p, what, 1, i});
  }
  std::string text = "the block can't go on: of " + std::to_string(b.count) + " threads " +
                     std::to_string(b.count - b.alive) + " have returned";
  constexpr size_t shown = 6;
  for (size_t i = 0; i < groups.size() && i < shown; ++i) {
    const Group &g = groups[i];
    text += "\n  " + std::to_string(g.threads) + (g.threads == 1 ? " waits " : " wait ") + g.what + ", " +
            g.place.file + ":" + std::to_string(g.place.line) + " (thread " + triple(index_of(b, g.first)) +
            (g.threads == 1 ? ")" : " first)");
  }
  return text + "\n  likely fix: let all threads of the block, or all lanes of the mask, come to the same place";
}

bool inside_kernel() { return running != nullptr; }

Current current() {
  Current c{};
  const Block *b = running;
  if (!b) return c;
  c.inside = true;
  c.thread = b->thread;
  c.block = b->block;
  c.linear = b->linear;
  c.warp = b->linear / warp_size;
  c.lane = b->linear % warp_size;
  c.epoch = b->epoch;
  c.warp_epoch = b->warps[c.warp].epoch;
  c.kernel = b->work->launch.kernel;
  c.file = b->work->launch.file;
  c.line = b->work->launch.line;
  return c;
}

const Hooks *hooks() { return installed; }
void install_hooks(const Hooks *given) { installed = given; }

OPWRIGHT_EMULATION_API void atomic_begins(const void *address, size_t bytes, bool exchanges) {
  if (installed && installed->atomic_begin) installed->atomic_begin(address, bytes, exchanges);
}
OPWRIGHT_EMULATION_API void atomic_ends(const void *address, size_t bytes) {
  if (installed && installed->atomic_end) installed->atomic_end(address, bytes);
}

}  // namespace opwright::emulation
