/* reduce, the scans, and copies by a whole group. */
#ifndef OPWRIGHT_EMULATION_GROUPS_ALGORITHMS_H
#define OPWRIGHT_EMULATION_GROUPS_ALGORITHMS_H

#include "lanes.h"

namespace cooperative_groups {

#define OPWRIGHT_EMULATION_OPERATION(name, expression)                        \
  template <class T = void> struct name {                                     \
    T operator()(T a, T b) const { return T(expression); }                    \
  };                                                                          \
  template <> struct name<void> {                                             \
    template <class T> T operator()(T a, T b) const { return T(expression); } \
  };
OPWRIGHT_EMULATION_OPERATION(plus, a + b)
OPWRIGHT_EMULATION_OPERATION(less, b < a ? b : a)
OPWRIGHT_EMULATION_OPERATION(greater, a < b ? b : a)
OPWRIGHT_EMULATION_OPERATION(bit_and, a &b)
OPWRIGHT_EMULATION_OPERATION(bit_or, a | b)
OPWRIGHT_EMULATION_OPERATION(bit_xor, a ^ b)
#undef OPWRIGHT_EMULATION_OPERATION

/* The same result for every thread of the group: tiles as a butterfly, others in the order of ranks. */
template <unsigned Size, class Parent, class T, class Operation>
inline T reduce(const thread_block_tile<Size, Parent> &tile, T value, Operation operation, OPWRIGHT_EMULATION_HERE) {
  for (unsigned distance = Size / 2; distance; distance /= 2)
    value = operation(value, tile.shfl_xor(value, distance, file, line));
  return value;
}
template <class T, class Operation>
inline T reduce(const coalesced_group &group, T value, Operation operation, OPWRIGHT_EMULATION_HERE) {
  T all = group.shfl(value, 0, file, line);
  for (unsigned rank = 1; rank < group.size(); ++rank) all = operation(all, group.shfl(value, int(rank), file, line));
  return all;
}

template <class Group, class T, class Operation>
inline T inclusive_scan(const Group &group, T value, Operation operation, OPWRIGHT_EMULATION_HERE) {
  for (unsigned distance = 1; distance < group.size(); distance *= 2) {
    const T before = group.shfl_up(value, distance, file, line);
    if (group.thread_rank() >= distance) value = operation(before, value);
  }
  return value;
}
template <class Group, class T>
inline T inclusive_scan(const Group &group, T value, OPWRIGHT_EMULATION_HERE) {
  return inclusive_scan(group, value, plus<T>(), file, line);
}
/* The first thread's result is T(), as CUDA's is undefined for other operations than sums. */
template <class Group, class T, class Operation>
inline T exclusive_scan(const Group &group, T value, Operation operation, OPWRIGHT_EMULATION_HERE) {
  const T before = group.shfl_up(inclusive_scan(group, value, operation, file, line), 1, file, line);
  return group.thread_rank() ? before : T();
}
template <class Group, class T>
inline T exclusive_scan(const Group &group, T value, OPWRIGHT_EMULATION_HERE) {
  return exclusive_scan(group, value, plus<T>(), file, line);
}

template <class Group, class Function>
inline void invoke_one(const Group &group, Function function) {
  if (group.thread_rank() == 0) function();
}
template <class Group, class Function>
inline auto invoke_one_broadcast(const Group &group, Function function, OPWRIGHT_EMULATION_HERE) {
  decltype(function()) value{};
  if (group.thread_rank() == 0) value = function();
  return group.shfl(value, 0, file, line);
}

/* By all threads of the group; complete for the others after wait(). Sizes are in bytes. */
template <class Group, class To, class From>
inline void memcpy_async(const Group &group, To *to, const From *from, size_t bytes) {
  for (size_t i = group.thread_rank(); i < bytes; i += group.size())
    reinterpret_cast<char *>(to)[i] = reinterpret_cast<const char *>(from)[i];
}
template <class Group> inline void wait(const Group &group, OPWRIGHT_EMULATION_HERE) { group.sync(file, line); }
template <unsigned Stages, class Group> inline void wait_prior(const Group &group, OPWRIGHT_EMULATION_HERE) {
  group.sync(file, line);
}

}  // namespace cooperative_groups
#endif
