// In which order blocks, and the threads of a block, run.
#include <atomic>
#include <opwright/emulation/in_order.h>

#include "shared_memory.h"
#include "work.h"

namespace opwright::emulation {
namespace {

std::atomic<int> order{0};
std::atomic<uint64_t> seed{0};
thread_local bool in_order = false;  // of the launches of this OS thread

uint64_t mixed(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// A permutation of the numbers of `bits` bits: a Feistel network on two halves.
uint64_t shuffled(uint64_t x, unsigned half, uint64_t key) {
  const uint64_t mask = (uint64_t(1) << half) - 1;
  uint64_t low = x & mask, high = x >> half;
  for (uint64_t round = 0; round < 4; ++round) {
    const uint64_t next = high ^ (mixed(low + key + round * 0x9e3779b97f4a7c15u) & mask);
    high = low;
    low = next;
  }
  return high << half | low;
}

}  // namespace

Schedule schedule() { return in_order ? Schedule{Order::forward, 0} : Schedule{Order(order.load()), seed.load()}; }

bool launches_in_order() { return in_order; }

size_t shared_times() { return in_order ? most_times : 1; }

void launch_in_order(bool wanted) { in_order = wanted; }

uint64_t draw(uint64_t &state) { return mixed(state += 0x9e3779b97f4a7c15u); }

uint64_t permuted(uint64_t index, uint64_t count, const Schedule &schedule) {
  if (schedule.order == Order::forward) return index;
  if (schedule.order == Order::reverse) return count - 1 - index;
  unsigned half = 1;
  while (uint64_t(1) << (2 * half) < count) ++half;
  do index = shuffled(index, half, mixed(schedule.seed));
  while (index >= count);
  return index;
}

// The order of this block depends on the seed and on which block it is, not on who runs it.
void order_threads(Block &b) {
  const Schedule how = b.work->schedule;
  const uint64_t which = b.block.x + uint64_t(b.grid_size.x) * (b.block.y + uint64_t(b.grid_size.y) * b.block.z);
  b.random = mixed(how.seed) + which;
  for (unsigned i = 0; i < b.count; ++i) b.order[i] = uint16_t(how.order == Order::reverse ? b.count - 1 - i : i);
  if (how.order != Order::random) return;
  for (unsigned i = b.count; i > 1; --i) {
    const unsigned other = unsigned(draw(b.random) % i);
    const uint16_t kept = b.order[i - 1];
    b.order[i - 1] = b.order[other];
    b.order[other] = kept;
  }
}

}  // namespace opwright::emulation

using namespace opwright::emulation;

// 0 forward, 1 reverse, 2 random by `seed`. For launches from now on.
extern "C" OPWRIGHT_EMULATION_API void opwright_emulation_order(int kind, uint64_t given) {
  order = kind;
  seed = given;
}
