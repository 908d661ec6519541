/* What the emulator tells the checker: launches, blocks, threads, barriers, memory. */
#include <opwright/emulation/check.h>
#include <opwright/emulation/fault.h>
#include <opwright/emulation/forks.h>
#include <opwright/emulation/hooks.h>

#include <algorithm>

#include "check_access.h"
#include "check_launches.h"
#include "check_local_arrays.h"
#include "check_readers.h"
#include "check_regions.h"
#include "check_report.h"
#include "check_streams.h"

namespace opwright {
namespace emulation {
namespace check {
namespace {

/* One launch at a time is checked; others wait. A fork doesn't wait for a launch to end. */
void forget_launch();
Mutex<> launching{20, forget_launch};
struct Running {
  Live &state = *live;
  Context *context = nullptr;
  std::unordered_map<Context *, std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Region>> shared;
  ReaderTables readers;
  Region parameters{0, 0, "the launch's arguments", Kind::internal};
  size_t dynamic = 0;
};
Lasting<Running> the_running;
Running &running() { return *the_running; }

void set_sizes(unsigned (&into)[3], const dim3 &from) { into[0] = from.x, into[1] = from.y, into[2] = from.z; }

/* A launch may take three times as much time: 2^31 blocks, and barriers. */
constexpr uint32_t most_before_launch = 1u << 30;

/* Forgets what happened before; work of several streams counts as ordered. */
void start_again() {
  forget_shadows();
  the_running->readers.forget();
  check::device_waited();
  live->now = 1;
}

/* In a child that was forked during another thread's launch, which has no end there. */
void forget_launch() {
  const uint32_t now = live->now;
  new (live) Live;
  live->now = now + 1;
  the_running.renew();
  abandon_shadows();
  check::device_waited();
}

void launch_begin(const Launch &launch) {
  launching.lock();
  Running &r = running();
  Live &l = r.state;
  r.blocks.clear(), r.shared.clear(), r.readers.give_back();
  if (l.now >= most_before_launch) start_again();
  ++l.now;
  work_begins({launch.kernel, launch.file, launch.line, launch.configuration.stream, true}, launch.kernel);
  l.launch = ++l.now;
  l.kernel = launch.kernel;
  l.orders = l.finer = false, l.scope = Scope::device, l.stray = {};
  l.attention = {}, l.attention.streams = !l.unordered.empty();
  l.keeps_writes = several_streams();
  l.blocks.clear(), l.turns.clear(), l.locations.clear(), l.silenced.clear(), l.sites.fill(Site());
  l.range = l.stored = l.loaded = {}, l.one_line.clear();
  l.numbers.clear(), l.instructions.resize(1);
  set_sizes(l.block_size, launch.configuration.block), set_sizes(l.grid_size, launch.configuration.grid);
  r.dynamic = launch.configuration.shared;
  r.context = nullptr, r.parameters.low = reinterpret_cast<uintptr_t>(launch.body),
  r.parameters.high = r.parameters.low + launch.body_bytes;
  l.launch_file = launch.file, l.launch_line = launch.line;
}

void launch_end(const Launch &, bool) {
  live->enter(0); /* nobody's stack */
  work_ends();
  launching.unlock();
}

void enter(Context &context) {
  Running &r = running();
  if (r.context == &context) return;
  r.context = &context;
  const uintptr_t arena = reinterpret_cast<uintptr_t>(&context) & ~(arena_bytes - 1);
  r.state.shared_begin = reinterpret_cast<uintptr_t>(context.fixed) - arena, r.state.shared_end = stacks_offset;
  r.state.enter(arena);
  r.state.block = r.blocks[&context].get();
  r.state.readers = r.state.block->readers;
  r.state.first = r.state.block->number << thread_bits;
  r.state.turn = r.state.block->begin == r.state.now ? r.state.now : r.state.next_time();
  r.state.turns.push_back({r.state.turn, r.state.block->number});
  r.state.refresh();
}

/* A block's variables lie in the order in which it uses them: another block may have others at the same addresses. */
void shared_allocated(Context &, void *memory, size_t bytes, const char *names) {
  const uintptr_t low = reinterpret_cast<uintptr_t>(memory);
  const bool dynamic = !*names;
  const std::string name = dynamic ? "the dynamic shared memory" : names;
  auto &all = running().shared;
  auto found = std::find_if(all.begin(), all.end(), [&](const std::unique_ptr<Region> &each) {
    return each->low == low && each->high == low + bytes && each->name == name;
  });
  if (found == all.end()) {
    const Kind kind = dynamic ? Kind::dynamic_shared : Kind::shared;
    found = all.insert(found, std::make_unique<Region>(low, low + bytes, name, kind));
  }
  (*found)->born = live->block->begin;
}

void block_begin(Context &context) {
  Running &r = running();
  auto &block = r.blocks[&context];
  Readers *const readers = block ? block->readers : r.readers.take();
  block = std::make_unique<Block>();
  block->readers = readers;
  block->number = static_cast<uint32_t>(r.state.blocks.size());
  block->begin = block->barrier = ++r.state.now;
  block->warps.resize((context.block_size.x * context.block_size.y * context.block_size.z + warp_size - 1) / warp_size);
  const uint64_t x = context.block.x, y = context.block.y, z = context.block.z;
  r.state.blocks.push_back(x + context.grid_size.x * (y + context.grid_size.y * z));
  r.context = nullptr;
  enter(context);
  if (!r.dynamic) shared_allocated(context, context.dynamic, 0, ""); /* whoever touches it all the same is told */
}

void settle_pending() {
  if (live->attention.pending) settle();
  live->stored = live->loaded = {}; /* of another thread from now on */
}

void block_end(Context &) { settle_pending(); }

void thread_switch(Context &context, unsigned, unsigned) {
  settle_pending();
  if (reinterpret_cast<uintptr_t>(&context) != live->arena) enter(context);
}

void block_barrier(Context &context, emulation::Place at, unsigned, unsigned returned) {
  settle_pending();
  enter(context);
  if (returned) {
    const std::string found = std::to_string(returned) + (returned == 1 ? " thread has" : " threads have") +
                              " returned while the others wait at this barrier";
    report({barrier, "divergent barrier", found,
            "let every thread of the block come to each __syncthreads(): test the bounds around the work, not with an "
            "early return"},
           Place{at.file, at.line});
  }
  meet_block();
}

void divergent_barrier(Context &context, emulation::Place here, emulation::Place others) {
  settle_pending();
  enter(context);
  const std::string found = "other threads of the block wait at " + Place{others.file, others.line}.text() +
                            ", this one has come to another barrier";
  report({barrier, "divergent barrier", found,
          "let every thread of the block come to the same __syncthreads(): move it out of the branch"},
         Place{here.file, here.line});
}

void warp_barrier(Context &context, unsigned warp, unsigned mask, unsigned came, emulation::Place) {
  settle_pending();
  enter(context);
  (void)mask;
  meet_lanes(warp, came);
}

std::string hexadecimal(unsigned mask) {
  char text[16];
  snprintf(text, sizeof(text), "0x%08x", mask);
  return text;
}

void absent_lanes(Context &context, unsigned mask, unsigned absent, const char *what, emulation::Place at) {
  settle_pending();
  enter(context);
  const std::string found = std::string(what) + ": the mask is " + hexadecimal(mask) + ", and lanes " +
                            hexadecimal(absent) + " don't take part";
  report({lanes, "absent lanes", found,
          "name the lanes that come, all of them and no others: __ballot_sync() before the branch tells"},
         Place{at.file, at.line});
}

/* What compiled code touches until the end is one atomic operation, seen by the first of its accesses. */
void atomic_begin(const void *, size_t, bool exchanges) {
  if (!in_kernel()) return;
  live->attend(&Attention::atomic, true);
  live->atomic_seen = false, live->exchanges = exchanges;
}

void atomic_end(const void *address, size_t) {
  if (!in_kernel()) return;
  live->attend(&Attention::atomic, false);
  synchronise(reinterpret_cast<uintptr_t>(address), live->scope, true, true, false);
}

void device_allocated(void *memory, size_t bytes, const char *what, bool empty, bool of_tensor) {
  const uintptr_t low = reinterpret_cast<uintptr_t>(memory);
  const BetweenLaunches alone;
  const Kind kind = !empty ? Kind::for_both : of_tensor ? Kind::made : Kind::allocated;
  add_region(low, low + bytes, what, kind, 0, empty ? Use::written : Use::changed);
  if (!empty && !of_tensor) host_shares(low, low + bytes); /* who uses pinned tensors isn't seen */
}

void lent_to_call(const void *memory, size_t bytes, const char *name, size_t element, Use use) {
  const uintptr_t low = reinterpret_cast<uintptr_t>(memory);
  if (!lent()) forget_the_host();
  const BetweenLaunches alone;
  add_region(low, low + bytes, name, Kind::tensor, static_cast<unsigned>(element), use);
}

void taken_back(const void *memory, size_t bytes) {
  const uintptr_t low = reinterpret_cast<uintptr_t>(memory);
  const BetweenLaunches alone;
  remove_region(low, low + bytes); /* other OS threads may have lent the same memory, more or less of it */
}

/* What is copied was written as far as its source was. */
void mark_copied(Region *into, uintptr_t to, Region *of, uintptr_t from, size_t size) {
  if (!into || !into->tracked()) return;
  if (of) of->find_writes(from, size);
  if (!of || !of->tracked()) return into->mark(to, size);
  for (size_t done = 0; done < size;) {
    const size_t run = of->run(from + done, size - done, true);
    if (run) into->mark(to + done, run);
    done += run;
    done += of->run(from + done, size - done, false);
  }
}

void moved(void *to, const void *from, size_t size) {
  const uintptr_t target = reinterpret_cast<uintptr_t>(to), source = reinterpret_cast<uintptr_t>(from);
  const BetweenLaunches alone;
  mark_copied(region_at(target), target, region_at(source), source, size);
}

void copied(void *to, const void *from, size_t size, const StreamWork &work) {
  const uintptr_t target = reinterpret_cast<uintptr_t>(to), source = reinterpret_cast<uintptr_t>(from);
  std::string said;
  {
    const BetweenLaunches alone;
    Region *into = region_at(target), *of = from ? region_at(source) : nullptr;
    mark_copied(into, target, of, source, size);
    ++live->now;
    work_begins(work, work.name);
    if (of) said = copy_touches(*of, source, size, false, work);
    if (into && said.empty()) said = copy_touches(*into, target, size, true, work);
    if (of && said.empty() && (!into || into->kind == Kind::for_both)) said = from_nothing(source, size, of->element);
    work_ends();
    if (work.async && into && into->kind == Kind::for_both) copy_with_host(target, size, true, work);
    if (work.async && of && of->kind == Kind::for_both) copy_with_host(source, size, false, work);
    if (!work.async || !into) stream_waited(work.stream); /* a copy to the host's pageable memory is waited for */
  }
  if (!said.empty()) say_of_the_host(said);
}

/* What a library's call does with one row of an operand, or "" where that is right. */
std::string row_used(uintptr_t address, size_t size, bool writing, const char *operand, const StreamWork &work) {
  Region *region = region_at(address);
  if (!region) region = variable_at(address);
  const Place at{work.file ? work.file : "", work.line};
  const std::string got = std::string("got: ") + operand + " of " + work.name;
  if (!region)
    return text_of({memory, "a library's call gets memory that isn't the device's",
                    got + "; expected: memory of cudaMalloc, or a tensor of the call", "copy it to the device first"},
                   at);
  if (region->tracked() && writing) region->mark(address, size);
  region->find_writes(address, size);
  const size_t done = region->tracked() ? region->run(address, size, true) : size;
  if (done < size)
    return text_of({uninitialised, "read of memory that nobody has written",
                    got + ", " + spot(*region, address + done / 4 * 4) + ", which nothing has written yet",
                    "cudaMemset or cudaMemcpy it first"},
                   at);
  return copy_touches(*region, address, size, writing, work);
}

void used(const void *memory, size_t pitch, size_t width, size_t height, bool writing, const char *operand,
          const StreamWork &work) {
  std::string said;
  {
    const BetweenLaunches alone;
    ++live->now;
    work_begins(work, work.name);
    for (size_t row = 0; row < height && said.empty(); ++row)
      said = row_used(reinterpret_cast<uintptr_t>(memory) + row * pitch, width, writing, operand, work);
    work_ends();
  }
  if (!said.empty()) say_of_the_host(said);
}

void touched(const void *memory, size_t size, bool writing, uintptr_t code) {
  access_range(reinterpret_cast<uintptr_t>(memory), size, writing ? How::write : How::read, code);
}

void awaited(void *memory, size_t bytes) {
  const uintptr_t low = reinterpret_cast<uintptr_t>(memory);
  Region *region = shared_at(low);
  if (!region || !region->shadow) return;
  const uintptr_t high = std::min(low + bytes, region->high);
  for (size_t granule = region->granule(low); granule <= region->granule(high - 1); ++granule)
    opened(*live, *region, granule).write = {};
}

/* Memory that is freed in a stream's order is used for something else from then on, as if the stream wrote it. */
void device_freed(void *memory, const StreamWork &work) {
  const uintptr_t low = reinterpret_cast<uintptr_t>(memory);
  std::string said;
  {
    const BetweenLaunches alone;
    Region *region = region_at(low);
    const uintptr_t high = region ? region->high : low;
    if (work.async && work.file && region && region->shadow) {
      ++live->now;
      work_begins(work, work.name);
      said = copy_touches(*region, low, high - low, true, work);
      work_ends();
    }
    if (remove_region(low)) remember_freed(low, high);
    if (!work.async) check::device_waited();
  }
  if (!said.empty()) say_of_the_host(said);
}

void grid_barrier(unsigned) { meet_grid(); }

std::string source_of(uintptr_t code) {
  const Place found = place(code);
  return found.known() ? found.text() + "\n    " + line_text(found) : "";
}

/* A library that a program loads has a checker, too, and its names are the program's: both install the program's. */
}  // namespace
extern OPWRIGHT_EMULATION_API const Hooks the_checker;
const Hooks the_checker = {
    launch_begin, launch_end,   block_begin,      block_end,      thread_switch, block_barrier,    divergent_barrier,
    warp_barrier, absent_lanes, shared_allocated, atomic_begin,   atomic_end,    device_allocated, device_freed,
    grid_barrier, lent_to_call, taken_back,       stream_created, stream_waited, device_waited,    event_recorded,
    event_waited, source_of,    copied,           used,           touched,       awaited,          heap_allocated,
    heap_freed,   heap_misused, say_of_the_host,  moved,          operated};
namespace {
const bool installed = [] {
  new (live) Live;
  install_hooks(&the_checker);
  return true;
}();

}  // namespace

BetweenLaunches::BetweenLaunches(bool waits) : locks_(!in_kernel()), is_alone_(true) {
  if (locks_ && waits) launching.lock();
  else if (locks_) is_alone_ = launching.try_lock();
}
BetweenLaunches::~BetweenLaunches() {
  if (locks_ && is_alone_) launching.unlock();
}

void stop(const char *kind, const std::string &text) { fault(kind, text.c_str()); }

Region *shared_at(uintptr_t address) {
  for (const auto &each : running().shared)
    if (live->has(*each) && each->low <= address && address < each->high) return each.get();
  return nullptr;
}

Region *shared_before(uintptr_t address) {
  Region *last = nullptr;
  for (const auto &each : running().shared)
    if (live->has(*each) && each->low <= address && (!last || last->low < each->low)) last = each.get();
  return last;
}

std::vector<std::string> shared_names() {
  std::vector<std::string> names;
  for (const auto &each : running().shared)
    if (live->has(*each)) names.push_back(each->name);
  return names;
}

bool in_shared_memory(uintptr_t address) { return own_memory(address) && !live->own(address); }

Region *host_parameters(uintptr_t address) {
  Region &parameters = running().parameters;
  return parameters.low <= address && address < parameters.high ? &parameters : nullptr;
}

}  // namespace check

void atomics_reach_block(bool block) {
  if (check::in_kernel()) check::live->scope = block ? check::Scope::block : check::Scope::device;
}

}  // namespace emulation
}  // namespace opwright
