// A cooperative launch: every block has an arena of its own, and all of them take turns on one OS thread.
#include <algorithm>
#include <memory>
#include <vector>

#include "guard.h"
#include "shared_memory.h"
#include "signals.h"
#include "work.h"

namespace opwright::emulation {

extern thread_local Block *running;

namespace {

struct Release {
  void operator()(Block *b) const { release_block(b); }
};

struct Resident {
  std::unique_ptr<Block, Release> block;
  std::vector<uint32_t> offsets;
  bool begun = false;
};

void one_block() {
  Block &b = block();
  run_block(b);
  b.finished = true;
  Slot nowhere;
  swap(&nowhere, &b.native);
  __builtin_unreachable();
}

bool settle(Work &work, std::vector<Resident> &residents) {
  for (uint64_t i = 0; i < work.blocks; ++i) {
    Resident &r = residents[i];
    r.block.reset(reserve_block());
    if (!r.block) return false;
    set_up(*r.block, work, r.offsets);
    place_block(*r.block, permuted(i, work.blocks, work.schedule));
  }
  return true;
}

// Runs a block until it is done, waits for the grid, or for something that other blocks do.
void advance(Resident &r) {
  Block &b = *r.block;
  running = &b;
  if (r.begun) {
    run_another(b, &b.native);
  } else {
    r.begun = true;
    prepare(b.home, top_of_stack(b, most_threads), &one_block);
    swap(&b.native, &b.home);
  }
  running = nullptr;
}

bool waits_for_grid(const Block &b) { return !b.finished && b.at_grid && b.at_grid == b.alive; }

void release_grid(std::vector<Resident> &residents) {
  unsigned epoch = 0;
  for (Resident &r : residents) {
    Block &b = *r.block;
    for (unsigned w = 0; w < b.warp_count; ++w) {
      make_ready(b, w, b.warps[w].at_grid);
      b.warps[w].at_grid = 0;
    }
    b.at_grid = 0;
    epoch = ++b.epoch;
  }
  if (hooks() && hooks()->grid_barrier) hooks()->grid_barrier(epoch);
}

// Where a block waits for the grid: as its first thread that does says.
Place waiting_place(const Block &b) {
  unsigned linear = 0;
  while (!(b.warps[linear / warp_size].at_grid >> linear % warp_size & 1)) ++linear;
  return b.places[linear];
}

void never_complete(Work &work, const std::vector<Resident> &residents, uint64_t waiting, uint64_t finished) {
  const auto first =
      std::find_if(residents.begin(), residents.end(), [](const Resident &r) { return waits_for_grid(*r.block); });
  const Place place = waiting_place(*first->block);
  const Launch &launch = work.launch;
  record(work, "deadlock",
         std::string(place.file) + ":" + std::to_string(place.line) + ": the grid can't go on: " +
             std::to_string(waiting) + " blocks wait for it, and " + std::to_string(finished) +
             " have returned\n  likely fix: let every block come to the same grid barrier\n  in " + launch.kernel +
             ", launched at " + launch.file + ":" + std::to_string(launch.line));
}

// All blocks have had their turn: the grid may go on, or never will.
void meet(Work &work, std::vector<Resident> &residents) {
  uint64_t waiting = 0, finished = 0;
  for (const Resident &r : residents) waiting += waits_for_grid(*r.block), finished += r.block->finished;
  if (waiting == work.blocks) return release_grid(residents);
  if (waiting && waiting + finished == work.blocks) never_complete(work, residents, waiting, finished);
}

}  // namespace

void run_cooperative(Work &work) {
  const dim3 size = work.launch.configuration.block;
  if (work.blocks * size.x * size.y * size.z > most_resident)
    return record(work, "launch",
                  std::string("a cooperative launch holds all its blocks at once, at most ") +
                      std::to_string(most_resident) + " threads; " + work.launch.kernel + " asks for " +
                      std::to_string(work.blocks) +
                      " blocks\n  likely fix: as many as cudaOccupancyMaxActiveBlocksPerMultiprocessor allows");
  const OwnStack own;
  const Runner runner(work);
  std::vector<Resident> residents(work.blocks);
  if (!settle(work, residents))
    return record(work, "memory", "there is no address space for all blocks of a cooperative launch");
  for (bool left = true; left && !work.failed;) {
    left = false;
    for (Resident &r : residents) {
      if (r.block->finished || waits_for_grid(*r.block)) continue;
      advance(r);
      if (work.failed) return;
      left |= !r.block->finished;
    }
    if (left) meet(work, residents);
  }
}

}  // namespace opwright::emulation
