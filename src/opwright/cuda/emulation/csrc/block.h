// A block of threads while it runs: what the scheduler keeps beside the Context that compiled kernels see.
//
// Two ways of running. A *round*: every thread comes to the same barrier in order, so that the next one to run is the next
// slot; nothing is kept but where the round is. Anything else is *free*: bit masks per warp say who waits for what.
// A round becomes free by `free_round`; free running becomes a round again when a barrier releases all threads.
#pragma once

#include <opwright/emulation/atomics.h>
#include <opwright/emulation/barrier.h>
#include <opwright/emulation/fault.h>
#include <opwright/emulation/hooks.h>
#include <opwright/emulation/swap.h>
#include <opwright/emulation/warp.h>

namespace opwright::emulation {

struct Work;
struct AsyncCopies;

// The lanes of a warp, a bit each.
struct Warp {
  uint32_t live, ready, at_barrier, at_collective, at_grid, asking, yielding;
  uint32_t inlined;  // of `at_collective`: wait in compiled code, which reads its result from `values`
  uint32_t epoch;
  uint64_t values[2][warp_size];  // of a round, in turn: the next one may begin before the last lane has read
  uint64_t brought[warp_size], result[warp_size];
  uint32_t mask[warp_size];
  uint8_t source[warp_size];
  Collective kind[warp_size];
};

struct Block : Context {
  Work *work;
  Slot home, native;  // the loop over blocks, on a stack of the arena; the OS thread's own stack
  Slot slots[most_threads + 1];
  Warp warps[most_warps];
  Place places[most_threads];  // where a thread waits that isn't part of a round
  uint32_t ready_warps, yielding_warps, asking_warps;
  unsigned count, warp_count, alive, arrived, at_grid, cursor, epoch, spins;
  bool round, finished;
  bool plain;                                  // a plain loop runs: nobody knows which thread
  bool again;                                  // it has failed: the block runs once more, thread by thread
  unsigned spinning, spinning_for, signalled;  // then: which thread the guard has met, how often, and how often any
  Place barrier_place;                         // of the threads that wait at a barrier
  Collective warp_kind;                        // of the lanes that wait in this round
  Place warp_place;
  int conjunction, disjunction, number;  // of the predicates brought so far
  int conjunction_of_all, disjunction_of_all, number_of_all;
  uint64_t random;
  uint16_t order[most_threads];
  uint32_t fixed_used;
  size_t declared;  // how many offsets there are: a library that is loaded meanwhile has variables of its own
  bool opened[most_threads + 1];  // stacks that have memory
  AsyncCopies *copies;            // that its threads wait for; null: there were never any

  Warp &warp_of(unsigned linear) { return warps[linear / warp_size]; }
};

inline Block &block() { return static_cast<Block &>(context()); }

// While it lives, reports name that thread in place of the one that runs, which may have returned.
class Speaking {
 public:
  Speaking(Block &b, unsigned linear) : block_(b), runs_(b.linear) {
    if (linear != runs_ && hooks() && hooks()->thread_switch) hooks()->thread_switch(b, runs_, linear);
    b.linear = linear;
  }
  ~Speaking() { block_.linear = runs_; }

 private:
  Block &block_;
  unsigned runs_;
};

// schedule.cpp
void start_fibers(Block &b);                         // the first thread of a block waits
void continue_on(Block &b, Slot *save, Slot *next);  // returns when somebody runs `save` again
void make_ready(Block &b, unsigned warp, uint32_t lanes);
void run_another(Block &b, Slot *save);  // returns when somebody runs `save` again
[[noreturn]] void leave_fiber();         // what a fiber ends with
void finish_threads(Block &b);           // the home thread has returned: until all others have, too
[[noreturn]] void fiber_main();

// round.cpp
inline void run_next(Block &b, Slot *me, Slot *next) {  // another slot of the round
  const Hooks *told = hooks();
  if (told && told->thread_switch) told->thread_switch(b, b.linear, next->linear);
  run_instead(b, me, next);
}
bool may_round(const Block &b);
void begin_round(Block &b);
void finish_round(Block &b, Slot *save);  // its last slot waits or has returned
void free_round(Block &b);                // from a round to masks
void publish_predicates(Block &b);

// barrier.cpp
void release_barrier(Block &b);  // all who are alive have come

// collective.cpp
void complete_after_exit(Block &b, unsigned warp);  // a lane has returned: whoever waited only for it goes on
void complete_asking(Block &b);                     // __activemask: those that have come to one place

// arena.cpp
Block *reserve_block();  // an arena; null where there is no memory
void release_block(Block *b);
void *top_of_stack(Block &b, unsigned number);  // most_threads is the home's; made usable on first use
void prepare(Slot &slot, void *top, void (*start)());

// async_copies.cpp
void forget_copies(Block &b);
uintptr_t copy_awaited(const void *address);  // the code of a copy to there that the block's threads wait for; or 0

// order.cpp
enum class Order { forward, reverse, random };
struct Schedule {
  Order order;
  uint64_t seed;
};
Schedule schedule();
bool launches_in_order();  // then one OS thread runs all blocks: the one that launches
uint64_t draw(uint64_t &state);
uint64_t permuted(uint64_t index, uint64_t count, const Schedule &schedule);  // which block is the index-th
void order_threads(Block &b);

}  // namespace opwright::emulation
