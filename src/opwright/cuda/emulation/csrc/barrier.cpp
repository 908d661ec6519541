// Where threads wait for all others: __syncthreads, the grid's barrier, and waiting by trying again.
#include <opwright/emulation/barrier.h>

#include "guard.h"

namespace opwright::emulation {
namespace {

bool same_place(Place p, Place q) {
  return p.line == q.line && (p.file == q.file || !__builtin_strcmp(p.file, q.file));
}

void wait_in_round(Block &b, Slot *me, bool inlined) {
  if (inlined) b.barrier_key = b.barrier_place.line;
  if (me + 1 == b.end) return finish_round(b, me);
  run_next(b, me, me + 1);
}

void wait_freely(Block &b, Slot *me, Place here) {
  b.warp_of(b.linear).at_barrier |= 1u << b.linear % warp_size;
  b.places[b.linear] = here;
  if (++b.arrived != b.alive) return run_another(b, me);
  release_barrier(b);
  if (b.alive != b.count || !may_round(b)) return run_another(b, me);
  begin_round(b);
  continue_on(b, me, b.slots);
}

unsigned first_that_waits(const Block &b) {
  for (unsigned w = 0; w < b.warp_count; ++w)
    if (b.warps[w].at_barrier) return w * warp_size + unsigned(__builtin_ctz(b.warps[w].at_barrier));
  return b.linear;
}

}  // namespace

void release_barrier(Block &b) {
  publish_predicates(b);
  b.arrived = 0;
  if (hooks() && hooks()->barrier) {
    const Speaking there(b, first_that_waits(b));
    hooks()->barrier(b, b.barrier_place, b.epoch, b.count - b.alive);
  }
  for (unsigned w = 0; w < b.warp_count; ++w) {
    make_ready(b, w, b.warps[w].at_barrier);
    b.warps[w].at_barrier = 0;
  }
  b.barrier_place = {};
  b.cursor = b.work->schedule.order == Order::reverse ? b.warp_count - 1 : 0;
}

int barrier(Predicate what, int predicate, const char *file, int line) {
  Block &b = block();
  /* As compiled code does by itself where it isn't checked (barrier.h). */
  if (b.barrier_key == line && b.barrier_place.file == file && what == Predicate::none && b.current + 1 != b.end) {
    run_instead(b, b.current, b.current + 1);
    return 0;
  }
  if (!b.fibers) start_fibers(b);
  const Place here{file, line};
  b.conjunction &= predicate != 0;
  b.disjunction |= predicate != 0;
  b.number += predicate != 0;
  if (!b.barrier_place.file) b.barrier_place = here;
  const bool same = same_place(here, b.barrier_place);
  if (!same && hooks() && hooks()->divergent_barrier) hooks()->divergent_barrier(b, here, b.barrier_place);
  if (b.warp_key || !same) free_round(b);
  if (b.round) wait_in_round(b, b.current, what == Predicate::none);
  else wait_freely(b, b.current, here);
  switch (what) {
    case Predicate::conjunction: return b.conjunction_of_all;
    case Predicate::disjunction: return b.disjunction_of_all;
    default: return b.number_of_all;
  }
}

void grid_barrier(const char *file, int line) {
  Block &b = block();
  if (!b.work->launch.configuration.cooperative)
    fault("launch",
          "the kernel waits for the whole grid, but its launch isn't cooperative\n"
          "  likely fix: launch it with cudaLaunchCooperativeKernel");
  if (!b.fibers) start_fibers(b);
  free_round(b);
  b.warp_of(b.linear).at_grid |= 1u << b.linear % warp_size;
  b.places[b.linear] = {file, line};
  ++b.at_grid;
  run_another(b, b.current);
}

namespace {

void yield(Block &b, const Place &place) {
  if (!b.fibers) start_fibers(b);
  free_round(b);
  b.warp_of(b.linear).yielding |= 1u << b.linear % warp_size;
  b.yielding_warps |= 1u << b.linear / warp_size;
  b.places[b.linear] = place;
  run_another(b, b.current);
}

}  // namespace

void yield(const char *file, int line) {
  Block &b = block();
  if (b.work->stop) stop_if_late(*b.work, file + (":" + std::to_string(line)));
  yield(b, {file, line});
}

void let_others_run(uintptr_t code) {
  Block &b = block();
  if (b.work->stop) stop_if_late(*b.work, hooks() && hooks()->source_of ? hooks()->source_of(code) : "");
  yield(b, {"", 0});
}

void tried_in_vain(const char *file, int line) {
  constexpr unsigned patience = 16;
  if (inside_kernel() && ++block().spins % patience == 0) yield(file, line);
}

}  // namespace opwright::emulation
