// Which thread of a block runs next.
#include <sched.h>

#include "block.h"
#include "work.h"

namespace opwright::emulation {
namespace {

unsigned lowest(uint32_t mask) { return unsigned(__builtin_ctz(mask)); }
unsigned highest(uint32_t mask) { return 31u - unsigned(__builtin_clz(mask)); }

unsigned random_bit(uint32_t mask, uint64_t &random) {
  for (uint64_t left = draw(random) % uint64_t(__builtin_popcount(mask)); left; --left) mask &= mask - 1;
  return lowest(mask);
}

unsigned pick_bit(Block &b, uint32_t mask) {
  const Order order = b.work->schedule.order;
  if (order == Order::forward) return lowest(mask);
  return order == Order::reverse ? highest(mask) : random_bit(mask, b.random);
}

// Warps in turn: the one that ran last goes on as long as it can.
unsigned pick_warp(Block &b) {
  if (b.work->schedule.order == Order::random) return random_bit(b.ready_warps, b.random);
  if (!(b.ready_warps >> b.cursor & 1)) {
    const uint32_t later = b.ready_warps & ~((uint32_t(2) << b.cursor) - 1);
    b.cursor = pick_bit(b, later ? later : b.ready_warps);
  }
  return b.cursor;
}

Slot *take_ready(Block &b) {
  const unsigned w = pick_warp(b), lane = pick_bit(b, b.warps[w].ready);
  b.warps[w].ready &= ~(1u << lane);
  if (!b.warps[w].ready) b.ready_warps &= ~(1u << w);
  return &b.slots[w * warp_size + lane];
}

void resume_yielding(Block &b) {
  for (uint32_t left = b.yielding_warps; left; left &= left - 1) {
    Warp &warp = b.warps[lowest(left)];
    make_ready(b, lowest(left), warp.yielding);
    warp.yielding = 0;
  }
  b.yielding_warps = 0;
}

// Leaves the arena: the block is done, or waits for other blocks.
void go_native(Block &b, Slot *save) { swap(save, &b.native); }

}  // namespace

void continue_on(Block &b, Slot *save, Slot *next) {
  if (hooks() && hooks()->thread_switch) hooks()->thread_switch(b, b.linear, next->linear);
  b.current = next;
  b.thread = next->thread;
  b.linear = next->linear;
  if (next != save) swap(save, next);
}

void make_ready(Block &b, unsigned warp, uint32_t lanes) {
  if (!lanes) return;
  b.warps[warp].ready |= lanes;
  b.ready_warps |= 1u << warp;
}

// The thread at hand is the first that waits. Those before it in the order have returned, those after it not begun.
void start_fibers(Block &b) {
  b.fibers = b.leave_loop = true;
  b.end = b.slots + b.count;
  unsigned i = 0;
  uint3 at{0, 0, 0};
  for (Slot *slot = b.slots; slot != b.end; ++slot, ++i) {
    slot->thread = at;
    slot->linear = i;
    if (++at.x == b.block_size.x) {
      at.x = 0;
      if (++at.y == b.block_size.y) at.y = 0, ++at.z;
    }
  }
  for (unsigned w = 0; w < b.warp_count; ++w) {
    Warp &warp = b.warps[w];
    const unsigned lanes = b.count - w * warp_size;
    warp.live = lanes < warp_size ? (1u << lanes) - 1 : ~0u;
    warp.ready = warp.at_barrier = warp.at_collective = warp.at_grid = warp.asking = warp.yielding = warp.inlined = 0;
  }
  b.ready_warps = b.yielding_warps = b.asking_warps = 0;
  b.arrived = b.at_grid = b.cursor = 0;
  b.alive = b.count;
  b.conjunction = 1;
  b.disjunction = b.number = 0;
  b.current = b.slots + b.linear;
  begin_round(b);
  for (i = 0; i < b.count; ++i) {
    const unsigned linear = b.order[i];
    if (linear == b.linear) break;
    b.warp_of(linear).live &= ~(1u << linear % warp_size);
    --b.alive;
  }
  for (++i; i < b.count; ++i) prepare(b.slots[b.order[i]], top_of_stack(b, b.order[i]), &fiber_main);
  if (may_round(b)) return;
  b.round = false;
  for (unsigned w = 0; w < b.warp_count; ++w) make_ready(b, w, b.warps[w].live);
  b.warp_of(b.linear).ready &= ~(1u << b.linear % warp_size);
  if (!b.warp_of(b.linear).ready) b.ready_warps &= ~(1u << b.linear / warp_size);
}

void run_another(Block &b, Slot *save) {
  for (;;) {
    if (b.ready_warps) return continue_on(b, save, take_ready(b));
    if (!b.alive) return save == &b.home ? void() : swap(save, &b.home);
    if (b.asking_warps) {
      complete_asking(b);
    } else if (b.yielding_warps) {
      resume_yielding(b);
      if (b.work->launch.configuration.cooperative) return go_native(b, save);
      sched_yield();
    } else if (b.at_grid && b.at_grid == b.alive) {
      return go_native(b, save);
    } else {
      fault("deadlock", deadlocked(b).c_str());
    }
  }
}

namespace {

// The thread at hand has returned; `save` is where to go on when all have.
void retire(Block &b, Slot *save) {
  const unsigned w = b.linear / warp_size;
  if (b.round && b.warp_key) free_round(b);
  b.warps[w].live &= ~(1u << b.linear % warp_size);
  --b.alive;
  if (b.round) {
    if (b.current + 1 == b.end) return finish_round(b, save);
    return continue_on(b, save, b.current + 1);
  }
  if (b.alive && b.arrived == b.alive) release_barrier(b);
  complete_after_exit(b, w);
  run_another(b, save);
}

}  // namespace

void finish_threads(Block &b) { retire(b, &b.home); }

void leave_fiber() {
  Block &b = block();
  Slot nowhere;
  retire(b, &nowhere);
  __builtin_unreachable();
}

}  // namespace opwright::emulation
