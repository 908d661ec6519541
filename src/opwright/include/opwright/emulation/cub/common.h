/* Operators, enumerations and small types of cub. */
#ifndef OPWRIGHT_EMULATION_CUB_COMMON_H
#define OPWRIGHT_EMULATION_CUB_COMMON_H

#include "../groups/exchange.h"

namespace cub {

struct Sum {
  template <class T> T operator()(const T &a, const T &b) const { return T(a + b); }
};
struct Difference {
  template <class T> T operator()(const T &a, const T &b) const { return T(a - b); }
};
struct Max {
  template <class T> T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
struct Min {
  template <class T> T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};
struct Equality {
  template <class T> bool operator()(const T &a, const T &b) const { return a == b; }
};
struct Inequality {
  template <class T> bool operator()(const T &a, const T &b) const { return !(a == b); }
};

template <class Key_, class Value_>
struct KeyValuePair {
  using Key = Key_;
  using Value = Value_;
  Key key;
  Value value;
};
struct ArgMax {
  template <class Pair> Pair operator()(const Pair &a, const Pair &b) const {
    return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class Pair> Pair operator()(const Pair &a, const Pair &b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

struct NullType {};

template <class T>
struct DoubleBuffer {
  T *d_buffers[2];
  int selector;
  DoubleBuffer(T *current = nullptr, T *alternate = nullptr) : d_buffers{current, alternate}, selector(0) {}
  T *Current() { return d_buffers[selector]; }
  T *Alternate() { return d_buffers[selector ^ 1]; }
};

inline unsigned LaneId() { return opwright::emulation::lane_index(); }
inline unsigned WarpId() { return opwright::emulation::linear_index() / 32; }
inline int RowMajorTid(int, int, int) { return int(opwright::emulation::linear_index()); }

/* Shared memory that isn't constructed: what every TempStorage is. */
template <class T>
struct Uninitialized {
  alignas(T) char memory[sizeof(T)];
  T &Alias() { return *reinterpret_cast<T *>(memory); }
};

namespace detail {

using opwright::emulation::linear_index;

inline void wait(const char *file, int line) { opwright::emulation::barrier(file, line); }

/* What a block primitive keeps in shared memory: the caller's, or, constructed without it, one that its type shares. */
template <class Layout>
struct Private {
  Layout layout;
  static constexpr const char *names() { return "cub's own storage"; }
};
template <class Layout>
inline Layout &own_storage() {
  return opwright::emulation::shared<Private<Layout>>().layout;
}

template <int items, class T, class Operation>
inline T fold(const T (&input)[items], Operation operation) {
  T all = input[0];
  for (int i = 1; i < items; ++i) all = operation(all, input[i]);
  return all;
}

/* Unsigned integers that order as the keys do. */
template <class T> struct Key {
  using Word = typename opwright::emulation::Bits<sizeof(T)>::type;
  static constexpr int bits = int(8 * sizeof(T));
  static constexpr bool whole = __is_enum(T) || opwright::emulation::is_whole<T>::value || sizeof(T) == 1;
  static Word word(const T &key) {
    Word w;
    __builtin_memcpy(&w, &key, sizeof(T));
    const Word top = Word(Word(1) << (bits - 1));
    if constexpr (!whole) return short_whole() ? whole_word(w, top) : w & top ? Word(~w) : Word(w | top);
    else return whole_word(w, top);
  }

 private:
  static constexpr bool short_whole() { return __is_same(T, short) || __is_same(T, unsigned short); }
  static Word whole_word(Word w, Word top) { return T(-1) < T(0) ? Word(w ^ top) : w; }
};

template <class T>
inline unsigned digits(const T &key, int begin, int end, bool descending, int shift) {
  using Word = typename Key<T>::Word;
  const Word word = descending ? Word(~Key<T>::word(key)) : Key<T>::word(key);
  const int left = end - (begin + shift), width = left < 8 ? left : 8;
  return unsigned(word >> (begin + shift)) & ((1u << width) - 1);
}

/* The order of keys, stable: from[i] is where the i-th comes from. `other` is of the same length. */
template <class T, class Index>
inline void sort_indices(const T *keys, Index *from, Index *other, size_t count, int begin, int end, bool descending) {
  for (size_t i = 0; i < count; ++i) from[i] = Index(i);
  for (int shift = 0; begin + shift < end; shift += 8) {
    size_t places[257] = {};
    for (size_t i = 0; i < count; ++i) ++places[digits(keys[i], begin, end, descending, shift) + 1];
    for (int d = 0; d < 256; ++d) places[d + 1] += places[d];
    for (size_t i = 0; i < count; ++i) other[places[digits(keys[from[i]], begin, end, descending, shift)]++] = from[i];
    for (size_t i = 0; i < count; ++i) from[i] = other[i];
  }
}

}  // namespace detail
}  // namespace cub
#endif
