/* gemm of numbers with derivatives: of dual numbers by its sums; on a tape as one block, whose adjoints are two products. */
#ifndef OPWRIGHT_DUAL_GEMM_H
#define OPWRIGHT_DUAL_GEMM_H

#include "../services/gemm.h"
#include "tape.h"

namespace opwright {
namespace detail {

/* C += alpha * op(A) op(B), where C begins with zeros; dense. */
template <class S>
void multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha, const S *a, const S *b,
              S *c) {
  if constexpr (is_floating<S>::value) {
    if (m > 0 && n > 0 && k > 0)
      gemm(transpose_a, transpose_b, m, n, k, alpha, a, transpose_a ? m : k, b, transpose_b ? k : n, 0, c, n);
  } else {
    const base<S> scale = base<S>(alpha);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t p = 0; p < k; ++p) {
        const S factor = a[transpose_a ? p * m + i : i * k + p] * scale;
        for (int64_t j = 0; j < n; ++j) c[i * n + j] = c[i * n + j] + factor * b[transpose_b ? j * k + p : p * n + j];
      }
  }
}

/* A product on the tape: op(A) and op(B), dense, with where their elements stand. */
template <class S>
struct Product {
  int64_t m, n, k;
  double alpha;
  Room a, b, of_a, of_b, sum;
  bool by_a = false, by_b = false;

  static bool keep(Room &values, Room &indices, bool transpose, int64_t rows, int64_t columns,
                   const Dual<S, taped> *from, int64_t step) {
    S *const x = values.template room<S>(rows * columns);
    uint32_t *const at = indices.template room<uint32_t>(rows * columns);
    uint32_t found = 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const Dual<S, taped> &number = transpose ? from[j * step + i] : from[i * step + j];
        x[i * columns + j] = number.value, found |= at[i * columns + j] = number.index;
      }
    return found != 0;
  }
  void spread(const Room &indices, int64_t count, const S *added, S *adjoints) {
    const uint32_t *const at = static_cast<const uint32_t *>(indices.data());
    for (int64_t i = 0; i < count; ++i) adjoints[at[i]] = adjoints[at[i]] + added[i];
  }
  S *zeros(int64_t count) {
    S *const x = sum.template room<S>(count);
    for (int64_t i = 0; i < count; ++i) x[i] = S(0);
    return x;
  }
  void drop_signs() {
    S *const x = static_cast<S *>(a.data()), *const y = static_cast<S *>(b.data());
    for (int64_t i = 0; i < m * k; ++i) x[i] = swept(x[i]);
    for (int64_t i = 0; i < k * n; ++i) y[i] = swept(y[i]);
    alpha = alpha < 0 ? -alpha : alpha;
  }
  static void sweep(void *data, const S *results, S *adjoints) {
    Product &self = *static_cast<Product *>(data);
    const int64_t m = self.m, n = self.n, k = self.k;
    if (sums_magnitudes) self.drop_signs();
    if (self.by_a) {
      S *const added = self.zeros(m * k);
      multiply(false, true, m, k, n, self.alpha, results, static_cast<const S *>(self.b.data()), added);
      self.spread(self.of_a, m * k, added, adjoints);
    }
    if (self.by_b) {
      S *const added = self.zeros(k * n);
      multiply(true, false, k, n, m, self.alpha, static_cast<const S *>(self.a.data()), results, added);
      self.spread(self.of_b, k * n, added, adjoints);
    }
  }
  static void release(void *data) { delete static_cast<Product *>(data); }
};

template <class S>
void product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha, const Dual<S, taped> *a,
             int64_t lda, const Dual<S, taped> *b, int64_t ldb, double beta, Dual<S, taped> *c, int64_t ldc) {
  Product<S> *const kept = new Product<S>{m, n, k, alpha, {}, {}, {}, {}, {}};
  kept->by_a = Product<S>::keep(kept->a, kept->of_a, transpose_a, m, k, a, lda);
  kept->by_b = Product<S>::keep(kept->b, kept->of_b, transpose_b, k, n, b, ldb);
  Room room;
  S *const values = room.template room<S>(m * n);
  for (int64_t i = 0; i < m * n; ++i) values[i] = S(0);
  multiply(false, false, m, n, k, alpha, static_cast<const S *>(kept->a.data()), static_cast<const S *>(kept->b.data()),
           values);
  const bool noted = (kept->by_a || kept->by_b) && alpha != 0;
  const S share = base<S>(beta);
  if (noted) {
    Tape<S> &tape = tape_of_thread<S>();
    tape.add(tape.next(), uint32_t(m * n), kept, &Product<S>::sweep, &Product<S>::release);
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Dual<S, taped> &to = c[i * ldc + j];
      const Dual<S, taped> before = beta == 0 ? Dual<S, taped>(0) : to;
      const S value = beta == 0 ? values[i * n + j] : values[i * n + j] + share * before.value;
      if (noted) to = {value, tape_of_thread<S>().note(before.index, share)};
      else to = chain(before, value, share);
    }
  if (!noted) delete kept;
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
