// The blocks that one OS thread runs, and the threads of a block.
#include <algorithm>
#include <cstring>
#include <exception>
#include <vector>

#include "guard.h"
#include "shared_memory.h"
#include "signals.h"
#include "work.h"

namespace opwright::emulation {

thread_local Block *running = nullptr;  // the block whose arena this OS thread is in

namespace {

// Everything of an OS thread that is worth keeping from launch to launch.
struct Worker {
  Block *block = nullptr;
  Taken taken;
  std::vector<uint32_t> offsets;
  ~Worker() {
    if (block) forget_copies(*block), release_block(block);
  }
};
thread_local Worker worker;

// Inside the handler: what was thrown, in words.
std::string thrown_text() {
  try {
    throw;
  } catch (const Failure &thrown) {
    return thrown.message.text();
  } catch (const std::exception &thrown) {
    return std::string("a C++ exception left the kernel: ") + thrown.what();
  } catch (...) {
    return "a C++ exception left the kernel";
  }
}

// The exception is over before the fault leaves this stack for good.
template <class Call>
void catching(Call call) {
  thread_local std::string text;
  try {
    return call();
  } catch (...) {
    text = thrown_text();
  }
  fault("exception", text.c_str());
}

void call_body(Block &b) {
  catching([&b] { b.work->launch.threads(b.work->launch.body); });
}

void begin_block(Block &b) {
  b.fibers = false;
  b.leave_loop = b.work->schedule.order != Order::forward;
  b.linear = 0;
  b.thread = {0, 0, 0};
  b.current = &b.slots[most_threads];
  b.end = b.current + 1; /* no key fits as long as no thread has waited */
  b.barrier_key = b.warp_key = 0;
  b.round = false;
  ++b.epoch;
  if (b.copies) forget_copies(b);
  if (b.work->schedule.order != Order::forward) order_threads(b);
  if (!hooks()) return;
  memset(b.offsets, 0, b.declared * sizeof(uint32_t));
  b.fixed_used = 0;
  if (hooks()->block_begin) hooks()->block_begin(b);
  const size_t dynamic = b.work->launch.configuration.shared;
  if (hooks()->shared_allocated && dynamic) hooks()->shared_allocated(b, b.dynamic, dynamic, "");
}

void place_thread(Block &b, unsigned linear) {
  if (hooks() && hooks()->thread_switch) hooks()->thread_switch(b, b.linear, linear);
  b.linear = linear;
  b.thread = {linear % b.block_size.x, linear / b.block_size.x % b.block_size.y,
              linear / b.block_size.x / b.block_size.y};
}

}  // namespace

// As a plain loop, as long as nobody waits; whoever does first lives on the stack of this very call. A checker, too, may want to be
// told of the next thread, and has the loop left.
void run_block(Block &b) {
  begin_block(b);
  const bool loop = !b.leave_loop;
  if (loop) call_body(b);
  for (unsigned i = loop ? b.linear + 1 : 0; i < b.count && !b.fibers && b.leave_loop; ++i) {
    place_thread(b, b.order[i]);
    call_body(b);
  }
  if (b.fibers) finish_threads(b);
  if (hooks() && hooks()->block_end) hooks()->block_end(b);
}

namespace {

// What the arena's own stack runs: blocks until there are no more.
void home_main() {
  Block &b = block();
  uint64_t which, count;
  if (b.again) run_again(b);
  if (is_plain(*b.work)) {
    while (take_blocks(*b.work, worker.taken, which, count)) {
      place_block(b, which);
      b.plain = true;
      catching([&b, count] { b.work->launch.blocks(b.work->launch.body, count); });
      b.plain = false;
    }
  }
  while (take_block(*b.work, worker.taken, which)) {
    place_block(b, which);
    run_block(b);
  }
  b.finished = true;
  Slot nowhere;
  swap(&nowhere, &b.native);
  __builtin_unreachable();
}

void enter(Block &b, void (*start)()) {
  const OwnStack own;
  const Runner runner(*b.work);
  b.finished = b.plain = b.again = false;
  running = &b;
  do {
    prepare(b.home, top_of_stack(b, most_threads), start);
    swap(&b.native, &b.home);
  } while (b.again && !b.work->failed);
  running = nullptr;
}

}  // namespace

void set_up(Block &b, Work &work, std::vector<uint32_t> &offsets) {
  const Configuration &c = work.launch.configuration;
  b.work = &work;
  b.block_size = c.block;
  b.grid_size = c.grid;
  b.count = c.block.x * c.block.y * c.block.z;
  b.warp_count = (b.count + warp_size - 1) / warp_size;
  b.fixed_used = 0;
  offsets.assign(declarations(), 0);
  b.declared = offsets.size();
  b.offsets = offsets.data();
  for (unsigned i = 0; i < b.count; ++i) b.order[i] = uint16_t(i);
}

namespace {

bool take_more(Work &work, Taken &taken) {
  if (taken.next != taken.end) return true;
  if (work.failed.load(std::memory_order_relaxed)) return false;
  taken.next = work.next.fetch_add(work.chunk, std::memory_order_relaxed);
  if (taken.next >= work.blocks) {
    taken.next = taken.end = 0;
    return false;
  }
  taken.end = std::min(taken.next + work.chunk, work.blocks);
  return true;
}

}  // namespace

bool take_block(Work &work, Taken &taken, uint64_t &which) {
  if (!take_more(work, taken)) return false;
  which = permuted(taken.next++, work.blocks, work.schedule);
  return true;
}

bool take_blocks(Work &work, Taken &taken, uint64_t &first, uint64_t &count) {
  if (!take_more(work, taken)) return false;
  first = taken.next;
  count = taken.end - taken.next;
  taken.next = taken.end;
  return true;
}

void place_block(Block &b, uint64_t which) {
  const dim3 g = b.grid_size;
  b.block = {unsigned(which % g.x), unsigned(which / g.x % g.y), unsigned(which / g.x / g.y)};
}

void fiber_main() {
  call_body(block());
  leave_fiber();
}

void run_blocks(Work &work) {
  if (!worker.block) worker.block = reserve_block();
  if (!worker.block) return record(work, "memory", "there is no address space for the threads' stacks");
  set_up(*worker.block, work, worker.offsets);
  worker.taken = {};
  enter(*worker.block, &home_main);
}

}  // namespace opwright::emulation
