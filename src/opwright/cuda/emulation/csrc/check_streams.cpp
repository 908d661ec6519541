/* Streams, as CUDA orders them: work of one stream in its order, an event before what waits for it, the default stream before and
 * after all streams that aren't created as non-blocking, and what the host has waited for before everything that it gives later. */
#include "check_streams.h"

#include <opwright/emulation/forks.h>

#include <map>

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
  Unordered work;
};

struct Streams {
  std::map<const void *, Stream> all;
  std::map<const void *, Clock> events;
  Clock host;
  std::vector<Unordered> work; /* that the host hasn't waited for */
  std::vector<Awaited> copies; /* to memory of the host, that it hasn't waited for */
  bool several = false;        /* more than the default one are used */
};
/* One thread at a time has them, that of the launch. Who changes them is whole for forks, too, which don't wait for launches. */
Lasting<Streams> the_streams;
Mutex<std::recursive_mutex> changing;
using Change = std::lock_guard<Mutex<std::recursive_mutex>>;
Streams &streams() { return *the_streams; }

const void *const legacy = nullptr;

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

const Unordered *during(uint32_t stamp, uint32_t born) {
  if (stamp < born) return nullptr; /* of memory that was there before */
  for (const Unordered &each : live->unordered)
    if (stamp >= each.begin && stamp <= each.end) return &each;
  return nullptr;
}

const Unordered *conflicting(const Region &region, const Cell &cell, bool writing, const char **did) {
  *did = "wrote";
  if (const Unordered *other = during(cell.write.stamp, region.born)) return other;
  if (!writing) return nullptr;
  *did = "read";
  const Unordered *other = during(cell.read.stamp, region.born);
  return other ? other : during(cell.other_stamp, region.born);
}

void between_streams(const Region &region, Cell &cell, uintptr_t address, unsigned size, How how, uintptr_t code) {
  const char *did;
  const Unordered *other = conflicting(region, cell, writes(how), &did);
  if (!other) other = operated_on(region, address, size, writes(how), &did);
  if (!other) {
    const bool kept = !writes(how) && during(cell.read.stamp, region.born); /* this thread's read takes its place */
    if (kept) cell.other_stamp = cell.read.stamp, cell.other = cell.read.who;
    return;
  }
  report(
      {race, "race between two streams",
       std::string("got: a ") + (writes(how) ? "write" : "read") + " of " + bytes(size) + ", " + spot(region, address) +
           "; " + described(*other) + " " + did + " it, in another stream, and nothing " + "orders the two",
       fix},
      code);
}

void forget_awaited(std::vector<Operation> &operations) {
  const auto lasts = [](const Operation &each) {
    const auto &work = streams().work;
    return std::any_of(work.begin(), work.end(),
                       [&](const Unordered &one) { return each.stamp >= one.begin && each.stamp <= one.end; });
  };
  const auto over = [&](const Operation &each) { return !lasts(each); };
  operations.erase(std::remove_if(operations.begin(), operations.end(), over), operations.end());
}

void copy_to_host(uintptr_t address, size_t size, const StreamWork &work) {
  const Change change(changing);
  Streams &s = streams();
  s.several = true; /* the host is one that has to wait */
  const void *const id = named(work.stream);
  Stream &stream = s.all[id];
  stream.clock[id] = ++stream.count;
  s.copies.push_back({address, size, {id, stream.count, 0, 0, work.name, work.file ? work.file : "", work.line}});
}

bool copies_awaited() { return !streams().copies.empty(); }

std::string copy_awaited(uintptr_t address) {
  for (const Awaited &each : streams().copies)
    if (address - each.low < each.bytes) return described(each.work);
  return "";
}

std::string copy_touches(Region &region, uintptr_t address, size_t size, bool writing, const StreamWork &work) {
  Streams &s = streams();
  if (!s.several || !size) return "";
  size = std::min<size_t>(size, region.high - address);
  const char *done;
  const Unordered *operation = operated_on(region, address, size, writing, &done);
  region.refine(address, unsigned(size & 3 ? 1 : 4));
  for (size_t granule = region.granule(address); granule <= region.granule(address + size - 1); ++granule) {
    Cell &cell = opened(*live, region, granule);
    const char *did;
    const Unordered *other = conflicting(region, cell, writing, &did);
    if (!other && operation) other = operation, did = done;
    if (other)
      return text_of(
          {race, "race between two streams",
           std::string("got: ") + work.name + " " + (writing ? "writes " : "reads ") + spot(region, address) +
               " and more; " + described(*other) + " " + did + " it, in another stream, and nothing orders the two",
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
