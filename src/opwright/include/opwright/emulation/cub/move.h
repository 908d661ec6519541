/* cub::BlockLoad, cub::BlockStore, cub::BlockExchange. Every arrangement that cub names comes to two: a thread has its items
 * side by side (blocked), or one in every `threads` (striped).
 */
#ifndef OPWRIGHT_EMULATION_CUB_MOVE_H
#define OPWRIGHT_EMULATION_CUB_MOVE_H

#include "storage.h"

namespace cub {
namespace detail {

inline int blocked(int item, int items, int) { return int(linear_index()) * items + item; }
inline int striped(int item, int, int threads) { return int(linear_index()) + item * threads; }

}  // namespace detail

template <class T, int X, int items, bool sliced = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange {
  static constexpr int threads = X * Y * Z, at_once = sliced && threads > 32 ? 32 * items : threads * items;
  struct Layout { Uninitialized<T> values[at_once]; };

 public:
  struct TempStorage : detail::Storage<detail::exchange_bytes<T, items>(sliced &&threads > 32 ? 32 : threads),
                                       detail::alignment_of<T>> {};
  BlockExchange() : layout_(detail::own_storage<Layout>()) {}
  BlockExchange(TempStorage &storage) : layout_(storage.template as<Layout>()) {}
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
    const detail::Use use(&layout_, sizeof(layout_), detail::whole_block, file, line);
    T result[items];
    for (int i = 0; i < items; ++i) result[i] = input[i]; /* all of it is replaced, which compilers don't see */
    for (int first = 0; first < threads * items; first += at_once) { /* one slice, but for the form that saves memory */
      if (first) detail::wait(file, line);
      for (int i = 0; i < items; ++i)
        if (const int at = from(i, items, threads) - first; at >= 0 && at < at_once)
          layout_.values[at].Alias() = input[i];
      detail::wait(file, line);
      for (int i = 0; i < items; ++i)
        if (const int at = to(i, items, threads) - first; at >= 0 && at < at_once)
          result[i] = layout_.values[at].Alias();
    }
    for (int i = 0; i < items; ++i) output[i] = result[i];
  }
  Layout &layout_;
};

namespace detail {

/* Loads and stores that transpose take what an exchange takes, `more` behind it; the others nothing. */
struct Nothing {};
template <class T, int items, int threads, int algorithm, size_t more> constexpr auto move_storage() {
  constexpr bool sliced = algorithm == BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED && threads > 32;
  if constexpr (algorithm < BLOCK_LOAD_TRANSPOSE) return Nothing();
  else return Storage<up(exchange_bytes<T, items>(sliced ? 32 : threads) + more, alignment_of<T>), alignment_of<T>>();
}
template <class T, int items, int threads, int algorithm, size_t more>
using MoveStorage = decltype(move_storage<T, items, threads, algorithm, more>());
template <class Exchange, class TempStorage> Exchange exchange_of(TempStorage *storage) {
  if (!storage) return Exchange();
  return Exchange(reinterpret_cast<typename Exchange::TempStorage &>(*storage));
}
static_assert(int(BLOCK_LOAD_TRANSPOSE) == int(BLOCK_STORE_TRANSPOSE) &&
                  int(BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED) == int(BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED),
              "the two enumerations agree");

}  // namespace detail

/* By way of the storage, where cub's form for a block does so; those for warps order no more than the memory itself. */
template <class T, int X, int items, BlockLoadAlgorithm algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad {
  static constexpr int threads = X * Y * Z;
  static constexpr bool exchanges = algorithm == BLOCK_LOAD_TRANSPOSE, in_warps = algorithm > BLOCK_LOAD_TRANSPOSE;
  using Exchange = BlockExchange<T, X, items, false, Y, Z>;

 public:
  struct TempStorage : detail::MoveStorage<T, items, threads, int(algorithm), 0> {};
  BlockLoad() = default;
  BlockLoad(TempStorage &storage) : storage_(&storage) {}
  template <class Input> void Load(Input input, T (&output)[items], OPWRIGHT_EMULATION_HERE) {
    Load(input, output, threads * items, file, line);
  }
  template <class Input> void Load(Input input, T (&output)[items], int valid, OPWRIGHT_EMULATION_HERE) {
    const detail::Use use(in_warps ? storage_ : nullptr, sizeof(TempStorage), detail::whole_block, file, line);
    for (int i = 0; i < items; ++i)
      if (place(i) < valid) output[i] = input[place(i)];
    if constexpr (exchanges) detail::exchange_of<Exchange>(storage_).StripedToBlocked(output, file, line);
  }
  template <class Input, class Default>
  void Load(Input input, T (&output)[items], int valid, Default otherwise, OPWRIGHT_EMULATION_HERE) {
    for (int i = 0; i < items; ++i) output[i] = otherwise;
    Load(input, output, valid, file, line);
  }

 private:
  static int place(int i) {
    return exchanges || algorithm == BLOCK_LOAD_STRIPED ? detail::striped(i, items, threads)
                                                        : detail::blocked(i, items, threads);
  }
  TempStorage *storage_ = nullptr;
};

template <class T, int X, int items, BlockStoreAlgorithm algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockStore {
  static constexpr int threads = X * Y * Z;
  static constexpr bool exchanges = algorithm == BLOCK_STORE_TRANSPOSE, in_warps = algorithm > BLOCK_STORE_TRANSPOSE;
  using Exchange = BlockExchange<T, X, items, false, Y, Z>;

 public:
  struct TempStorage : detail::MoveStorage<T, items, threads, int(algorithm), sizeof(int)> {};
  BlockStore() = default;
  BlockStore(TempStorage &storage) : storage_(&storage) {}
  template <class Output> void Store(Output output, T (&input)[items], OPWRIGHT_EMULATION_HERE) {
    Store(output, input, threads * items, file, line);
  }
  template <class Output> void Store(Output output, T (&input)[items], int valid, OPWRIGHT_EMULATION_HERE) {
    const detail::Use use(in_warps ? storage_ : nullptr, sizeof(TempStorage), detail::whole_block, file, line);
    if constexpr (exchanges) detail::exchange_of<Exchange>(storage_).BlockedToStriped(input, file, line);
    for (int i = 0; i < items; ++i)
      if (place(i) < valid) output[place(i)] = input[i];
  }

 private:
  static int place(int i) {
    return exchanges || algorithm == BLOCK_STORE_STRIPED ? detail::striped(i, items, threads)
                                                         : detail::blocked(i, items, threads);
  }
  TempStorage *storage_ = nullptr;
};

}  // namespace cub
#endif
