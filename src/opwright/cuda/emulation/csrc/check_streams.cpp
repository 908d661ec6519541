/* Streams, as CUDA orders them: work of one stream in its order, an event before what waits for it, the default stream before and
 * after all streams that aren't created as non-blocking, and what the host has waited for before everything that it gives later. */
#include "check_streams.h"

#include <opwright/emulation/forks.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>

#include "check_launches.h"
#include "check_regions.h"
#include "check_report.h"

namespace opwright {
namespace emulation {
namespace check {
namespace {

/* How much of each stream's work is done for whoever has the clock. */
using Clock = std::map<const void *, uint32_t>;

void join(Clock &into, const Clock &other) {
  for (const auto &[stream, count] : other) into[stream] = std::max(into[stream], count);
}

struct Stream {
  Clock clock;
  uint32_t count = 0;
  bool blocking = true;
};

struct Awaited {
  uintptr_t low, bytes;
  bool writes;
  Unordered work;
};

struct Streams {
  std::map<const void *, Stream> all;
  std::map<const void *, Clock> events;
  Clock host;
  std::deque<Unordered> work;  /* that the host hasn't waited for, the last `most_work` */
  std::vector<Awaited> copies; /* to and from memory of the host, that it hasn't waited for */
  bool several = false;        /* more than the default one are used, or the host has to wait, too */
  std::atomic<uintptr_t> shared_low{~uintptr_t(0)},
      shared_high{0}; /* all memory of the host's and kernels' is within */
};
/* One thread at a time has them, that of the launch. Who changes them is whole for forks, too, which don't wait for launches. */
Lasting<Streams> the_streams;
Mutex<std::recursive_mutex> changing;
using Change = std::lock_guard<Mutex<std::recursive_mutex>>;
Streams &streams() { return *the_streams; }

const void *const legacy = nullptr;
constexpr size_t most_work = 4096; /* a program that never waits */

bool per_thread = false; /* the default stream isn't the legacy one */

const void *named(const void *stream) {
  if (stream == reinterpret_cast<const void *>(1)) return legacy;      /* cudaStreamLegacy */
  if (!stream && per_thread) return reinterpret_cast<const void *>(2); /* cudaStreamPerThread */
  return stream;
}

bool done(const Clock &clock, const Unordered &work) {
  const auto found = clock.find(work.stream);
  return found != clock.end() && found->second >= work.count;
}

/* The host has waited: nobody can run beside that any more. */
void forget_done() {
  Streams &s = streams();
  auto &work = s.work;
  work.erase(std::remove_if(work.begin(), work.end(), [&](const Unordered &each) { return done(s.host, each); }),
             work.end());
  auto &copies = s.copies;
  copies.erase(std::remove_if(copies.begin(), copies.end(), [&](const Awaited &c) { return done(s.host, c.work); }),
               copies.end());
}

const char *const fix =
    "let one wait for the other: cudaEventRecord in the first stream, cudaStreamWaitEvent in the second; or wait on "
    "the "
    "host";

}  // namespace

std::string described(const Unordered &work) {
  return work.line ? work.what + " at " + Place{work.file, work.line}.text() : work.what;
}

void stream_created(const void *stream, bool blocking_not) {
  const Change change(changing);
  streams().all[stream].blocking = !blocking_not;
  streams().several = true;
}

void work_begins(const StreamWork &given, const char *what) {
  const Change change(changing);
  Streams &s = streams();
  live->unordered.clear();
  const void *const id = named(given.stream);
  if (id != legacy) s.several = true;
  if (!s.several) return;
  Stream &stream = s.all[id];
  join(stream.clock, s.host);
  if (id == legacy) {
    for (const auto &[other, state] : s.all)
      if (state.blocking) join(stream.clock, state.clock);
  } else if (stream.blocking) {
    join(stream.clock, s.all[legacy].clock);
  }
  for (const Unordered &each : s.work)
    if (!done(stream.clock, each)) live->unordered.push_back(each);
  stream.clock[id] = ++stream.count;
  if (s.work.size() == most_work) s.work.pop_front();
  s.work.push_back({id, stream.count, live->now, ~0u, what, given.file ? given.file : "", given.line});
}

void work_ends() {
  const Change change(changing);
  Streams &s = streams();
  live->unordered.clear();
  if (s.several && !s.work.empty() && s.work.back().end == ~0u) s.work.back().end = ++live->now;
}

bool several_streams() { return streams().several; }

void stream_waited(const void *stream) {
  const Change change(changing);
  Streams &s = streams();
  const void *const id = named(stream);
  if (id == legacy)
    for (const auto &[other, state] : s.all)
      if (state.blocking) join(s.host, state.clock);
  join(s.host, s.all[id].clock);
  forget_done();
}

void device_waited() {
  const Change change(changing);
  Streams &s = streams();
  for (const auto &[stream, state] : s.all) join(s.host, state.clock);
  forget_done();
}

void event_recorded(const void *event, const void *stream) {
  const Change change(changing);
  Streams &s = streams();
  const void *const id = named(stream);
  Clock clock = s.all[id].clock;
  if (id == legacy)
    for (const auto &[other, state] : s.all)
      if (state.blocking) join(clock, state.clock);
  s.events[event] = clock;
}

void event_waited(const void *event, const void *stream, bool by_host) {
  const Change change(changing);
  Streams &s = streams();
  join(by_host ? s.host : s.all[named(stream)].clock, s.events[event]);
  if (by_host) forget_done();
}

namespace {

/* Which of some work, in its order, was done at a time. */
template <class Work>
const Unordered *during(const Work &work, uint32_t stamp, uint32_t born) {
  if (stamp < born) return nullptr; /* of memory that was there before */
  const auto after =
      std::upper_bound(work.begin(), work.end(), stamp, [](uint32_t at, const Unordered &w) { return at < w.begin; });
  return after != work.begin() && stamp <= std::prev(after)->end ? &*std::prev(after) : nullptr;
}

/* The work that touched a cell, where that matters. */
template <class Work>
const Unordered *conflicting(const Work &work, const Region &region, const Cell &cell, bool writing, bool *wrote) {
  *wrote = true;
  if (const Unordered *other = during(work, cell.write.stamp, region.born)) return other;
  if (!writing) return nullptr;
  *wrote = false;
  const Unordered *other = during(work, cell.read.stamp, region.born);
  return other ? other : during(work, cell.other_stamp, region.born);
}

const char *did(bool wrote) { return wrote ? "wrote" : "read"; }

}  // namespace

const Unordered *unordered_at(uint32_t stamp, const Region &region) {
  return during(live->unordered, stamp, region.born);
}
const Unordered *unordered_with(const Region &region, const Cell &cell, bool writing, bool *wrote) {
  return conflicting(live->unordered, region, cell, writing, wrote);
}

void forget_awaited(std::vector<Operation> &operations) {
  const auto over = [](const Operation &each) { return !during(streams().work, each.stamp, 0); };
  operations.erase(std::remove_if(operations.begin(), operations.end(), over), operations.end());
}

void between_streams(const Region &region, Cell &cell, uintptr_t address, unsigned size, How how, uintptr_t code) {
  bool wrote;
  const Unordered *other = conflicting(live->unordered, region, cell, writes(how), &wrote);
  if (!other) other = operated_on(region, address, size, writes(how), &wrote);
  if (!other) {
    /* This thread's read takes its place. */
    const bool kept = !writes(how) && during(live->unordered, cell.read.stamp, region.born);
    if (kept) cell.other_stamp = cell.read.stamp, cell.other = cell.read.who;
    return;
  }
  report(
      {race, "race between two streams",
       std::string("got: a ") + (writes(how) ? "write" : "read") + " of " + bytes(size) + ", " + spot(region, address) +
           "; " + described(*other) + " " + did(wrote) + " it, in another stream, and nothing orders the two",
       fix},
      code);
}

void host_shares(uintptr_t low, uintptr_t high) {
  const Change change(changing);
  Streams &s = streams();
  s.several = true;
  s.shared_low = std::min<uintptr_t>(s.shared_low, low);
  s.shared_high = std::max<uintptr_t>(s.shared_high, high);
}

void copy_with_host(uintptr_t address, size_t size, bool writes, const StreamWork &work) {
  const Change change(changing);
  Streams &s = streams();
  s.several = true;
  const void *const id = named(work.stream);
  Stream &stream = s.all[id];
  stream.clock[id] = ++stream.count;
  const Awaited now{address, size, writes, {id, stream.count, 0, 0, work.name, work.file ? work.file : "", work.line}};
  const auto same = [&](const Awaited &each) {
    return each.low == address && each.bytes == size && each.writes == writes && each.work.stream == id;
  };
  const auto before = std::find_if(s.copies.begin(), s.copies.end(), same);
  if (before == s.copies.end()) s.copies.push_back(now);
  else *before = now; /* who waits for this one has waited for that one */
}

bool host_may_be_ahead(uintptr_t address) {
  const Streams &s = streams();
  return address >= s.shared_low.load(std::memory_order_relaxed) &&
         address < s.shared_high.load(std::memory_order_relaxed);
}

std::string host_is_ahead_of(uintptr_t address, size_t size, bool writing) {
  if (!host_may_be_ahead(address)) return "";
  const BetweenLaunches alone(false);
  if (!alone) return ""; /* another thread's launch may be waiting for this one */
  const Change change(changing);
  const Streams &s = streams();
  for (const Awaited &each : s.copies)
    if (address - each.low < each.bytes && (each.writes || writing))
      return described(each.work) + (each.writes ? " writes" : " reads");
  if (s.work.empty()) return "";
  Region *region = region_at(address);
  if (!region || region->kind != Kind::for_both || !region->shadow) return "";
  size = std::min<size_t>(size, region->high - address);
  for (size_t granule = region->granule(address); granule <= region->granule(address + size - 1); ++granule) {
    bool wrote;
    if (const Unordered *other = conflicting(s.work, *region, opened(*live, *region, granule), writing, &wrote))
      return described(*other) + (wrote ? " writes" : " reads");
  }
  return "";
}

void host_saw(uintptr_t address) {
  if (!host_may_be_ahead(address)) return;
  const BetweenLaunches alone(false);
  if (!alone) return;
  Region *region = region_at(address);
  if (!region || region->kind != Kind::for_both || !region->shadow) return;
  const Change change(changing);
  Streams &s = streams();
  bool wrote;
  const Unordered *other =
      conflicting(s.work, *region, opened(*live, *region, region->granule(address)), false, &wrote);
  if (!other) return;
  join(s.host, {{other->stream, other->count}});
  forget_done();
}

std::string copy_touches(Region &region, uintptr_t address, size_t size, bool writing, const StreamWork &work) {
  Streams &s = streams();
  if (!s.several || !size) return "";
  size = std::min<size_t>(size, region.high - address);
  region.refine(address, unsigned(size & 3 ? 1 : 4));
  bool operator_wrote;
  const Unordered *operation = operated_on(region, address, size, writing, &operator_wrote);
  for (size_t granule = region.granule(address); granule <= region.granule(address + size - 1); ++granule) {
    Cell &cell = opened(*live, region, granule);
    bool wrote;
    const Unordered *other = conflicting(live->unordered, region, cell, writing, &wrote);
    if (!other && operation) other = operation, wrote = operator_wrote;
    if (other)
      return text_of({race, "race between two streams",
                      std::string("got: ") + work.name + " " + (writing ? "writes " : "reads ") +
                          spot(region, address) + " and more; " + described(*other) + " " + did(wrote) +
                          " it, in another stream, and nothing orders the two",
                      fix},
                     Place{work.file ? work.file : "", work.line});
    if (writing) cell.write.stamp = live->now, cell.write.code = 0;
    else cell.read.stamp = live->now;
  }
  return "";
}

}  // namespace check

bool default_stream_is_per_thread() { return check::per_thread = true; }

}  // namespace emulation
}  // namespace opwright
