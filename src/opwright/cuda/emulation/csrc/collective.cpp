// What the lanes of a warp do together, outside of rounds; and the first and last lane of a round.
#include "block.h"
#include "work.h"

namespace opwright::emulation {
namespace {

unsigned lowest(uint32_t mask) { return unsigned(__builtin_ctz(mask)); }

uint64_t combine(Collective kind, bool is_signed, uint64_t a, uint64_t b) {
  const bool less = is_signed ? int64_t(a) < int64_t(b) : a < b;
  switch (kind) {
    case add: return a + b;
    case least: return less ? a : b;
    case most: return less ? b : a;
    case conjoin: return a & b;
    case disjoin: return a | b;
    default: return a ^ b;
  }
}

// What the lanes `came` get; for a shuffle every lane reads for itself.
void compute(Warp &warp, Collective kind, uint32_t came, const uint64_t *values) {
  uint64_t all = 0;
  uint32_t yes = 0;
  bool first = true, equal = true;
  const uint64_t reference = values[lowest(came)];
  for (uint32_t left = came; left; left &= left - 1) {
    const unsigned lane = lowest(left);
    yes |= values[lane] ? 1u << lane : 0;
    equal &= values[lane] == reference;
    if (kind >= add) all = first ? values[lane] : combine(kind, warp.source[lowest(came)], all, values[lane]);
    first = false;
  }
  for (uint32_t left = came; left; left &= left - 1) {
    const unsigned lane = lowest(left);
    uint64_t &result = warp.result[lane];
    if (kind == ballot) {
      result = yes;
    } else if (kind == match_all) {
      result = equal ? came : 0;
    } else if (kind == match_any) {
      result = 0;
      for (uint32_t others = came; others; others &= others - 1)
        if (values[lowest(others)] == values[lane]) result |= others & -others;
    } else {
      result = all;
    }
  }
}

// Lanes of a round that broke off read where they would have read in it.
void shuffle_values(Block &b, Warp &warp, uint32_t came) {
  const bool inlined = warp.inlined & came;
  for (uint32_t left = came; left; left &= left - 1) {
    const unsigned lane = lowest(left), from = warp.source[lane];
    warp.result[lane] = warp.brought[came >> from & 1 ? from : lane];
    if (inlined) b.deposit[lane] = warp.brought[lane];
  }
}

// `lane` is one that is there: the warp's operation may be complete because the thread that runs has returned.
void tell_absent(Block &b, unsigned w, unsigned lane, uint32_t mask, uint32_t absent, const char *what, Place place) {
  if (!absent || !hooks() || !hooks()->absent_lanes) return;
  const Speaking there(b, w * warp_size + lane);
  hooks()->absent_lanes(b, mask, absent, what, place);
}

void tell_sources(Block &b, unsigned w, uint32_t came, uint32_t mask, Place place) {
  uint32_t absent = 0;
  unsigned reader = 0;
  for (uint32_t left = came; left; left &= left - 1) {
    const uint32_t source = ~came & 1u << b.warps[w].source[lowest(left)];
    if (source && !absent) reader = lowest(left);
    absent |= source;
  }
  tell_absent(b, w, reader, mask, absent, "a shuffle reads lanes that don't take part in it", place);
}

[[noreturn]] void different_operations(const Block &b, unsigned w, unsigned one, unsigned other) {
  const Place p = b.places[w * warp_size + one], q = b.places[w * warp_size + other];
  Message message;
  message << "lanes " << one << " and " << other << " of a warp wait for each other in different operations, at "
          << p.file << ":" << p.line << " and " << q.file << ":" << q.line
          << "\n  likely fix: let every lane of the mask come to the same one";
  fault("collective", message.text());
}

// The lanes that wait with this mask have all come.
void complete(Block &b, unsigned w, uint32_t mask, uint32_t came) {
  Warp &warp = b.warps[w];
  const unsigned first = lowest(came);
  const Collective kind = warp.kind[first];
  const Place place = b.places[w * warp_size + first];
  for (uint32_t left = came; left; left &= left - 1)
    if (warp.kind[lowest(left)] != kind) different_operations(b, w, first, lowest(left));
  tell_absent(b, w, first, mask, mask & ~came, "a collective names lanes that have returned", place);
  if (kind == shuffle) {
    tell_sources(b, w, came, mask, place);
    shuffle_values(b, warp, came);
  } else if (kind != synchronise) {
    compute(warp, kind, came, warp.brought);
  }
  ++warp.epoch;
  if (kind == synchronise && hooks() && hooks()->warp_barrier) hooks()->warp_barrier(b, w, mask, came, place);
  warp.at_collective &= ~came;
  warp.inlined &= ~came;
  make_ready(b, w, came);
}

uint32_t waiting_with(const Warp &warp, uint32_t mask) {
  uint32_t found = 0;
  for (uint32_t left = warp.at_collective; left; left &= left - 1)
    if (warp.mask[lowest(left)] == mask) found |= left & -left;
  return found;
}

// The lane at hand is one of a round, or begins one: false where there can be none.
bool in_round(Block &b, Collective kind, uint32_t mask, Place place) {
  Warp &warp = b.warp_of(b.linear);
  if (mask != ~0u || warp.live != ~0u) return false;
  if (b.warp_key) return b.warp_key == warp_key(kind, place.line) && !__builtin_strcmp(b.warp_place.file, place.file);
  if (b.linear % warp_size) return false;
  b.warp_key = warp_key(kind, place.line);
  b.warp_kind = kind;
  b.warp_place = place;
  b.warp_end = b.current + warp_size;
  b.deposit = warp.values[warp.epoch & 1];
  return true;
}

uint64_t one_of_round(Block &b, Collective kind, uint64_t value, unsigned source) {
  Warp &warp = b.warp_of(b.linear);
  Slot *me = b.current;
  uint64_t *values = b.deposit;
  const unsigned lane = b.linear % warp_size;
  values[lane] = value;
  if (kind >= add) warp.source[lane] = uint8_t(source);
  if (me + 1 != b.warp_end) {
    run_next(b, me, me + 1);
  } else {
    if (kind != shuffle && kind != synchronise) compute(warp, kind, ~0u, values);
    ++warp.epoch;
    b.warp_key = 0;
    if (kind == synchronise && hooks() && hooks()->warp_barrier)
      hooks()->warp_barrier(b, b.linear / warp_size, ~0u, ~0u, b.warp_place);
    run_next(b, me, me + 1 - warp_size);
  }
  return kind == shuffle ? values[source] : warp.result[lane];
}

}  // namespace

uint64_t collective(Collective kind, unsigned mask, uint64_t value, unsigned source, const char *file, int line) {
  Block &b = block();
  if (!b.fibers) start_fibers(b);
  const unsigned w = b.linear / warp_size, lane = b.linear % warp_size, lanes = b.count - w * warp_size;
  if (b.round && in_round(b, kind, mask, {file, line})) return one_of_round(b, kind, value, source);
  free_round(b);
  Warp &warp = b.warps[w];
  const uint32_t named = lanes < warp_size ? mask & ((1u << lanes) - 1) : mask;
  if (!(named >> lane & 1)) {
    tell_absent(b, w, lane, mask, 1u << lane, "a lane isn't in its own mask", {file, line});
    return value;
  }
  warp.brought[lane] = value;
  warp.source[lane] = uint8_t(source);
  warp.mask[lane] = named;
  warp.kind[lane] = kind;
  b.places[b.linear] = {file, line};
  warp.at_collective |= 1u << lane;
  const uint32_t came = waiting_with(warp, named);
  if ((named & warp.live & ~came) == 0) complete(b, w, named, came);
  run_another(b, b.current);
  return warp.result[lane];
}

void complete_after_exit(Block &b, unsigned w) {
  Warp &warp = b.warps[w];
  for (uint32_t left = warp.at_collective; left; left &= left - 1) {
    const unsigned lane = lowest(left);
    if (!(warp.at_collective >> lane & 1)) continue;
    const uint32_t came = waiting_with(warp, warp.mask[lane]);
    if ((warp.mask[lane] & warp.live & ~came) == 0) complete(b, w, warp.mask[lane], came);
  }
}

unsigned active_mask(const char *file, int line) {
  Block &b = block();
  if (!b.fibers) start_fibers(b);
  free_round(b);
  Warp &warp = b.warp_of(b.linear);
  const unsigned lane = b.linear % warp_size;
  b.places[b.linear] = {file, line};
  warp.asking |= 1u << lane;
  b.asking_warps |= 1u << b.linear / warp_size;
  run_another(b, b.current);
  return unsigned(warp.result[lane]);
}

// Nobody else can go on, so the lanes that ask at one place of the code are as converged as they will ever be.
void complete_asking(Block &b) {
  const unsigned w = lowest(b.asking_warps);
  Warp &warp = b.warps[w];
  const Place at = b.places[w * warp_size + lowest(warp.asking)];
  uint32_t together = 0;
  for (uint32_t left = warp.asking; left; left &= left - 1) {
    const Place other = b.places[w * warp_size + lowest(left)];
    if (other.line == at.line && !__builtin_strcmp(other.file, at.file)) together |= left & -left;
  }
  for (uint32_t left = together; left; left &= left - 1) warp.result[lowest(left)] = together;
  warp.asking &= ~together;
  if (!warp.asking) b.asking_warps &= ~(1u << w);
  make_ready(b, w, together);
}

}  // namespace opwright::emulation
