// Kernels whose gradients are derived slice by slice, along independent axes.
#include <opwright.h>

OPWRIGHT("attended(q: T[M, D], k: T[N, D], v: T[N, E]) -> (o: T[M, E]) independent M derived")
template <class T>
void attended(Tensor<const T, 2> q, Tensor<const T, 2> k, Tensor<const T, 2> v, Tensor<T, 2> o) {
  using A = acc<T>;
  const A scale = A(1) / sqrt(A(q.size(1)));
  Workspace<A> sums(v.size(1));
  for (int64_t i = 0; i < q.size(0); ++i) {
    A largest = -1e30, total = 0;
    for (int64_t c = 0; c < v.size(1); ++c) sums[c] = 0;
    for (int64_t j = 0; j < k.size(0); ++j) {
      A score = 0;
      for (int64_t c = 0; c < q.size(1); ++c) score += A(q(i, c)) * A(k(j, c));
      score *= scale;
      const A before = largest;
      largest = max(largest, score);
      const A shrink = exp(before - largest), weight = exp(score - largest);
      total = total * shrink + weight;
      for (int64_t c = 0; c < v.size(1); ++c) sums[c] = sums[c] * shrink + weight * A(v(j, c));
    }
    for (int64_t c = 0; c < v.size(1); ++c) o(i, c) = T(sums[c] / total);
  }
}

OPWRIGHT("convolved(x: T[B, C, L], w: T[O, C, K], b: T[O]?) -> (y: T[B, O, L-K+1]) independent B, O derived")
template <class T>
void convolved(Tensor<const T, 3> x, Tensor<const T, 3> w, Tensor<const T, 1> b, Tensor<T, 3> y) {
  for (int64_t n = 0; n < y.size(0); ++n)
    for (int64_t o = 0; o < y.size(1); ++o)
      for (int64_t l = 0; l < y.size(2); ++l) {
        acc<T> sum = b ? acc<T>(b[o]) : acc<T>(0);
        for (int64_t c = 0; c < x.size(1); ++c)
          for (int64_t k = 0; k < w.size(2); ++k) sum += acc<T>(x(n, c, l + k)) * acc<T>(w(o, c, k));
        y(n, o, l) = T(sum);
      }
}

// The slices are columns, which don't lie dense; the result is their sum.
OPWRIGHT("cubes(x: T[C, N], w: T[C]) -> (y: T[]) independent N derived")
template <class T>
void cubes(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 0> y) {
  acc<T> all = 0;
  for (int64_t n = 0; n < x.size(1); ++n) {
    acc<T> sum = 0;
    for (int64_t c = 0; c < x.size(0); ++c) sum += acc<T>(x(c, n)) * acc<T>(w[c]);
    all += sum * sum * sum;
  }
  y() = T(all);
}

// Slices that take different branches, and read different rows of what they share.
OPWRIGHT("looked_up(table: T[V, C], at: i64[N] in [0, V), s: T[N]) -> (y: T[N, C]) independent N derived")
template <class T>
void looked_up(Tensor<const T, 2> table, Tensor<const int64_t, 1> at, Tensor<const T, 1> s, Tensor<T, 2> y) {
  for (int64_t n = 0; n < at.size(0); ++n)
    for (int64_t c = 0; c < table.size(1); ++c) {
      const T v = table(at[n], c);
      y(n, c) = v > T(0) ? v * s[n] : exp(v) + s[n];
    }
}
