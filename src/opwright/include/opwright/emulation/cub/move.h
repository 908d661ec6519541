/* cub::BlockLoad, cub::BlockStore, cub::BlockExchange. Every arrangement that cub names comes to two: a thread has its items
 * side by side (blocked), or one in every `threads` (striped).
 */
#ifndef OPWRIGHT_EMULATION_CUB_MOVE_H
#define OPWRIGHT_EMULATION_CUB_MOVE_H

#include "common.h"

namespace cub {
namespace detail {

inline int blocked(int item, int items, int) { return int(linear_index()) * items + item; }
inline int striped(int item, int, int threads) { return int(linear_index()) + item * threads; }

}  // namespace detail

template <class T, int X, int items, BlockLoadAlgorithm algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
struct BlockLoad {
  struct TempStorage {};
  BlockLoad() = default;
  BlockLoad(TempStorage &) {}
  template <class Input> void Load(Input input, T (&output)[items]) {
    for (int i = 0; i < items; ++i) output[i] = input[place(i)];
  }
  template <class Input> void Load(Input input, T (&output)[items], int valid) {
    for (int i = 0; i < items; ++i)
      if (place(i) < valid) output[i] = input[place(i)];
  }
  template <class Input, class Default> void Load(Input input, T (&output)[items], int valid, Default otherwise) {
    for (int i = 0; i < items; ++i) output[i] = otherwise;
    Load(input, output, valid);
  }

 private:
  static int place(int i) {
    return algorithm == BLOCK_LOAD_STRIPED ? detail::striped(i, items, X * Y * Z)
                                           : detail::blocked(i, items, X * Y * Z);
  }
};

template <class T, int X, int items, BlockStoreAlgorithm algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
struct BlockStore {
  struct TempStorage {};
  BlockStore() = default;
  BlockStore(TempStorage &) {}
  template <class Output> void Store(Output output, T (&input)[items]) {
    for (int i = 0; i < items; ++i) output[place(i)] = input[i];
  }
  template <class Output> void Store(Output output, T (&input)[items], int valid) {
    for (int i = 0; i < items; ++i)
      if (place(i) < valid) output[place(i)] = input[i];
  }

 private:
  static int place(int i) {
    return algorithm == BLOCK_STORE_STRIPED ? detail::striped(i, items, X * Y * Z)
                                            : detail::blocked(i, items, X * Y * Z);
  }
};

template <class T, int X, int items, bool = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange {
  static constexpr int threads = X * Y * Z;
  struct Layout { Uninitialized<T> values[threads * items]; };

 public:
  struct TempStorage : Uninitialized<Layout> {};
  BlockExchange() : layout_(detail::own_storage<Layout>()) {}
  BlockExchange(TempStorage &storage) : layout_(storage.Alias()) {}
  void StripedToBlocked(T (&input)[items], T (&output)[items], OPWRIGHT_EMULATION_HERE) {
    move(input, output, detail::striped, detail::blocked, file, line);
  }
  void BlockedToStriped(T (&input)[items], T (&output)[items], OPWRIGHT_EMULATION_HERE) {
    move(input, output, detail::blocked, detail::striped, file, line);
  }
  void StripedToBlocked(T (&both)[items], OPWRIGHT_EMULATION_HERE) { StripedToBlocked(both, both, file, line); }
  void BlockedToStriped(T (&both)[items], OPWRIGHT_EMULATION_HERE) { BlockedToStriped(both, both, file, line); }

 private:
  using Place = int (*)(int, int, int);
  void move(T (&input)[items], T (&output)[items], Place from, Place to, const char *file, int line) {
    for (int i = 0; i < items; ++i) layout_.values[from(i, items, threads)].Alias() = input[i];
    detail::wait(file, line);
    for (int i = 0; i < items; ++i) output[i] = layout_.values[to(i, items, threads)].Alias();
  }
  Layout &layout_;
};

}  // namespace cub
#endif
