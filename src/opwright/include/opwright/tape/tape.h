/* Dual<S, taped>: a number that notes on a tape what it was made of, for the reverse mode of kernels as they are.
 *
 * It is the dual number whose derivatives aren't carried along: `index` says where on the tape it stands, and each entry there
 * has the indices of up to two numbers with the slopes by them. So every rule of dual_math.h holds: a rule gives slopes, and
 * `chain` writes them down. Index 0 is a constant; zeroed memory is zeros that are constants. S is float or double, a
 * Dual<S, 1> for the second order, or Lanes of them (lanes.h).
 */
#ifndef OPWRIGHT_TAPE_H
#define OPWRIGHT_TAPE_H

#include "../check.h"
#include "../dual.h"
#include "../services/parallel.h"
#include "sparse_input.h"
#include "taped_memory.h"

/* The memory that the tape of one thread may take; a row of a `batched` operator, a slice along independent axes, or several of
 * them in lanes, have a tape; otherwise a whole call has. */
#ifndef OPWRIGHT_TAPE_MIB
#define OPWRIGHT_TAPE_MIB 1024
#endif

/* 1: the environment variable of this name, where it is "1" during a call, asks for sums of magnitudes instead of adjoints: what
 * rounding errors of the gradients are proportional to (`opwright check`). */
#ifndef OPWRIGHT_TAPE_MAGNITUDES
#define OPWRIGHT_TAPE_MAGNITUDES 0
#endif
#if OPWRIGHT_TAPE_MAGNITUDES
#include <stdlib.h>
#endif

namespace opwright {

namespace detail {

#if OPWRIGHT_TAPE_MAGNITUDES
inline bool magnitudes_wanted() {
  const char *const said = getenv("OPWRIGHT_TAPE_MAGNITUDES");
  return said && *said == '1';
}
static bool sums_magnitudes = false; /* of the sweep that runs */
#else
constexpr bool sums_magnitudes = false;
#endif

/* A slope as the sweep takes it. */
template <class S>
OPWRIGHT_INLINE S swept(const S &slope) {
  if (sums_magnitudes) return select(slope < S(0), S(-slope), slope);
  else return slope;
}

/* What a product leaves on the tape: a function that adds to the adjoints of what it was made of. */
template <class S>
struct TapeBlock {
  uint32_t first, count; /* the indices of what it made */
  void (*sweep)(const void *data, const S *results, S *adjoints);
  TapeBlock *before;
  alignas(16) char data[1]; /* what `sweep` gets follows */
};

/* What an input that the kernel can't change holds while it runs. */
template <class S>
struct TapedInput {
  const char *begin, *end; /* its numbers, one beside the other */
  const void *plain;       /* the same as plain numbers, if they are the same in all lanes; or null */
  SparseInput<S> *sparse;  /* if only what is read is turned into numbers; or null */
};

/* What a parent's slope is, above the bits of its index: the next one on the stack of slopes, or 1, or -1, which sums have. */
constexpr uint32_t stored = 0, plus = uint32_t(1) << 30, minus = uint32_t(2) << 30, index_bits = plus - 1;

/* How often a number was noted in a thread that has no tape, by any call. One per library, as `host`. */
inline uint64_t strays = 0;
inline void count_stray() { __atomic_fetch_add(&strays, 1, __ATOMIC_RELAXED); }

/* Its entries have indices from `first` on, those below are the variables'. Blocks have indices and no entries. */
template <class S>
class Tape {
 public:
  struct Parents { uint32_t a, b; };

  Tape() = default;
  Tape(const Tape &) = delete;
  Tape &operator=(const Tape &) = delete;

  /* Begins anew, with the indices below `first` for variables. */
  void clear(uint32_t first) {
    drop();
    strays_ = __atomic_load_n(&strays, __ATOMIC_RELAXED);
    if (!entry_room_) grow(entries_, entry_room_, 0), grow(slopes_, slope_room_, 0);
    first_ = next_ = first, used_ = noted_ = 0;
    parents_ = static_cast<Parents *>(entries_.data()), slope_ = static_cast<S *>(slopes_.data());
  }
  /* A number made of a and b, with the slopes by them; 0: of nothing. */
  OPWRIGHT_INLINE uint32_t note(uint32_t a, const S &by_a, uint32_t b, const S &by_b) {
    const uint32_t at = begin(a, b);
    slope_[used_] = by_a, slope_[used_ + 1] = by_b;
    used_ += 2;
    return end(at, a, b);
  }
  OPWRIGHT_INLINE uint32_t note(uint32_t a, const S &by_a) {
    const uint32_t at = begin(a, 0);
    slope_[used_++] = by_a;
    return end(at, a, plus);
  }
  /* A sum or a difference: the signs are `plus` or `minus`. */
  OPWRIGHT_INLINE uint32_t note_sum(uint32_t a, uint32_t sign_a, uint32_t b, uint32_t sign_b) {
    return end(begin(a, b), a | sign_a, b | sign_b);
  }
  /* Refuses an index that no number has which was made since `clear`. */
  OPWRIGHT_INLINE void check(uint32_t index) const {
    if (__builtin_expect(index >= next_, 0)) unknown();
  }
  /* Refuses what threads without a tape have computed since `clear`. */
  void check_threads() const {
    if (strays_ != __atomic_load_n(&strays, __ATOMIC_RELAXED))
      refuse(
          "the kernel computes on threads of its own, which have no tape for its gradient\n"
          "  likely fix: parallel_for in the place of std::thread or OpenMP; or a handwritten backward");
  }
  /* Begins anew for a number that is lost, in a thread that can't refuse it: an exception there ends the process. */
  void clear_for_stray() {
    clear(index_bits >> 1);
    is_stray_ = true;
  }

  /* Makes a block of `count` results and returns the index of the first; `data`: what its function gets. */
  template <class Data>
  uint32_t add(int64_t count, const Data &data) {
    static_assert(__is_trivially_copyable(Data), "nothing destroys it");
    if (uint64_t(count) + next_ + (entry_room_ - noted_) >= index_bits) too_large();
    TapeBlock<S> *const block = static_cast<TapeBlock<S> *>(memory(sizeof(TapeBlock<S>) - 16 + sizeof(Data)));
    const uint32_t at = next_;
    block->first = at, block->count = uint32_t(count), block->sweep = &Data::sweep, block->before = blocks_;
    __builtin_memcpy(block->data, static_cast<const void *>(&data), sizeof(Data));
    blocks_ = block, next_ += uint32_t(count), in_blocks_ += uint64_t(count);
    require(pages_.bytes(), 0, 0); /* the adjoints of its results: what it keeps may fit into a page */
    return at;
  }
  /* Memory of a block, until the tape is cleared. */
  void *memory(int64_t bytes) {
    return pages_.take(bytes, [&](uint64_t all) { require(all, 0, 0); });
  }

  /* Those of inputs that are sparse come first, and `sparse_count` says how many there are. */
  TapedInput<S> inputs[64];
  int input_count = 0, sparse_count = 0;
  /* How many variables, the first ones, are theirs: the same while the tape lives. */
  uint32_t sparse_variables = 0;

  /* The sparse input that a number is part of, or null. */
  OPWRIGHT_INLINE SparseInput<S> *sparse_at(const void *number) const {
    for (int i = 0; i < sparse_count; ++i)
      if (number >= inputs[i].begin && number < inputs[i].end) return inputs[i].sparse;
    return nullptr;
  }

  /* The adjoints of all indices: those of results are added to before the sweep, those of variables are its result. All are
   * zeros, but the first `kept` variables, and those of sparse inputs, have what they had after the sweep before, until
   * `forget`. */
  S *adjoints(uint32_t kept = 0) {
    if (next_ > adjoint_room_) more_adjoints();
    const uint32_t stay = kept_ > sparse_variables ? kept_ : sparse_variables;
    adjoints_[0] = S(0);
    for (uint32_t i = 1 + stay; i < next_; ++i) adjoints_[i] = S(0);
    kept_ = kept;
    return adjoints_;
  }
  /* Of sparse inputs those become zeros again that can be anything else. */
  void forget() {
    each_sparse([&](uint32_t begin, uint32_t end) {
      for (uint32_t i = begin; i < end && i < adjoint_room_; ++i) adjoints_[i] = S(0);
    });
    kept_ = 0;
  }

  void sweep() {
#if OPWRIGHT_TAPE_MAGNITUDES
    __atomic_store_n(&sums_magnitudes, magnitudes_wanted(), __ATOMIC_RELAXED); /* the same in all threads */
#endif
    TapeBlock<S> *block = blocks_;
    const S *slope = slope_ + used_;
    const Parents *entry = parents_ + noted_;
    for (uint32_t index = next_;;) {
      const uint32_t stop = block ? block->first + block->count : first_;
      for (; index > stop; --index) {
        const S adjoint = adjoints_[index - 1];
        const Parents of = *--entry;
        spread(of.b, slope, adjoint);
        spread(of.a, slope, adjoint);
      }
      if (!block) return;
      block->sweep(block->data, adjoints_ + block->first, adjoints_);
      index = block->first, block = block->before;
    }
  }

 private:
  OPWRIGHT_INLINE uint32_t begin(uint32_t a, uint32_t b) {
    const uint32_t at = next_;
    if (__builtin_expect((noted_ >= entry_room_) | (used_ + 2 > slope_room_) | (a >= at) | (b >= at), 0)) mend(a, b);
    return at;
  }
  OPWRIGHT_INLINE uint32_t end(uint32_t at, uint32_t a, uint32_t b) {
    parents_[noted_++] = {a, b};
    return next_ = at + 1, at;
  }
  /* Calls run(begin, end) for the indices of variables that what was read of sparse inputs has. */
  template <class F>
  void each_sparse(const F &run) const {
    for (int i = 0; i < sparse_count; ++i)
      if (const uint32_t first = inputs[i].sparse->first())
        inputs[i].sparse->each_turned(
            [&](int64_t begin, int64_t end) { run(uint32_t(first + begin), uint32_t(first + end)); });
  }
  void more_adjoints() {
    if (!sparse_variables) {
      Room larger;
      S *const to = larger.template room<S>(next_);
      if (kept_) __builtin_memcpy(static_cast<void *>(to), adjoints_, (1 + kept_) * sizeof(S));
      adjoint_memory_.swap(larger), adjoint_room_ = next_, adjoints_ = to;
      return;
    }
    const uint32_t others = next_ - sparse_variables, room = next_ + others / 2;
    Reserved larger;
    S *const to = larger.template zeros<S>(room);
    const auto copy = [&](uint32_t begin, uint32_t end) {
      if (end > begin) __builtin_memcpy(static_cast<void *>(to + begin), adjoints_ + begin, (end - begin) * sizeof(S));
    };
    if (adjoints_) each_sparse(copy), copy(1 + sparse_variables, 1 + kept_);
    adjoint_pages_.swap(larger), adjoint_room_ = room, adjoints_ = to;
  }
  OPWRIGHT_INLINE void spread(uint32_t parent, const S *&slope, const S &adjoint) {
    S &to = adjoints_[parent & index_bits];
    if (parent < plus) to = to + times(swept(*--slope), adjoint);
    else if (parent == plus) return;
    else if (parent < minus || sums_magnitudes) to = to + adjoint;
    else to = to - adjoint;
  }
  void drop() {
    blocks_ = nullptr, in_blocks_ = 0;
    pages_.clear();
  }
  __attribute__((noinline)) void mend(uint32_t a, uint32_t b) {
    check(a), check(b);
    if (noted_ >= entry_room_) grow(entries_, entry_room_, noted_ * sizeof(Parents));
    if (used_ + 2 > slope_room_) grow(slopes_, slope_room_, used_ * sizeof(S));
    parents_ = static_cast<Parents *>(entries_.data()), slope_ = static_cast<S *>(slopes_.data());
  }
  __attribute__((noinline)) void unknown() const {
    if (is_stray_) return;
    check_threads();
    refuse(
        "the kernel computes with a number that was never set, or that another call left behind\n"
        "  likely fix: set every variable before it is read, T sum = 0; keep nothing from one call for the next");
  }
  /* Twice as much memory, which begins with the first `bytes` of what there was. */
  void grow(Room &memory, uint32_t &room, size_t bytes) {
    const uint64_t entries = &memory == &entries_ ? (room ? uint64_t(room) * 2 : 1024) : entry_room_;
    const uint64_t slopes = &memory == &slopes_ ? (room ? uint64_t(room) * 2 : 1024) : slope_room_;
    require(pages_.bytes(), entries, slopes);
    room = uint32_t(&memory == &entries_ ? entries : slopes);
    Room larger;
    void *const to = larger.room<char>(int64_t(room * (&memory == &entries_ ? sizeof(Parents) : sizeof(S))));
    if (bytes) __builtin_memcpy(to, memory.data(), bytes);
    memory.swap(larger);
  }

  /* Requires that the tape's memory, with so much of it, isn't more than it may take. */
  void require(uint64_t in_pages, uint64_t entries, uint64_t slopes) {
    if (!entries) entries = entry_room_, slopes = slope_room_;
    const uint64_t all = in_pages + entries * (sizeof(Parents) + sizeof(S)) + (slopes + in_blocks_) * sizeof(S);
    if (all > uint64_t(OPWRIGHT_TAPE_MIB) << 20 || first_ + entries + in_blocks_ >= index_bits) too_large();
  }
  [[noreturn]] __attribute__((noinline)) static void too_large() {
    refuse("the tape is larger than ", OPWRIGHT_TAPE_MIB,
           " MiB: each operation of the kernel is kept until the gradients are known\n"
           "  likely fix: `batched` or `independent N` in the signature, where rows or slices are independent: then "
           "a few at a time are taped; smaller calls; a handwritten backward; or a larger bound: -DOPWRIGHT_TAPE_MIB=",
           4 * OPWRIGHT_TAPE_MIB);
  }

  uint32_t first_ = 1, next_ = 1, used_ = 0, noted_ = 0, entry_room_ = 0, slope_room_ = 0;
  uint32_t adjoint_room_ = 0, kept_ = 0;
  uint64_t in_blocks_ = 0;
  Pages pages_;
  Room entries_, slopes_, adjoint_memory_;
  Reserved adjoint_pages_; /* in its place where inputs are sparse */
  Parents *parents_ = nullptr;
  S *slope_ = nullptr, *adjoints_ = nullptr;
  TapeBlock<S> *blocks_ = nullptr;
  uint64_t strays_ = 0;
  bool is_stray_ = false;
};

/* For a thread that the kernel started itself: one number after the other is noted, and counted, so that the call fails when
 * the kernel has returned. */
template <class S>
__attribute__((noinline, cold)) Tape<S> &tape_of_stray() {
  static thread_local Tape<S> tape;
  tape.clear_for_stray();
  count_stray();
  return tape;
}

template <class S>
OPWRIGHT_INLINE Tape<S> &tape_of_thread() {
  return __builtin_expect(!current_tape, 0) ? tape_of_stray<S>() : *static_cast<Tape<S> *>(current_tape);
}
template <class S>
OPWRIGHT_INLINE SparseInput<S> *sparse_input_at(const void *number) {
  return current_tape ? tape_of_thread<S>().sparse_at(number) : nullptr;
}

}  // namespace detail

namespace views {

template <class S>
struct Reading<const Dual<S, taped>> {
  using T = const Dual<S, taped>;
  Reading() = default;
  explicit Reading(T *data) : input(detail::sparse_input_at<S>(data)) {}
  OPWRIGHT_INLINE void read(T *number) const {
    if (input) input->read(number);
  }
  void read(T *low, T *high) const {
    if (input) input->read(low, high);
  }
  void read_all() const {
    if (input) input->read_all();
  }
  detail::SparseInput<S> *input = nullptr;
};

}  // namespace views

template <class S>
struct Dual<S, taped> {
  using Scalar = S;
  static constexpr int partials = 0;

  S value;
  uint32_t index;

  OPWRIGHT_INLINE Dual() : value(detail::base<S>(0)), index(0) {}
  OPWRIGHT_INLINE Dual(const S &number, uint32_t at) : value(number), index(at) {}
  template <class A, class = detail::if_number<A>>
  OPWRIGHT_INLINE Dual(A number) : value(static_cast<detail::base<S>>(number)), index(0) {}
  template <class W, class = detail::if_number<W>>
  explicit OPWRIGHT_INLINE operator W() const {
    static_assert(!detail::is_floating<W>::value,
                  "this conversion would lose the derivative: "
                  "write T(x) for the number itself, value_of(x) for its value");
    return static_cast<W>(value);
  }
  /* Who has the address of an element can read any. */
  OPWRIGHT_INLINE Dual *operator&() { return this; }
  OPWRIGHT_INLINE const Dual *operator&() const { return detail::all_read(this); }
};

}  // namespace opwright
namespace std { /* It goes past that operator, and compilers know it by its name: `&x` it has to be. */
template <class S>
const opwright::Dual<S, opwright::taped> *addressof(const opwright::Dual<S, opwright::taped> &x) noexcept = delete;
}  // namespace std
namespace opwright {

namespace detail {

/* The chain rule, written down. */
template <class S>
OPWRIGHT_INLINE Dual<S, taped> chain(const Dual<S, taped> &x, const S &value, const S &slope) {
  return {value, x.index ? tape_of_thread<S>().note(x.index, slope) : 0};
}
template <class S>
OPWRIGHT_INLINE Dual<S, taped> chain(const Dual<S, taped> &a, const Dual<S, taped> &b, const S &value, const S &slope_a,
                                     const S &slope_b) {
  if (!b.index) return chain(a, value, slope_a);
  if (!a.index) return chain(b, value, slope_b);
  if (!OPWRIGHT_TAPE_MAGNITUDES && a.index == b.index) return chain(a, value, S(slope_a + slope_b));
  return {value, tape_of_thread<S>().note(a.index, slope_a, b.index, slope_b)};
}

/* Of two, by a comparison: a bool takes one as it is; lanes take from both. */
template <class S>
OPWRIGHT_INLINE Dual<S, taped> select(bool first, const Dual<S, taped> &a, const Dual<S, taped> &b) {
  return first ? a : b;
}

}  // namespace detail

#define OPWRIGHT_TAPED template <class S> OPWRIGHT_INLINE Dual<S, taped>
#define OPWRIGHT_TAPED_AND_NUMBER \
  template <class S, class A, class = detail::if_number<A>> OPWRIGHT_INLINE Dual<S, taped>

OPWRIGHT_TAPED operator-(const Dual<S, taped> &x) {
  using namespace detail;
  return {-x.value, x.index ? tape_of_thread<S>().note_sum(x.index, minus, 0, plus) : 0};
}
OPWRIGHT_TAPED operator+(const Dual<S, taped> &a, const Dual<S, taped> &b) {
  using namespace detail;
  const S sum = a.value + b.value;
  if (!b.index) return {sum, a.index};
  if (!a.index) return {sum, b.index};
  return {sum, tape_of_thread<S>().note_sum(a.index, plus, b.index, plus)};
}
OPWRIGHT_TAPED operator-(const Dual<S, taped> &a, const Dual<S, taped> &b) {
  using namespace detail;
  const S difference = a.value - b.value;
  if (!b.index) return {difference, a.index};
  return {difference, tape_of_thread<S>().note_sum(a.index, plus, b.index, minus)};
}
OPWRIGHT_TAPED_AND_NUMBER operator*(const Dual<S, taped> &x, A number) {
  const detail::base<S> factor = static_cast<detail::base<S>>(number);
  return detail::chain(x, S(x.value * factor), S(factor));
}
OPWRIGHT_TAPED_AND_NUMBER operator*(A number, const Dual<S, taped> &x) { return x * number; }
OPWRIGHT_TAPED_AND_NUMBER operator/(const Dual<S, taped> &x, A number) {
  const detail::base<S> divisor = static_cast<detail::base<S>>(number);
  return detail::chain(x, S(x.value / divisor), S(detail::base<S>(1) / divisor));
}

/* PyTorch's convention, as dual_select.h has it: half for each of two that are equal; of NaN all for both. */
#define OPWRIGHT_EXTREMUM(name, op)                                                               \
  OPWRIGHT_TAPED name(const Dual<S, taped> &a, const Dual<S, taped> &b) {                         \
    const S zero = 0, one = 1, half_each = 0.5;                                                   \
    const S of_a = detail::select(a.value op b.value, zero, one);                                 \
    const S of_b = detail::select(b.value op a.value, zero, one);                                 \
    const auto equal = a.value == b.value;                                                        \
    return detail::chain(a, b, S(name(a.value, b.value)), detail::select(equal, half_each, of_a), \
                         detail::select(equal, half_each, of_b));                                 \
  }
OPWRIGHT_EXTREMUM(min, >)
OPWRIGHT_EXTREMUM(max, <)
#undef OPWRIGHT_EXTREMUM

OPWRIGHT_TAPED clamp(const Dual<S, taped> &x, const Dual<S, taped> &low, const Dual<S, taped> &high) {
  return detail::clamped(x, low, high);
}
OPWRIGHT_TAPED stop_gradient(const Dual<S, taped> &x) { return {stop_gradient(x.value), 0}; }

#undef OPWRIGHT_TAPED
#undef OPWRIGHT_TAPED_AND_NUMBER

}  // namespace opwright
#endif
