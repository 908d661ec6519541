/* cub::BlockRadixSort. */
#ifndef OPWRIGHT_EMULATION_CUB_SORT_H
#define OPWRIGHT_EMULATION_CUB_SORT_H

#include "move.h"

namespace cub {

template <class K, int X, int items, class V = NullType, int = 4, bool = true,
          BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS, int = 0, int Y = 1, int Z = 1, int = 0>
class BlockRadixSort {
  static constexpr int threads = X * Y * Z, count = threads * items;
  static constexpr bool pairs = !__is_same(V, NullType);
  struct Layout {
    Uninitialized<K> keys[count];
    Uninitialized<V> values[pairs ? count : 1];
    unsigned short from[count], other[count];
  };

 public:
  /* The layout here can be larger than cub's. */
  struct TempStorage
      : detail::Storage<detail::up(detail::most(sizeof(Layout), detail::sort_bytes<K, V, items, threads>()), 16),
                        detail::alignment_of<K>> {};
  BlockRadixSort() : layout_(detail::own_storage<Layout>()) {}
  BlockRadixSort(TempStorage &storage) : layout_(storage.template as<Layout>()) {}

#define OPWRIGHT_EMULATION_SORT(name, descending, place)                                               \
  void name(K(&keys)[items], int begin = 0, int end = detail::Key<K>::bits, OPWRIGHT_EMULATION_HERE) { \
    sort(keys, static_cast<V(*)[items]>(nullptr), begin, end, descending, place, file, line);          \
  }                                                                                                    \
  void name(K(&keys)[items], V(&values)[items], int begin = 0, int end = detail::Key<K>::bits,         \
            OPWRIGHT_EMULATION_HERE) {                                                                 \
    sort(keys, &values, begin, end, descending, place, file, line);                                    \
  }
  OPWRIGHT_EMULATION_SORT(Sort, false, detail::blocked)
  OPWRIGHT_EMULATION_SORT(SortDescending, true, detail::blocked)
  OPWRIGHT_EMULATION_SORT(SortBlockedToStriped, false, detail::striped)
  OPWRIGHT_EMULATION_SORT(SortDescendingBlockedToStriped, true, detail::striped)
#undef OPWRIGHT_EMULATION_SORT

 private:
  void sort(K (&keys)[items], V (*values)[items], int begin, int end, bool descending, int (*place)(int, int, int),
            const char *file, int line) {
    const detail::Use use(&layout_, sizeof(layout_), detail::whole_block, file, line);
    for (int i = 0; i < items; ++i) {
      const int at = detail::blocked(i, items, threads);
      layout_.keys[at].Alias() = keys[i];
      if (values) layout_.values[at].Alias() = (*values)[i];
    }
    detail::wait(file, line);
    if (detail::linear_index() == 0)
      detail::sort_indices(reinterpret_cast<const K *>(layout_.keys), layout_.from, layout_.other, count, begin, end,
                           descending);
    detail::wait(file, line);
    for (int i = 0; i < items; ++i) {
      const int from = layout_.from[place(i, items, threads)];
      keys[i] = layout_.keys[from].Alias();
      if (values) (*values)[i] = layout_.values[from].Alias();
    }
  }
  Layout &layout_;
};

}  // namespace cub
#endif
