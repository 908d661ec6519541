/* gemm of numbers with derivatives: of dual numbers by its sums; on a tape as one block, whose adjoints are two products. */
#ifndef OPWRIGHT_DUAL_GEMM_H
#define OPWRIGHT_DUAL_GEMM_H

#include "../services/gemm.h"
#include "dual_dot.h"
#include "lanes.h"

namespace opwright {
namespace detail {

/* op(X), r x c, as a product on the tape keeps it: where it lies if it is an input whose plain numbers do, or a copy. */
template <class S>
struct Factor {
  TapedOperand<S, 2> of;
  int64_t rows, columns;
  bool flipped; /* stored as its transpose */

  Factor(bool transpose, int64_t r, int64_t c, const Dual<S, taped> *x, int64_t step)
      : of(Sizes{r, c}.of, x, Sizes{transpose ? 1 : step, transpose ? step : 1}.of,
           !OPWRIGHT_TAPE_MAGNITUDES && step >= (transpose ? r : c)),
        rows(r),
        columns(c),
        flipped(transpose) {
    if (of.kind != of.plain) of.fixed = false;
  }
  /* Copies what isn't to be read where it lies; to memory of the tape if that is `noted`. */
  void keep(bool noted, Room &room) {
    if (of.fixed) return;
    of.keep(Sizes{rows, columns}.of, memory_for<S>(rows * columns, noted, room), noted);
    flipped = false;
  }
  /* Of copies, which all factors are where magnitudes may be summed. */
  void drop_signs() const {
    S *const x = static_cast<S *>(const_cast<void *>(of.values));
    for (int64_t i = 0; i < rows * columns; ++i) x[i] = swept(x[i]);
  }
  int64_t step() const { return of.steps[flipped ? 1 : 0]; }
  const base<S> *plain() const { return static_cast<const base<S> *>(of.values); }

 private:
  struct Sizes { int64_t of[2]; };
};

/* C = alpha op(A) op(B) + C, of numbers that aren't plain. `put(i, j, value)` adds to C. */
template <class S, class A, class B, class F>
void multiply(int64_t m, int64_t n, int64_t k, double alpha, const A *a, int64_t a_row, int64_t a_column, const B *b,
              int64_t b_row, int64_t b_column, const F &put) {
  const base<S> scale = base<S>(alpha);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      const S factor = S(number_in(a[i * a_row + p * a_column])) * scale;
      for (int64_t j = 0; j < n; ++j) put(i, j, factor * number_in(b[p * b_row + j * b_column]));
    }
}

/* A product on the tape. */
template <class S>
struct Product {
  int64_t m, n, k;
  double alpha;
  S share; /* of what C held before, which stood at `before` */
  Factor<S> a, b;
  const uint32_t *before;

  void value(S *c) const {
    if constexpr (is_floating<S>::value) {
      gemm(a.flipped, b.flipped, m, n, k, alpha, a.plain(), a.step(), b.plain(), b.step(), 0, c, n);
    } else {
      for (int64_t i = 0; i < m * n; ++i) c[i] = S(0);
      a.of.at(0, [&](auto *x) {
        b.of.at(0, [&](auto *y) {
          multiply<S>(m, n, k, alpha, x, a.of.steps[0], a.of.steps[1], y, b.of.steps[0], b.of.steps[1],
                      [&](int64_t i, int64_t j, const S &added) { c[i * n + j] = c[i * n + j] + added; });
        });
      });
    }
  }
  static void sweep(const void *data, const S *results, S *adjoints) {
    const Product &self = *static_cast<const Product *>(data);
    const int64_t m = self.m, n = self.n, k = self.k;
    const Factor<S> &a = self.a, &b = self.b;
    const double alpha = sums_magnitudes && self.alpha < 0 ? -self.alpha : self.alpha;
    if (sums_magnitudes) a.drop_signs(), b.drop_signs();
    if (self.before)
      for (int64_t i = m * n - 1; i >= 0; --i) /* backwards, as entries are swept */
        adjoints[self.before[i]] = adjoints[self.before[i]] + times(swept(self.share), results[i]);
    if constexpr (is_floating<S>::value) {
      /* What is stored as its transpose gets the transpose of the product. */
      if (a.of.active)
        add(a, adjoints, [&](S *to, int64_t step, double beta) {
          if (a.flipped) gemm(b.flipped, true, k, m, n, alpha, b.plain(), b.step(), results, n, beta, to, step);
          else gemm(false, !b.flipped, m, k, n, alpha, results, n, b.plain(), b.step(), beta, to, step);
        });
      if (b.of.active)
        add(b, adjoints, [&](S *to, int64_t step, double beta) {
          if (b.flipped) gemm(true, a.flipped, n, k, m, alpha, results, n, a.plain(), a.step(), beta, to, step);
          else gemm(!a.flipped, false, k, n, m, alpha, a.plain(), a.step(), results, n, beta, to, step);
        });
    } else {
      const auto add_to = [&](const Factor<S> &of) {
        return [&of, adjoints](int64_t i, int64_t j, const S &added) {
          S &to = adjoints[of.of.indices ? of.of.indices[i * of.columns + j]
                                         : of.of.first + i * of.of.steps[0] + j * of.of.steps[1]];
          to = to + added;
        };
      };
      if (a.of.active)
        b.of.at(0, [&](auto *y) {
          multiply<S>(m, k, n, alpha, results, n, 1, y, b.of.steps[1], b.of.steps[0], add_to(a));
        });
      if (b.of.active)
        a.of.at(0, [&](auto *x) {
          multiply<S>(k, n, m, alpha, x, a.of.steps[1], a.of.steps[0], results, n, 1, add_to(b));
        });
    }
  }
  /* Of what isn't an input the sums are added one by one, so that the bits don't depend on which gradients are wanted. */
  template <class F>
  static void add(const Factor<S> &to, S *adjoints, const F &product) {
    if (to.of.fixed) return product(adjoints + to.of.first, to.step(), 1);
    Room room;
    const int64_t count = to.rows * to.columns;
    S *const added = room.template room<S>(count);
    product(added, to.columns, 0);
    for (int64_t i = 0; i < count; ++i) adjoints[to.of.indices ? to.of.indices[i] : to.of.first + i] += added[i];
  }
};

/* Of products of at least so many multiply-adds a row or slice after the other, by the runtime's gemm, is faster than lanes. */
constexpr int64_t least_for_gemm = 1024;

/* Where they are lanes, and the product is a large one: sets `disagreed`, so that each row or slice of them is run again by itself,
 * and lets these go on with the first one's product. Returns whether it did. */
template <class S>
bool product_of_first(int64_t, int64_t, int64_t, double, const Factor<S> &, const Factor<S> &, S *) {
  return false;
}
template <class R, int W>
bool product_of_first(int64_t m, int64_t n, int64_t k, double alpha, const Factor<Lanes<R, W>> &a,
                      const Factor<Lanes<R, W>> &b, Lanes<R, W> *c) {
  if (m * n * k < least_for_gemm) return false;
  Room of_a, of_b, of_c;
  const auto dense = [](const Factor<Lanes<R, W>> &x, Room &room) {
    R *const to = room.template room<R>(x.rows * x.columns);
    x.of.at(0, [&](auto *from) {
      for (int64_t i = 0; i < x.rows; ++i)
        for (int64_t j = 0; j < x.columns; ++j)
          to[i * x.columns + j] = Lanes<R, W>(number_in(from[i * x.of.steps[0] + j * x.of.steps[1]])).v[0];
    });
    return to;
  };
  R *const to = of_c.template room<R>(m * n);
  gemm(false, false, m, n, k, alpha, dense(a, of_a), k, dense(b, of_b), n, 0, to, n);
  for (int64_t i = 0; i < m * n; ++i) c[i] = Lanes<R, W>(to[i]);
  disagree();
  return true;
}

template <class S>
void product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha, const Dual<S, taped> *a,
             int64_t lda, const Dual<S, taped> *b, int64_t ldb, double beta, Dual<S, taped> *c, int64_t ldc) {
  using T = Dual<S, taped>;
  const S share = base<S>(beta);
  const auto each = [&](const auto &f) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) f(c[i * ldc + j], i * n + j);
  };
  const auto part_of = [&](const T &before) {
    return beta == 0 ? T(0) : chain(before, S(share * before.value), share);
  };
  if (alpha == 0 || k <= 0) return each([&](T &to, int64_t) { to = part_of(to); });
  Tape<S> &tape = tape_of_thread<S>();
  Product<S> kept{m, n, k, alpha, share, {transpose_a, m, k, a, lda}, {transpose_b, k, n, b, ldb}, nullptr};
  Room of_a, of_b, room;
  S *const values = room.template room<S>(m * n);
  const bool again = product_of_first(m, n, k, alpha, kept.a, kept.b, values);
  const bool noted = !again && (kept.a.of.active || kept.b.of.active);
  if (!again) kept.a.keep(noted, of_a), kept.b.keep(noted, of_b), kept.value(values);
  if (!noted)
    return each([&](T &to, int64_t at) {
      const T before = part_of(to);
      to = {beta == 0 ? values[at] : values[at] + before.value, before.index};
    });
  if (beta != 0) {
    uint32_t *const places = static_cast<uint32_t *>(tape.memory(m * n * int64_t(sizeof(uint32_t))));
    each([&](T &to, int64_t at) { tape.check(places[at] = to.index); });
    kept.before = places;
  }
  const uint32_t first = tape.add(m * n, kept);
  each([&](T &to, int64_t at) { to = {beta == 0 ? values[at] : values[at] + share * to.value, uint32_t(first + at)}; });
}

template <class S, int N>
void product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha, const Dual<S, N> *a,
             int64_t lda, const Dual<S, N> *b, int64_t ldb, double beta, Dual<S, N> *c, int64_t ldc) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Dual<S, N> sum = 0;
      for (int64_t p = 0; p < (alpha == 0 ? 0 : k); ++p)
        sum += (transpose_a ? a[p * lda + i] : a[i * lda + p]) * (transpose_b ? b[j * ldb + p] : b[p * ldb + j]);
      Dual<S, N> &to = c[i * ldc + j];
      to = beta == 0 ? Dual<S, N>(alpha * sum) : Dual<S, N>(alpha * sum + beta * to);
    }
}

template <class T>
void gemm_of_duals(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha, const T *a,
                   int64_t lda, const T *b, int64_t ldb, double beta, T *c, int64_t ldc) {
  if (m > 0 && n > 0) product(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace detail
}  // namespace opwright
#endif
