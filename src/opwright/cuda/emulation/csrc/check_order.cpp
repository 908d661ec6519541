/* What orders accesses: barriers, warp barriers, fences with atomics. */
#include <algorithm>

#include "check_state.h"

namespace opwright {
namespace emulation {
namespace check {

LiveBytes live_bytes;

bool Live::in_warp(const Access &access) const {
  const uint32_t other = access.who & ((1u << thread_bits) - 1), mine = thread();
  if ((other ^ mine) >> 5) return false;
  const Warp &warp = block->warps[mine >> 5];
  return access.stamp < warp.full || (warp.clocks && access.stamp < (*warp.clocks)[mine & 31][other & 31]);
}

void Live::too_long() const {
  stop("launch",
       "a launch has too many barriers and fences to be checked: more than 3,000 million\n  likely fix: check it with "
       "smaller data");
}

namespace {

bool sees(const Acquired &item, uint32_t thread) {
  return item.warp == thread >> 5 && (item.lanes >> (thread & 31) & 1);
}

bool released(const Location &location, const Access &access, Scope scope) {
  const uint32_t block = access.who >> thread_bits, warp = (access.who & ((1u << thread_bits) - 1)) >> 5;
  const auto thread = location.threads.find(access.who);
  if (thread != location.threads.end() && access.stamp < thread->second.of(scope)) return true;
  for (const uint64_t part : {uint64_t(warp), Location::whole}) {
    const auto group = location.groups.find(Location::group(block, part));
    if (group != location.groups.end() && access.stamp < group->second.of(scope)) return true;
  }
  return false;
}

void latest(Fenced &into, const Fenced &fenced) {
  into.block = std::max(into.block, fenced.block);
  into.device = std::max(into.device, fenced.device);
}

/* What was ordered before the fence by an earlier event reaches as far as the fence. */
Fenced until(uint32_t event, const Fenced &fenced) {
  return {fenced.block ? std::min(event, fenced.block) : 0, fenced.device ? std::min(event, fenced.device) : 0};
}

/* What threads fenced before they last met the one that releases goes with it. */
void release_others(const Live &l, Location &location) {
  const Block &block = *l.block;
  const uint32_t warp = l.thread() >> 5;
  for (uint32_t thread = 0; thread < block.fences.size(); ++thread) {
    const Fenced &fenced = block.fences[thread];
    const uint32_t met = thread >> 5 == warp ? std::max(block.barrier, block.warps[warp].full) : block.barrier;
    if (fenced.block && fenced.block < met) latest(location.threads[block.number << thread_bits | thread], fenced);
  }
}

void release(const Live &l, Location &location, const Fenced &fenced) {
  const Block &block = *l.block;
  const uint32_t warp = l.thread() >> 5;
  release_others(l, location);
  if (!fenced.block) return;
  latest(location.threads[l.me()], fenced);
  latest(location.groups[Location::group(block.number, Location::whole)], until(block.barrier, fenced));
  latest(location.groups[Location::group(block.number, warp)],
         until(std::max(block.barrier, block.warps[warp].full), fenced));
}

}  // namespace

bool Live::acquired(const Access &access) const {
  const Scope reach = same_block(access) ? Scope::block : Scope::device;
  const auto orders_it = [&](const Acquired &item) {
    return access.stamp <= item.time && released(*item.location, access, reach);
  };
  for (const Acquired &item : block->known)
    if (orders_it(item)) return true;
  for (const Acquired &item : block->fresh)
    if (sees(item, thread()) && orders_it(item)) return true;
  return false;
}

void meet_block() {
  Block &block = *live->block;
  block.barrier = live->next_time();
  for (const Acquired &item : block.fresh) {
    const auto same = [&](const Acquired &each) { return each.location == item.location; };
    const auto found = std::find_if(block.known.begin(), block.known.end(), same);
    if (found == block.known.end()) block.known.push_back(item);
    else found->time = std::max(found->time, item.time);
  }
  block.fresh.clear();
  live->refresh();
}

void meet_lanes(unsigned index, uint32_t mask) {
  Warp &warp = live->block->warps[index];
  const uint32_t now = live->next_time();
  live->finer = true;
  for (Acquired &item : live->block->fresh)
    if (item.warp == index && (item.lanes & mask)) item.lanes |= mask;
  if (mask == 0xffffffff) {
    warp.full = now;
    return;
  }
  if (!warp.clocks) warp.clocks = std::make_unique<std::array<std::array<uint32_t, 32>, 32>>();
  std::array<uint32_t, 32> joint{};
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned other = 0; (mask >> lane & 1) && other < 32; ++other)
      joint[other] = std::max(joint[other], (mask >> other & 1) ? now : (*warp.clocks)[lane][other]);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1) (*warp.clocks)[lane] = joint;
}

void meet_grid() {
  live->launch = live->next_time();
  live->refresh();
}

void fence(Scope scope) {
  std::vector<Fenced> &all = live->block->fences;
  if (all.empty()) all.resize(live->block->warps.size() * 32);
  Fenced &mine = all[live->thread()];
  mine.block = live->next_time();
  if (scope == Scope::device) mine.device = live->now;
}

void synchronise(uintptr_t address, Scope scope, bool acquires, bool releases, bool fenced_itself) {
  if (releases && fenced_itself) fence(scope);
  if (acquires) {
    const auto found = live->locations.find(address);
    if (found != live->locations.end()) {
      const uint32_t thread = live->thread(), time = live->now;
      auto &fresh = live->block->fresh;
      const auto same = [&](const Acquired &each) {
        return each.location == found->second.get() && each.warp == thread >> 5 && each.lanes == 1u << (thread & 31);
      };
      const auto known = std::find_if(fresh.begin(), fresh.end(), same);
      if (known == fresh.end()) fresh.push_back({found->second.get(), time, thread >> 5, 1u << (thread & 31)});
      else known->time = time;
      live->orders = live->finer = true;
    }
  }
  if (releases && !live->block->fences.empty()) {
    std::unique_ptr<Location> &location = live->locations[address];
    if (!location) location = std::make_unique<Location>();
    release(*live, *location, live->block->fences[live->thread()]);
  }
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
