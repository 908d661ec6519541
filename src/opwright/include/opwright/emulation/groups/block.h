/* Cooperative groups of whole blocks: thread_group, thread_block, grid_group. */
#ifndef OPWRIGHT_EMULATION_GROUPS_BLOCK_H
#define OPWRIGHT_EMULATION_GROUPS_BLOCK_H

#include "exchange.h"

namespace cooperative_groups {

/* Any group, its type forgotten: a block, a grid, or lanes of a warp. */
class thread_group {
 public:
  enum Kind { block, grid, lanes };
  explicit thread_group(Kind kind, unsigned mask = 0) : kind_(kind), mask_(mask) {}
  unsigned long long size() const {
    const dim3 &b = blockDim, &g = gridDim;
    const unsigned long long threads = b.x * b.y * b.z;
    return kind_ == lanes   ? opwright::emulation::count_lanes(mask_)
           : kind_ == block ? threads
                            : threads * g.x * g.y * g.z;
  }
  unsigned long long num_threads() const { return size(); }
  unsigned long long thread_rank() const {
    using namespace opwright::emulation;
    const unsigned linear = linear_index();
    if (kind_ == lanes) return count_lanes(mask_ & lanes_below(linear % warp_size));
    const dim3 &b = blockDim, &g = gridDim;
    const uint3 &at = blockIdx;
    return kind_ == block
               ? linear
               : (at.x + (unsigned long long)g.x * (at.y + (unsigned long long)g.y * at.z)) * (b.x * b.y * b.z) +
                     linear;
  }
  bool is_valid() const { return true; }
  void sync(OPWRIGHT_EMULATION_HERE) const {
    using namespace opwright::emulation;
    if (kind_ == block) return barrier(file, line);
    if (kind_ == grid) return grid_barrier(file, line);
    synchronise_warp(mask_, file, line);
  }

 protected:
  Kind kind_;
  unsigned mask_;
};

class thread_block : public thread_group {
 public:
  thread_block() : thread_group(block) {}
  static void sync(OPWRIGHT_EMULATION_HERE) { opwright::emulation::barrier(file, line); }
  static unsigned thread_rank() { return opwright::emulation::linear_index(); }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return opwright::emulation::thread_index(); }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};

class grid_group : public thread_group {
 public:
  grid_group() : thread_group(grid) {}
  void sync(OPWRIGHT_EMULATION_HERE) const { opwright::emulation::grid_barrier(file, line); }
  static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  static unsigned long long block_rank() {
    return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
  }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return blockIdx; }
};

inline thread_block this_thread_block() { return {}; }
inline grid_group this_grid() { return {}; }

template <class Group> inline void sync(const Group &group, OPWRIGHT_EMULATION_HERE) { group.sync(file, line); }
template <class Group> inline auto thread_rank(const Group &group) { return group.thread_rank(); }
template <class Group> inline auto group_size(const Group &group) { return group.size(); }

}  // namespace cooperative_groups
#endif
