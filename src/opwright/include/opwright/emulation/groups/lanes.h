/* Cooperative groups within a warp: thread_block_tile, coalesced_group, partitions. */
#ifndef OPWRIGHT_EMULATION_GROUPS_LANES_H
#define OPWRIGHT_EMULATION_GROUPS_LANES_H

#include "block.h"

namespace cooperative_groups {

/* Some lanes of one warp, with ranks from 0 on. */
class lane_group : public thread_group {
 public:
  explicit lane_group(unsigned mask) : thread_group(lanes, mask) {}
  unsigned size() const { return opwright::emulation::count_lanes(mask_); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    using namespace opwright::emulation;
    return count_lanes(mask_ & lanes_below(lane_index()));
  }
  void sync(OPWRIGHT_EMULATION_HERE) const { opwright::emulation::synchronise_warp(mask_, file, line); }
  unsigned mask() const { return mask_; } /* not CUDA's: for reduce and the scans */

  template <class T> T shfl(T value, int rank, OPWRIGHT_EMULATION_HERE) const {
    return from_rank(value, unsigned(rank) % size(), file, line);
  }
  template <class T> T shfl_up(T value, unsigned delta, OPWRIGHT_EMULATION_HERE) const {
    const unsigned rank = thread_rank();
    return from_rank(value, rank < delta ? rank : rank - delta, file, line);
  }
  template <class T> T shfl_down(T value, unsigned delta, OPWRIGHT_EMULATION_HERE) const {
    const unsigned rank = thread_rank();
    return from_rank(value, delta >= size() - rank ? rank : rank + delta, file, line);
  }
  int any(int predicate, OPWRIGHT_EMULATION_HERE) const { return ballot(predicate, file, line) != 0; }
  int all(int predicate, OPWRIGHT_EMULATION_HERE) const { return ballot(!predicate, file, line) == 0; }
  unsigned ballot(int predicate, OPWRIGHT_EMULATION_HERE) const {
    return opwright::emulation::pack_lanes(__ballot_sync(mask_, predicate, file, line), mask_);
  }
  template <class T> unsigned match_any(T value, OPWRIGHT_EMULATION_HERE) const {
    return opwright::emulation::pack_lanes(__match_any_sync(mask_, value, file, line), mask_);
  }
  template <class T> unsigned match_all(T value, int &predicate, OPWRIGHT_EMULATION_HERE) const {
    return opwright::emulation::pack_lanes(__match_all_sync(mask_, value, &predicate, file, line), mask_);
  }

 private:
  template <class T> T from_rank(const T &value, unsigned rank, const char *file, int line) const {
    using namespace opwright::emulation;
    return exchange_any(mask_, value, lane_of_rank(mask_, rank), file, line);
  }
};

/* `Size` lanes side by side. */
template <unsigned Size, class Parent = void>
class thread_block_tile : public lane_group {
  static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "the emulator has tiles of 1, 2, 4, 8, 16 and 32 threads");

 public:
  thread_block_tile() : lane_group(mask_here()) {}
  template <class Other> thread_block_tile(const thread_block_tile<Size, Other> &) : thread_block_tile() {}
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned thread_rank() const { return opwright::emulation::lane_index() % Size; }
  unsigned meta_group_rank() const { return opwright::emulation::linear_index() / Size; }
  unsigned meta_group_size() const { return (thread_block::size() + Size - 1) / Size; }
  template <class T> T shfl(T value, int rank, OPWRIGHT_EMULATION_HERE) const {
    return at(value, opwright::emulation::source_lane(lane(), rank, Size), file, line);
  }
  template <class T> T shfl_up(T value, unsigned delta, OPWRIGHT_EMULATION_HERE) const {
    return at(value, opwright::emulation::source_up(lane(), delta, Size), file, line);
  }
  template <class T> T shfl_down(T value, unsigned delta, OPWRIGHT_EMULATION_HERE) const {
    return at(value, opwright::emulation::source_down(lane(), delta, Size), file, line);
  }
  template <class T> T shfl_xor(T value, unsigned other, OPWRIGHT_EMULATION_HERE) const {
    return at(value, opwright::emulation::source_xor(lane(), int(other), Size), file, line);
  }

 private:
  static unsigned lane() { return opwright::emulation::lane_index(); }
  static unsigned mask_here() { return Size == 32 ? ~0u : ((1u << Size % 32) - 1) << (lane() & ~(Size - 1)); }
  template <class T> T at(const T &value, unsigned source, const char *file, int line) const {
    return opwright::emulation::exchange_any(mask_, value, source, file, line);
  }
};

class coalesced_group : public lane_group {
 public:
  explicit coalesced_group(unsigned mask, unsigned rank = 0, unsigned groups = 1)
      : lane_group(mask), rank_(rank), groups_(groups) {}
  template <unsigned Size, class Parent>
  coalesced_group(const thread_block_tile<Size, Parent> &tile)
      : coalesced_group(tile.mask(), tile.meta_group_rank(), tile.meta_group_size()) {}
  unsigned meta_group_rank() const { return rank_; }
  unsigned meta_group_size() const { return groups_; }

 private:
  unsigned rank_, groups_;
};

/* The lanes that are here together, as far as an emulator can say. */
inline coalesced_group coalesced_threads(OPWRIGHT_EMULATION_HERE) { return coalesced_group(__activemask(file, line)); }

template <unsigned Size, class Parent>
inline thread_block_tile<Size, Parent> tiled_partition(const Parent &) {
  return {};
}
/* Of lanes with ranks: `Size` ranks side by side. */
inline coalesced_group tiled_partition(const coalesced_group &group, unsigned size) {
  const unsigned index = group.thread_rank() / size, groups = (group.size() + size - 1) / size;
  unsigned mask = 0;
  for (unsigned rank = index * size; rank < group.size() && rank < (index + 1) * size; ++rank)
    mask |= 1u << opwright::emulation::lane_of_rank(group.mask(), rank);
  return coalesced_group(mask, index, groups);
}
template <unsigned Size>
inline coalesced_group tiled_partition(const coalesced_group &group) {
  return tiled_partition(group, Size);
}
inline thread_group tiled_partition(const thread_group &, unsigned size) {
  const unsigned first = opwright::emulation::lane_index() & ~(size - 1);
  return thread_group(thread_group::lanes, size >= 32 ? ~0u : ((1u << size) - 1) << first);
}
inline thread_group tiled_partition(const thread_block &block, unsigned size) {
  return tiled_partition(static_cast<const thread_group &>(block), size);
}

template <class Group, class Label>
inline coalesced_group labeled_partition(const Group &group, Label label, OPWRIGHT_EMULATION_HERE) {
  return coalesced_group(__match_any_sync(group.mask(), label, file, line));
}
template <class Group>
inline coalesced_group binary_partition(const Group &group, bool predicate, OPWRIGHT_EMULATION_HERE) {
  const unsigned yes = __ballot_sync(group.mask(), predicate, file, line);
  return coalesced_group(predicate ? yes : group.mask() & ~yes, predicate, 2);
}

}  // namespace cooperative_groups
#endif
