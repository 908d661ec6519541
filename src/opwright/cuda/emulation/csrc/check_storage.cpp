/* Two uses of one TempStorage, or of memory that two of them share, between which the threads that take part haven't met. cub asks for
 * that whatever the collective does: which memory it touches, and in which order, may change with its version and the architecture.
 */
#include "check_access.h"
#include "check_report.h"

namespace opwright {
namespace emulation {
namespace check {
namespace {

struct Asked {
  uintptr_t low, high;
  unsigned threads; /* that take part: 0 for all of the block */
  bool ends;
  const char *file;
  int line;
};

/* `use`: the one before, by thread `user`; or by myself, and I haven't met the member `user` since. */
void used_again(const Asked &asked, uint32_t user, const StorageUse &use, bool member) {
  const Place before{use.file, use.line};
  if (silenced(before, race)) return;
  const Region *region = shared_at(asked.low);
  const std::string thread = thread_text(user), line = line_text(before);
  const std::string found = std::string("uses ") + (region ? spot(*region, asked.low) : "it") +
                            (member ? ", which it used at " : "; " + thread + " of the same block used it at ") +
                            before.text() + (line.empty() ? "" : "\n    " + line.substr(0, 90) + "\n ") +
                            (member ? " without meeting " + thread + " since, which takes part"
                                    : " with nothing between that orders the two");
  const char *fix = !asked.threads ? "put a __syncthreads() between the two, or give each a TempStorage of its own"
                    : member ? "put a __syncwarp() between the two, or give each a TempStorage of its own"
                             : "give each warp a TempStorage of its own, or put a __syncthreads() between the two";
  report({race, "two uses of one TempStorage without a barrier between them", found, fix},
         Place{asked.file, asked.line});
}

void compare(const Live &l, const Storage &storage, const Asked &asked) {
  const uint32_t me = l.thread();
  const StorageUse &mine = storage.uses[me];
  for (uint32_t other = 0; other < storage.uses.size(); ++other) {
    const StorageUse &use = storage.uses[other];
    if (other == me || !(use.stamp || use.lasts)) continue;
    /* Of those that take part some may be further, in this very use: what counts is whether we have met since my own last one. */
    const bool member = !asked.threads || other / asked.threads == me / asked.threads;
    if (member && (asked.ends || !mine.stamp)) continue;
    const uint32_t ended = use.lasts ? l.now : use.stamp, when = member ? std::min(mine.stamp, ended) : ended;
    if (!l.ordered({when, l.first | other, 0}, l.block->begin))
      return used_again(asked, other, member ? mine : use, member);
  }
}

void note(Live &l, const Asked &asked) {
  Block &block = *l.block;
  const auto same = [&](const Storage &each) { return each.low == asked.low && each.high == asked.high; };
  auto found = std::find_if(block.storages.begin(), block.storages.end(), same);
  if (found == block.storages.end())
    found = block.storages.insert(found, {asked.low, asked.high, 0, std::vector<StorageUse>(block.warps.size() * 32)});
  else if (found->latest < block.barrier)
    for (StorageUse &use : found->uses) use.stamp = 0;
  found->latest = l.now;
  StorageUse &mine = found->uses[l.thread()];
  mine.lasts = !asked.ends, mine.line = asked.line, mine.file = asked.file;
  if (asked.ends) mine.stamp = l.now;
}

}  // namespace
}  // namespace check

void use_storage(const void *memory, size_t bytes, unsigned threads, bool ends, const char *file, int line) {
  using namespace check;
  if (!memory || !in_kernel()) return;
  Live &l = *live;
  if (l.attention.pending) settle();
  const uintptr_t low = reinterpret_cast<uintptr_t>(memory);
  const Asked asked{low, low + bytes, threads, ends, file, line};
  for (const Storage &each : l.block->storages)
    if (each.low < asked.high && asked.low < each.high && each.latest >= l.block->barrier) compare(l, each, asked);
  note(l, asked);
}

}  // namespace emulation
}  // namespace opwright
