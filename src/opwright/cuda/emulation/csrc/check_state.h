/* What the checker knows of the launch that runs: the block, the thread, and what was ordered before it. */
#ifndef OPWRIGHT_EMULATION_CHECK_STATE_H
#define OPWRIGHT_EMULATION_CHECK_STATE_H

#include <opwright/emulation/context.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "check_shadow.h"

namespace opwright {
namespace emulation {
namespace check {

/* How far a fence or an atomic operation reaches. */
enum class Scope : uint8_t { block, device };

/* The time of the last fence of each reach; 0: none. */
struct Fenced {
  uint32_t block = 0, device = 0;
  uint32_t of(Scope scope) const { return scope == Scope::block ? block : device; }
};

/* What was released through a word of memory: everything of a thread before its fence, and everything of the others of its warp
 * and block that was ordered before it by a barrier. Groups: the block's number, then the warp, or `whole` for the block. */
struct Location {
  static constexpr uint64_t whole = 63;
  static uint64_t group(uint32_t block, uint64_t warp) { return uint64_t(block) << 6 | warp; }
  std::unordered_map<uint32_t, Fenced> threads;
  std::unordered_map<uint64_t, Fenced> groups;
};

/* Some lanes of a warp (or all threads of the block) have seen what was released there, until then. */
struct Acquired {
  const Location *location;
  uint32_t time, warp, lanes;
};

struct Warp {
  uint32_t full = 0; /* when all its lanes last met */
  std::unique_ptr<std::array<std::array<uint32_t, 32>, 32>>
      clocks; /* [lane][other]: until when `other` was seen by lane */
};

/* A TempStorage of the block, and the last use of it by each thread (`use_storage`): whether that still lasts, or when it ended, 0 for
 * a time before the last barrier. */
struct StorageUse {
  uint32_t stamp = 0;
  bool lasts = false;
  int line = 0;
  const char *file = nullptr;
};
struct Storage {
  uintptr_t low, high;
  uint32_t latest;
  std::vector<StorageUse> uses; /* by thread */
};

struct Block {
  uint32_t number = 0, begin = 0, barrier = 0;
  Readers *readers = nullptr; /* of its shared memory */
  std::vector<Warp> warps;
  std::vector<Fenced> fences;  /* by thread; empty where none had any */
  std::vector<Acquired> fresh; /* since the last barrier */
  std::vector<Acquired> known; /* to all its threads */
  std::vector<Storage> storages;
};

/* A write that may have been harmless: it was, if the value is what it was before. */
struct Pending {
  uintptr_t address = 0;
  unsigned size = 0;
  unsigned char before[16] = {};
  std::string text;
};

/* The element or the row that an index beyond its axis leads to; no bytes: none. */
struct Stray {
  uintptr_t low = 0, bytes = 0;
  uint32_t who = 0;
  int64_t index = 0, size = 0;
};

/* Work of a stream: its place in it, the time that it took, and where it was given. */
struct Unordered {
  const void *stream;
  uint32_t count, begin, end;
  std::string what, file;
  int line;
};

/* What an instruction touched last; and what the short way of check_quick.h needs, for as long as the region stays as it is
 * (`forget_sites`). Its instruction is told by the address that it returns to, so its kind and size are always the same ones. */
struct alignas(64) Site {
  uintptr_t code = 0, low = 0;
  uintptr_t reach = 0;         /* how many addresses from `low` on compiled code may touch by itself; 0: none */
  uintptr_t shadow = 0;        /* the cell (in shared memory) or the word of address 0, where there is none */
  uint64_t *written = nullptr; /* the region's, where what was written is tracked */
  Region *region = nullptr;
  Word word;          /* what is the same in the words of its accesses */
  uint32_t place = 0; /* the code of its accesses */
  uint8_t shift = 0;
  bool shared = false, ready = false; /* to go the short way */
};

/* Memory that an instruction touches: of one access, or of several that are its parts. */
struct Span {
  uintptr_t low = 0;
  size_t size = 0;
  uintptr_t code = 0;
  bool holds(uintptr_t address) const { return address - low < size; }
};

/* A time in which one block ran and no other did. */
struct Turn { uint32_t begin, block; };

/* What the short way doesn't look at: in any of these states an access takes the long one. */
struct Attention {
  bool atomic = false;  /* within an atomic function of CUDA */
  bool pending = false; /* there is a write that may have been harmless */
  bool stray = false;   /* an index was beyond its axis */
  bool streams = false; /* work of other streams isn't ordered before this launch */
  bool any() const {
    uint32_t all;
    static_assert(sizeof(all) == sizeof(*this), "all of them at once");
    memcpy(&all, this, sizeof(all));
    return all != 0;
  }
};

constexpr uintptr_t stacks_offset = uintptr_t(1) << 20; /* of an arena */

/* The launch that runs, and its running thread. One at a time: checked launches wait for each other. */
struct Live {
  /* First what the short way needs. */
  uintptr_t arena = 0;         /* of the running block: its shared memory and its threads' stacks */
  uintptr_t quick = 0;         /* the same, where nothing needs attention */
  uintptr_t shared_low = 0;    /* where its shared memory begins */
  uintptr_t shared_words = 0;  /* how much may be there, where nothing needs attention */
  Readers *readers = nullptr;  /* of the words from there on (check_readers.h) */
  uint32_t first = 0, now = 1; /* the number of the running block's first thread; the time */
  Attention attention;
  uint32_t begin = 0, barrier = 0; /* of `block` (`refresh`) */
  uint32_t turn = 0;               /* when the running block's turn began */
  /* A read takes no earlier launch's write out of the shadow: another stream may ask for it. */
  bool keeps_writes = false;
  uint32_t ordered_before[2] = {}; /* global memory, shared memory: everything before this time is ordered */
  Span stored;                     /* what compiled code wrote last, whoever it was (check_copies.cpp) */
  bool finer = false; /* whether anything but barriers and the launch's begin orders accesses: lanes, fences */
  uintptr_t shared_begin = 0, shared_end = 0; /* offsets in the arena */
  bool atomic_seen = false;                   /* the memory of the atomic function was looked at */
  bool exchanges = false;                     /* that function does nothing with the value before but return it */
  Scope scope = Scope::device;                /* of that function */
  uint32_t launch = 0;                        /* when the launch, or its last grid-wide barrier, began */
  Block *block = nullptr;
  bool orders = false; /* whether anything was acquired in this launch */
  Pending pending;
  Stray stray;
  Span range;                                   /* that is read in parts */
  bool range_in_part = false;                   /* some of it is written, and the rest isn't */
  Span loaded;                                  /* the range that was read last, where no write before it is its copy */
  std::unordered_map<uintptr_t, bool> one_line; /* by a read's instruction: is the write before it of its line? */
  std::vector<Unordered> unordered;             /* work of other streams that nothing orders before this launch */
  std::string kernel, launch_file;
  int launch_line = 0;
  unsigned block_size[3] = {1, 1, 1}, grid_size[3] = {1, 1, 1};
  std::vector<uint64_t> blocks;                    /* by number: its linear index in the grid */
  std::vector<Turn> turns;                         /* of the launch, in order */
  std::unordered_map<uintptr_t, uint32_t> numbers; /* of instructions, by the address that they return to; from 1 on */
  std::vector<uintptr_t> instructions{0};          /* by number */
  std::unordered_map<uintptr_t, std::unique_ptr<Location>> locations;
  std::unordered_set<uintptr_t> silenced; /* places whose faults the author knows */
  std::array<Site, 1024> sites{};         /* by instruction */

  /* Whether an address is a thread's stack or the emulator's threadIdx and the like. */
  bool own(uintptr_t address) const {
    const uintptr_t offset = address - arena;
    return offset < shared_begin || offset - shared_end < arena_bytes - shared_end;
  }
  /* Begins a time after whatever has happened. */
  uint32_t next_time() {
    constexpr uint32_t last = ~uint32_t(0) - (1u << 20);
    if (__builtin_expect(++now >= last, 0)) too_long();
    return now;
  }
  [[noreturn]] void too_long() const;
  void attend(bool Attention::*to, bool is) {
    attention.*to = is;
    enter(arena);
  }
  void enter(uintptr_t of_block) {
    arena = of_block;
    quick = attention.any() ? 0 : arena;
    shared_low = arena + shared_begin, shared_words = quick ? (shared_end - shared_begin) >> word_shift : 0;
  }
  Site &site(uintptr_t code) { return sites[(code >> 2) % sites.size()]; }
  /* The emulator notes in the arena which thread runs. */
  uint32_t thread() const { return reinterpret_cast<const Context *>(arena)->linear; }
  uint32_t me() const { return first | thread(); }
  /* Whether the running block has that shared variable: others may have others at its addresses. */
  bool has(const Region &shared) const { return shared.born == begin; }
  bool same_block(uint32_t who) const { return (who ^ first) >> thread_bits == 0; }
  /* Its begin tells the block from one of 2^22 blocks before it, whose number looks the same in `who`. */
  bool same_block(const Access &access) const { return access.stamp >= block->begin && same_block(access.who); }
  /* The number of the block that ran then, at a time of this launch. */
  uint32_t block_of(uint32_t stamp) const {
    if (!turns.empty() && stamp >= turns.back().begin) return turns.back().block;
    const auto after = std::upper_bound(turns.begin(), turns.end(), stamp,
                                        [](uint32_t time, const Turn &each) { return time < each.begin; });
    return after == turns.begin() ? 0 : std::prev(after)->block;
  }
  /* Another block runs, or its threads have met. In shared memory whatever is of this block's time is this block's, so its barrier
   * orders all of that. */
  void refresh() {
    begin = block->begin, barrier = block->barrier;
    ordered_before[0] = launch, ordered_before[1] = std::max({begin, barrier, launch});
  }
  /* `since`: since when accesses of this memory count: the launch's begin, or the block's. */
  bool ordered(const Access &access, uint32_t since) const {
    if (access.stamp < since) return true;
    if (same_block(access)) {
      if (access.who == me() && !(access.code & several)) return true;
      if (access.stamp < block->barrier || in_warp(access)) return true;
    }
    return orders && acquired(access);
  }
  bool in_warp(const Access &access) const;
  bool acquired(const Access &access) const;
};

/* What is known of the launch that is checked; all zero until the runtime is loaded, and never destroyed. Not thread-local: only
 * one launch at a time is checked, and whose code calls is told by the stack that it runs on. */
struct alignas(Live) LiveBytes { char bytes[sizeof(Live)]; };
extern __attribute__((visibility("hidden"))) LiveBytes live_bytes;
static Live *const live = reinterpret_cast<Live *>(&live_bytes);

/* Whether the calling code is a kernel's, and not the host's: it runs on a stack of the arena. */
inline bool in_kernel() { return reinterpret_cast<uintptr_t>(&context()) == live->arena; }

/* A region changes: the instructions that have touched it look it up again. */
void forget_sites(const Region *region);

/* Whether an address lies in the running block's arena. */
inline bool own_memory(uintptr_t address) { return (address ^ live->arena) < arena_bytes; }

/* The shared variable at an address of the running block, or null; the last one before it. */
Region *shared_at(uintptr_t address);
Region *shared_before(uintptr_t address);
std::vector<std::string> shared_names();

/* Whether an address is in the part of the arena where shared memory is. */
bool in_shared_memory(uintptr_t address);

/* Where the launch's arguments are, the host's until the kernel has copied them; null where they don't lie there. */
Region *host_parameters(uintptr_t address);

/* Stops the launch with that error; doesn't return. */
[[noreturn]] void stop(const char *kind, const std::string &text);

/* Events; all of them of the running thread. */
void meet_block();                             /* a barrier of the block is complete */
void meet_lanes(unsigned warp, uint32_t mask); /* a __syncwarp is complete */
void meet_grid();                              /* a barrier of the grid is complete */
void fence(Scope scope);
void synchronise(uintptr_t address, Scope scope, bool acquires, bool releases,
                 bool fenced_itself); /* an atomic operation */

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
