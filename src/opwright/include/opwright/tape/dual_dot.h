/* dot and axpby of numbers with derivatives, or of those and constants: of dual numbers by their sums; on a tape as one block.
 *
 * What a block keeps of a vector is where its values are and where they stand on the tape. Of an input of the call that is its
 * own memory, and the plain numbers where there are some; of others copies, and one index where those of the elements follow
 * one another.
 */
#ifndef OPWRIGHT_DUAL_DOT_H
#define OPWRIGHT_DUAL_DOT_H

#include "../services/dot.h"
#include "lanes.h"
#include "tape.h"

namespace opwright {
namespace detail {

template <class T, class = if_number<T>> OPWRIGHT_INLINE T number_in(const T &x) { return x; }
template <class S, int N> OPWRIGHT_INLINE const Dual<S, N> &number_in(const Dual<S, N> &x) { return x; }
template <class S> OPWRIGHT_INLINE const S &number_in(const Dual<S, taped> &x) { return x.value; }
template <class R, int W> OPWRIGHT_INLINE const Lanes<R, W> &number_in(const Lanes<R, W> &x) { return x; }

/* Memory for so many numbers: on the tape until it is cleared, if they are needed there. */
template <class S>
S *memory_for(int64_t count, bool on_tape, Room &room) {
  return on_tape ? static_cast<S *>(tape_of_thread<S>().memory(count * int64_t(sizeof(S))))
                 : room.template room<S>(count);
}

/* A vector, or the elements of a view, as a block keeps them. */
template <class S, int N>
struct TapedOperand {
  using T = Dual<S, taped>;
  using R = base<S>;
  enum Kind : uint8_t { plain, numbers, copies };

  const void *values;
  const uint32_t *indices; /* of the elements one after the other; null: element k of `values` has first + k */
  int64_t steps[N];
  uint32_t first;
  Kind kind;
  bool active, fixed; /* `fixed`: an input, which stays as it is */

  /* `stays`: whether that of an input may be read where it lies. */
  TapedOperand(const int64_t *sizes, const T *x, const int64_t *steps_of_x, bool stays = true)
      : values(x), indices(nullptr), first(x->index), kind(numbers), fixed(false) {
    const T *low = x, *high = x;
    for (int d = 0; d < N; ++d) {
      steps[d] = steps_of_x[d];
      (steps[d] < 0 ? low : high) += (sizes[d] - 1) * steps[d];
    }
    const Tape<S> &tape = tape_of_thread<S>();
    for (int i = 0; stays && i < tape.input_count && !fixed; ++i) {
      const TapedInput<S> &input = tape.inputs[i];
      if (reinterpret_cast<const char *>(low) < input.begin || reinterpret_cast<const char *>(high) >= input.end)
        continue;
      fixed = true;
      if (!input.plain) continue;
      kind = plain, values = static_cast<const R *>(input.plain) + (x - reinterpret_cast<const T *>(input.begin));
    }
    active = first != 0;
    if (fixed) return;
    uint32_t any = 0, largest = 0;
    each(sizes,
         [&](const T &number) { any |= number.index, largest = largest > number.index ? largest : number.index; });
    tape.check(largest);
    active = any != 0;
  }
  /* Plain numbers, as they are now: constants, copied to given memory. */
  template <class X>
  TapedOperand(const int64_t *sizes, const X *x, const int64_t *steps_of_x, S *to)
      : values(to), indices(nullptr), first(0), kind(copies), active(false), fixed(true) {
    const int64_t step = steps_of_x[N - 1];
    each_run<N>(sizes, steps_of_x, steps_of_x, [&](int64_t at, int64_t) {
      for (int64_t k = 0; k < sizes[N - 1]; ++k) *to++ = S(static_cast<R>(acc<X>(x[at + k * step])));
    });
    set_dense(sizes);
  }
  /* Copies what may change before the sweep: the values if they will be needed, and where they stand. */
  void keep(const int64_t *sizes, bool with_values) {
    if (fixed) return;
    int64_t count = 1;
    for (int d = 0; d < N; ++d) count *= sizes[d];
    S *const to = static_cast<S *>(with_values ? tape_of_thread<S>().memory(count * int64_t(sizeof(S))) : nullptr);
    keep(sizes, to, active);
  }
  /* The same to given memory. */
  void keep(const int64_t *sizes, S *to, bool with_indices) {
    int64_t count = 1, k = 0;
    for (int d = 0; d < N; ++d) count *= sizes[d];
    if (with_indices && active) {
      uint32_t next = first, others = 0;
      each(sizes, [&](const T &number) { others |= number.index ^ next++; });
      if (others) {
        uint32_t *place = static_cast<uint32_t *>(tape_of_thread<S>().memory(count * int64_t(sizeof(uint32_t))));
        indices = place;
        each(sizes, [&](const T &number) { *place++ = number.index; });
      }
    }
    if (to) {
      each(sizes, [&](const T &number) { to[k++] = number.value; });
      values = to;
    }
    kind = copies;
    set_dense(sizes);
  }
  /* Calls run(pointer to the value at an offset). */
  template <class F>
  OPWRIGHT_INLINE void at(int64_t offset, const F &run) const {
    if (kind == numbers) return run(static_cast<const T *>(values) + offset);
    if constexpr (!same_number<R, S>::value)
      if (kind == copies) return run(static_cast<const S *>(values) + offset);
    if constexpr (!is_dual<S>::value) run(static_cast<const R *>(values) + offset);
  }

 private:
  void set_dense(const int64_t *sizes) {
    int64_t step = 1;
    for (int d = N - 1; d >= 0; --d) steps[d] = step, step *= sizes[d];
  }
  template <class F>
  void each(const int64_t *sizes, const F &run) const {
    const T *const x = static_cast<const T *>(values);
    each_run<N>(sizes, steps, steps, [&](int64_t at, int64_t) {
      for (int64_t k = 0; k < sizes[N - 1]; ++k) run(x[at + k * steps[N - 1]]);
    });
  }
};

/* Numbers of one type as their own vectors: derived code is compiled without the compiler's (-O2). */
template <class S>
struct Wide {
  static constexpr int width = int(64 / sizeof(S));
  using Numbers = Lanes<S, width>;
  /* Read and written in one piece: copied by bytes it goes through the stack, in two. */
  typedef S Unaligned __attribute__((vector_size(64), aligned(sizeof(S)), may_alias));
  static OPWRIGHT_INLINE Numbers load(const S *from) {
    return Numbers(typename Numbers::Vector(*reinterpret_cast<const Unaligned *>(from)));
  }
  static OPWRIGHT_INLINE void store(S *to, const Numbers &x) {
    *reinterpret_cast<Unaligned *>(to) = typename Numbers::Vector(x.v);
  }
  static OPWRIGHT_INLINE S sum(const Numbers &x) {
    S all = 0;
    for (int k = 0; k < width; ++k) all += x.v[k];
    return all;
  }
};

/* What a sweep multiplies: a run of numbers, or one for all of a run. */
template <class X>
struct Run {
  const X *first;
  int64_t step;
  OPWRIGHT_INLINE decltype(auto) operator()(int64_t k) const { return number_in(first[k * step]); }
  OPWRIGHT_INLINE auto wide(int64_t k) const { return Wide<X>::load(first + k); }
  bool dense() const { return step == 1; }
};
template <class X>
OPWRIGHT_INLINE Run<X> run_of(const X *first, int64_t step) {
  return {first, step};
}
template <class X>
struct Same {
  X number;
  OPWRIGHT_INLINE const X &operator()(int64_t) const { return number; }
  OPWRIGHT_INLINE auto wide(int64_t) const { return typename Wide<X>::Numbers(number); }
  bool dense() const { return true; }
};
template <class S, class F> struct is_wide { static constexpr bool value = false; };
template <class S> struct is_wide<S, Run<S>> : is_floating<S> {};
template <class S> struct is_wide<S, Same<S>> : is_floating<S> {};

/* The sum of f(k) g(k), or of what f(k) carries over from the adjoint g(k). */
template <bool adjoints, class S, class F, class G>
OPWRIGHT_INLINE S products(int64_t n, const F &f, const G &g) {
  const auto product = [](const auto &a, const auto &b) __attribute__((always_inline)) {
    if constexpr (adjoints) return times(swept(a), b);
    else return a * b;
  };
  S few[4] = {S(0), S(0), S(0), S(0)};
  int64_t i = 0;
  if constexpr (is_wide<S, F>::value && is_wide<S, G>::value)
    if (f.dense() && g.dense() && n >= Wide<S>::width) {
      typename Wide<S>::Numbers sum = 0;
      for (; i + Wide<S>::width <= n; i += Wide<S>::width) sum = sum + product(f.wide(i), g.wide(i));
      few[0] = Wide<S>::sum(sum);
    }
  const auto add = [&](S &sum, int64_t k) __attribute__((always_inline)) { sum = sum + S(product(S(f(k)), S(g(k)))); };
  for (; i + 4 <= n; i += 4) add(few[0], i), add(few[1], i + 1), add(few[2], i + 2), add(few[3], i + 3);
  if (i < n) add(few[0], i);
  if (i + 1 < n) add(few[1], i + 1);
  if (i + 2 < n) add(few[2], i + 2);
  return (few[0] + few[1]) + (few[2] + few[3]);
}
/* Adds f(k) times g(k) to the adjoints of an operand's run from `offset` on. */
template <class S, int N, class F, class G>
OPWRIGHT_INLINE void spread(int64_t n, S *adjoints, const TapedOperand<S, N> &of, int64_t offset, const F &f,
                            const G &g) {
  if (of.indices) {
    const uint32_t *const at = of.indices + offset;
    for (int64_t k = 0; k < n; ++k) adjoints[at[k]] = adjoints[at[k]] + times(S(swept(S(f(k)))), g(k));
    return;
  }
  S *const to = adjoints + of.first + offset;
  const int64_t step = of.steps[N - 1];
  int64_t k = 0;
  if constexpr (is_wide<S, F>::value && is_wide<S, G>::value)
    if (step == 1 && f.dense() && g.dense())
      for (; k + Wide<S>::width <= n; k += Wide<S>::width)
        Wide<S>::store(to + k, Wide<S>::load(to + k) + times(swept(f.wide(k)), g.wide(k)));
  for (; k < n; ++k) to[k * step] = to[k * step] + times(S(swept(S(f(k)))), g(k));
}

/* A dot product on the tape. */
template <class S, int N>
struct DotBlock {
  int64_t sizes[N];
  TapedOperand<S, N> x, y;

  static void sweep(const void *data, const S *results, S *adjoints) {
    const DotBlock &self = *static_cast<const DotBlock *>(data);
    const S adjoint = results[0];
    if constexpr (is_floating<S>::value)
      if (adjoint == 0) return;
    if (self.x.active) add(self.sizes, self.x, self.y, adjoint, adjoints);
    if (self.y.active) add(self.sizes, self.y, self.x, adjoint, adjoints);
  }
  static void add(const int64_t *sizes, const TapedOperand<S, N> &to, const TapedOperand<S, N> &by, const S &adjoint,
                  S *adjoints) {
    by.at(0, [&](auto *value) {
      each_run<N>(sizes, to.steps, by.steps, [&](int64_t place, int64_t offset) __attribute__((always_inline)) {
        spread(sizes[N - 1], adjoints, to, place, run_of(value + offset, by.steps[N - 1]), Same<S>{adjoint});
      });
    });
  }
};

template <int N, class S>
Dual<S, taped> dot_on_tape(const int64_t *sizes, TapedOperand<S, N> a, TapedOperand<S, N> b) {
  S sum = S(0);
  const int64_t step_a = a.steps[N - 1], step_b = b.steps[N - 1];
  a.at(0, [&](auto *one) {
    b.at(0, [&](auto *other) {
      each_run<N>(sizes, a.steps, b.steps, [&](int64_t at_a, int64_t at_b) __attribute__((always_inline)) {
        sum = sum + products<false, S>(sizes[N - 1], run_of(one + at_a, step_a), run_of(other + at_b, step_b));
      });
    });
  });
  if (!a.active && !b.active) return {sum, 0};
  a.keep(sizes, b.active), b.keep(sizes, a.active);
  DotBlock<S, N> block{{}, a, b};
  for (int d = 0; d < N; ++d) block.sizes[d] = sizes[d];
  return {sum, tape_of_thread<S>().add(1, block)};
}
/* x may be constants. */
template <int N, class S, class X>
Dual<S, taped> dot_with(const int64_t *sizes, const X *x, const int64_t *incx, const Dual<S, taped> *y,
                        const int64_t *incy) {
  const TapedOperand<S, N> of_y(sizes, y, incy);
  if constexpr (is_dual<X>::value) {
    return dot_on_tape<N, S>(sizes, {sizes, x, incx}, of_y);
  } else {
    int64_t count = 1;
    for (int d = 0; d < N; ++d) count *= sizes[d];
    Room room;
    return dot_on_tape<N, S>(sizes, {sizes, x, incx, memory_for<S>(count, of_y.active, room)}, of_y);
  }
}
template <int N, class S, int P, class X>
Dual<S, P> dot_with(const int64_t *sizes, const X *x, const int64_t *incx, const Dual<S, P> *y, const int64_t *incy) {
  Dual<S, P> sum = 0;
  each_run<N>(sizes, incx, incy, [&](int64_t at_x, int64_t at_y) {
    for (int64_t k = 0; k < sizes[N - 1]; ++k) sum += acc<X>(x[at_x + k * incx[N - 1]]) * y[at_y + k * incy[N - 1]];
  });
  return sum;
}
template <int N, class X, class Y>
sum_of<X, Y> dot_of_duals(const int64_t *sizes, const X *x, const int64_t *incx, const Y *y, const int64_t *incy) {
  if constexpr (is_dual<Y>::value) return dot_with<N>(sizes, x, incx, y, incy);
  else return dot_with<N>(sizes, y, incy, x, incx);
}

/* y = a x + b y on the tape. */
template <class S>
struct AxpbyBlock {
  int64_t n;
  TapedOperand<S, 1> x, y; /* y as it was before */
  Dual<S, taped> a, b;

  static void sweep(const void *data, const S *results, S *adjoints) {
    const AxpbyBlock &self = *static_cast<const AxpbyBlock *>(data);
    const int64_t n = self.n;
    const Run<S> adjoint{results, 1};
    if (self.y.active) spread(n, adjoints, self.y, 0, Same<S>{self.b.value}, adjoint);
    if (self.x.active) spread(n, adjoints, self.x, 0, Same<S>{self.a.value}, adjoint);
    add(self.b, self.y, n, adjoint, adjoints);
    add(self.a, self.x, n, adjoint, adjoints);
  }
  static void add(const Dual<S, taped> &factor, const TapedOperand<S, 1> &of, int64_t n, const Run<S> &adjoint,
                  S *adjoints) {
    if (!factor.index) return;
    S &to = adjoints[factor.index];
    of.at(0, [&](auto *value) { to = to + products<true, S>(n, run_of(value, of.steps[0]), adjoint); });
  }
};

template <class S>
void axpby_on_tape(int64_t n, const Dual<S, taped> factor, const TapedOperand<S, 1> &of_x, const Dual<S, taped> share,
                   Dual<S, taped> *y, int64_t incy) {
  Tape<S> &tape = tape_of_thread<S>();
  tape.check(factor.index), tape.check(share.index);
  const TapedOperand<S, 1> of_y(&n, y, &incy);
  const auto compute = [&](uint32_t first, uint32_t next) {
    of_x.at(0, [&](auto *value) {
      for (int64_t k = 0; k < n; ++k, first += next) {
        Dual<S, taped> &to = y[k * incy];
        to = {factor.value * number_in(value[k * of_x.steps[0]]) + share.value * to.value, first};
      }
    });
  };
  if (!(factor.index || share.index || of_x.active || of_y.active)) return compute(0, 0);
  AxpbyBlock<S> block{n, of_x, of_y, factor, share};
  block.x.keep(&n, factor.index != 0), block.y.keep(&n, share.index != 0);
  compute(tape.add(n, block), 1);
}
/* x may be constants; a and b may be elements of y. */
template <class S, class X>
void axpby_with(int64_t n, Dual<S, taped> a, const X *x, int64_t incx, Dual<S, taped> b, Dual<S, taped> *y,
                int64_t incy) {
  if constexpr (is_dual<X>::value) {
    axpby_on_tape<S>(n, a, {&n, x, &incx}, b, y, incy);
  } else {
    Room room;
    axpby_on_tape<S>(n, a, {&n, x, &incx, memory_for<S>(n, a.index != 0, room)}, b, y, incy);
  }
}
template <class S, int P, class X>
void axpby_with(int64_t n, Dual<S, P> a, const X *x, int64_t incx, Dual<S, P> b, Dual<S, P> *y, int64_t incy) {
  for (int64_t k = 0; k < n; ++k) y[k * incy] = a * acc<X>(x[k * incx]) + b * y[k * incy];
}
template <class X, class T>
void axpby_of_duals(int64_t n, const T &a, const X *x, int64_t incx, const T &b, T *y, int64_t incy) {
  axpby_with(n, a, x, incx, b, y, incy);
}

}  // namespace detail
}  // namespace opwright
#endif
