// Rounds: every thread of the block comes to the same barrier in order. How they begin, end, and turn into masks.
#include "block.h"
#include "work.h"

namespace opwright::emulation {
namespace {

uint32_t lanes_before(unsigned here, unsigned begin) {
  if (here <= begin) return 0;
  return here - begin >= warp_size ? ~0u : (1u << (here - begin)) - 1;
}

}  // namespace

void begin_round(Block &b) {
  b.round = true;
  b.barrier_place = {};
  b.barrier_key = b.warp_key = 0;
}

bool may_round(const Block &b) { return b.work->schedule.order == Order::forward; }

void publish_predicates(Block &b) {
  b.conjunction_of_all = b.conjunction;
  b.disjunction_of_all = b.disjunction;
  b.number_of_all = b.number;
  b.conjunction = 1;
  b.disjunction = b.number = 0;
  ++b.epoch;
}

// The last slot of a round has come to the barrier or returned.
void finish_round(Block &b, Slot *save) {
  if (b.alive == b.count) {
    publish_predicates(b);
    if (hooks() && hooks()->barrier) hooks()->barrier(b, b.barrier_place, b.epoch, 0);
    begin_round(b);
    continue_on(b, save, b.slots);
    return;
  }
  b.current = b.end; /* everybody who is alive waits */
  free_round(b);
  if (b.alive) release_barrier(b);
  run_another(b, save);
}

void free_round(Block &b) {
  if (!b.round) return;
  const unsigned here = unsigned(b.current - b.slots), first = here / warp_size * warp_size;
  b.ready_warps = b.arrived = 0;
  for (unsigned w = 0; w < b.warp_count; ++w) {
    Warp &warp = b.warps[w];
    const unsigned begin = w * warp_size;
    const uint32_t before = lanes_before(here, begin);
    const uint32_t self = here >= begin && here - begin < warp_size ? 1u << (here - begin) : 0;
    warp.ready = 0;
    make_ready(b, w, warp.live & ~before & ~self);
    uint32_t waiting = warp.live & before;
    if (b.warp_key && begin == first) {
      warp.at_collective = warp.inlined = waiting;
      for (uint32_t left = waiting; left; left &= left - 1) {
        const unsigned lane = unsigned(__builtin_ctz(left));
        warp.brought[lane] = b.deposit[lane];
        warp.mask[lane] = ~0u;
        warp.kind[lane] = b.warp_kind;
        if (b.warp_kind == shuffle) warp.source[lane] = uint8_t(lane); /* of a reduction: whether it is signed */
        b.places[begin + lane] = b.warp_place;
      }
      waiting = 0;
    }
    warp.at_barrier = waiting;
    b.arrived += unsigned(__builtin_popcount(waiting));
    for (; waiting; waiting &= waiting - 1) b.places[begin + unsigned(__builtin_ctz(waiting))] = b.barrier_place;
  }
  b.round = false;
  b.barrier_key = b.warp_key = 0;
}

}  // namespace opwright::emulation
