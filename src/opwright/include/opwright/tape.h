/* Dual<S, taped>: a number that notes on a tape what it was made of, for the reverse mode of kernels as they are.
 *
 * It is the dual number whose derivatives aren't carried along: `index` says where on the tape it stands, and each entry there
 * has the indices of up to two numbers with the slopes by them. So every rule of dual_math.h holds: a rule gives slopes, and
 * `chain` writes them down. Index 0 is a constant; zeroed memory is zeros that are constants. S is float or double, a
 * Dual<S, 1> for the second order, or Lanes of them (lanes.h).
 */
#ifndef OPWRIGHT_TAPE_H
#define OPWRIGHT_TAPE_H

#include "check.h"
#include "dual.h"
#include "parallel.h"
#include "taped_memory.h"

/* The memory that the tape of one thread may take; a row of a `batched` operator, or a whole call, has a tape. */
#ifndef OPWRIGHT_TAPE_MIB
#define OPWRIGHT_TAPE_MIB 1024
#endif

namespace opwright {

namespace detail {

/* What a product of matrices leaves on the tape: a function that adds to the adjoints of what it was made of. */
template <class S>
struct TapeBlock {
  uint32_t first, count; /* the entries that it made */
  void *data;
  void (*sweep)(void *data, const S *results, S *adjoints);
  void (*release)(void *data);
  TapeBlock *before;
};

/* Entries: entry k of the tape has index `first` + k; those below are the variables. */
template <class S>
class Tape {
 public:
  struct Parents { uint32_t a, b; };

  Tape() = default;
  Tape(const Tape &) = delete;
  Tape &operator=(const Tape &) = delete;
  ~Tape() { drop(); }

  /* Begins anew, with the indices below `first` for variables. */
  void clear(uint32_t first) {
    drop();
    first_ = next_ = first;
    if (room_ == 0) grow(1024);
    end_ = first_ + room_;
  }
  OPWRIGHT_INLINE uint32_t note(uint32_t a, const S &by_a, uint32_t b, const S &by_b) {
    const uint32_t at = next_;
    if (__builtin_expect((at >= end_) | (a >= at) | (b >= at), 0)) mend(a, b);
    const uint32_t k = at - first_;
    parents_[k] = {a, b}, by_a_[k] = by_a, by_b_[k] = by_b;
    return next_ = at + 1, at;
  }
  uint32_t next() const { return next_; }

  void add(uint32_t first, uint32_t count, void *data, void (*sweep)(void *, const S *, S *), void (*release)(void *)) {
    blocks_ = new TapeBlock<S>{first, count, data, sweep, release, blocks_};
  }

  /* The adjoints of all indices, zeros: those of results are added to before the sweep, those of variables are its result. */
  S *adjoints() {
    adjoints_ = adjoint_memory_.template room<S>(next_);
    for (uint32_t i = 0; i < next_; ++i) adjoints_[i] = S(0);
    return adjoints_;
  }
  void sweep() {
    TapeBlock<S> *block = blocks_;
    uint32_t k = next_;
    while (true) {
      const uint32_t stop = block ? block->first : first_;
      for (; k > stop; --k) pass(k - 1);
      if (!block) return;
      block->sweep(block->data, adjoints_ + block->first, adjoints_);
      block = block->before;
    }
  }

 private:
  OPWRIGHT_INLINE void pass(uint32_t index) {
    const uint32_t k = index - first_;
    const S adjoint = adjoints_[index];
    const Parents of = parents_[k];
    adjoints_[of.a] = adjoints_[of.a] + times(by_a_[k], adjoint);
    if (of.b) adjoints_[of.b] = adjoints_[of.b] + times(by_b_[k], adjoint);
  }
  void drop() {
    while (TapeBlock<S> *const block = blocks_) {
      blocks_ = block->before;
      block->release(block->data);
      delete block;
    }
  }
  __attribute__((noinline)) void mend(uint32_t a, uint32_t b) {
    if (a >= next_ || b >= next_)
      refuse(
          "the kernel computes with a number that was never set, or that another call left behind\n"
          "  likely fix: set every variable before it is read, T sum = 0; keep nothing from one call for the next");
    grow(room_ * 2);
    end_ = first_ + room_;
  }
  void grow(uint32_t room) {
    constexpr size_t each = sizeof(Parents) + 2 * sizeof(S);
    if (size_t(room) * (each + sizeof(S)) > size_t(OPWRIGHT_TAPE_MIB) << 20)
      refuse("the tape is larger than ", OPWRIGHT_TAPE_MIB,
             " MiB: each operation of the kernel is kept until the gradients are known\n"
             "  likely fix: `batched` in the signature, if rows are independent: then a few rows at a time are taped; "
             "smaller calls; a handwritten backward; or a larger bound: -DOPWRIGHT_TAPE_MIB=",
             4 * OPWRIGHT_TAPE_MIB);
    Room larger;
    S *const by_a = reinterpret_cast<S *>(larger.room<char>(int64_t(room * each))), *const by_b = by_a + room;
    Parents *const parents = reinterpret_cast<Parents *>(by_b + room);
    if (const size_t n = next_ - first_) {
      __builtin_memcpy(static_cast<void *>(by_a), static_cast<const void *>(by_a_), n * sizeof(S));
      __builtin_memcpy(static_cast<void *>(by_b), static_cast<const void *>(by_b_), n * sizeof(S));
      __builtin_memcpy(static_cast<void *>(parents), parents_, n * sizeof(Parents));
    }
    memory_.swap(larger);
    by_a_ = by_a, by_b_ = by_b, parents_ = parents, room_ = room;
  }

  uint32_t first_ = 1, next_ = 1, end_ = 1, room_ = 0;
  Room memory_, adjoint_memory_;
  S *by_a_ = nullptr, *by_b_ = nullptr, *adjoints_ = nullptr;
  Parents *parents_ = nullptr;
  TapeBlock<S> *blocks_ = nullptr;
};

template <class S>
OPWRIGHT_INLINE Tape<S> &tape_of_thread() {
  return *static_cast<Tape<S> *>(current_tape);
}

}  // namespace detail

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
};

namespace detail {

/* The chain rule, written down. */
template <class S>
OPWRIGHT_INLINE Dual<S, taped> chain(const Dual<S, taped> &x, const S &value, const S &slope) {
  return {value, x.index ? tape_of_thread<S>().note(x.index, slope, 0, slope) : 0};
}
template <class S>
OPWRIGHT_INLINE Dual<S, taped> chain(const Dual<S, taped> &a, const Dual<S, taped> &b, const S &value,
                                     const S &slope_a, const S &slope_b) {
  if (!b.index) return chain(a, value, slope_a);
  if (!a.index) return chain(b, value, slope_b);
  return {value, tape_of_thread<S>().note(a.index, slope_a, b.index, slope_b)};
}

/* Of two, by a comparison: a bool takes one as it is; lanes take from both. */
template <class S>
OPWRIGHT_INLINE Dual<S, taped> select(bool first, const Dual<S, taped> &a, const Dual<S, taped> &b) {
  return first ? a : b;
}

}  // namespace detail

#define OPWRIGHT_TAPED template <class S> OPWRIGHT_INLINE Dual<S, taped>
#define OPWRIGHT_TAPED_AND_NUMBER template <class S, class A, class = detail::if_number<A>> OPWRIGHT_INLINE Dual<S, taped>

OPWRIGHT_TAPED operator-(const Dual<S, taped> &x) { return detail::chain(x, S(-x.value), S(-1)); }
OPWRIGHT_TAPED operator+(const Dual<S, taped> &a, const Dual<S, taped> &b) {
  const S sum = a.value + b.value;
  if (!b.index) return {sum, a.index};
  if (!a.index) return {sum, b.index};
  return detail::chain(a, b, sum, S(1), S(1));
}
OPWRIGHT_TAPED operator-(const Dual<S, taped> &a, const Dual<S, taped> &b) {
  const S difference = a.value - b.value;
  if (!b.index) return {difference, a.index};
  return detail::chain(a, b, difference, S(1), S(-1));
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
#define OPWRIGHT_EXTREMUM(name, op)                                                             \
  OPWRIGHT_TAPED name(const Dual<S, taped> &a, const Dual<S, taped> &b) {                       \
    const S zero = 0, one = 1, half_each = 0.5;                                                 \
    const S of_a = detail::select(a.value op b.value, zero, one);                               \
    const S of_b = detail::select(b.value op a.value, zero, one);                               \
    const auto equal = a.value == b.value;                                                      \
    return detail::chain(a, b, S(name(a.value, b.value)), detail::select(equal, half_each, of_a), \
                         detail::select(equal, half_each, of_b));                               \
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
