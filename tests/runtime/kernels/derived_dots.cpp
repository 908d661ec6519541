// Kernels with dot, axpy, axpby and gemm, whose gradients are derived: each call is one entry of the tape.
#include <opwright.h>

// One row, or several in lanes. What is summed is an argument, a result and memory of the kernel's own.
template <class T>
void update(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<const T, 0> a, Tensor<T, 1> y) {
  using A = acc<T>;
  const int64_t n = x.size(0);
  Workspace<A> sums(n + 1);
  for (int64_t i = 0; i < n; ++i) y[i] = T(x[i] * x[i]), sums[i] = A(w[i]) * A(0.5);
  const A s = dot(x, w), squares = dot(n, sums.data(), 1, sums.data(), 1);
  axpby(n, s, w.data(), 1, A(a()), sums.data(), 1);   // two slopes that are variables
  axpy(n, squares, sums.data(), 1, sums.data(), 1);   // of a vector to itself
  axpy(n, A(2), x.data(), 1, sums.data(), 1);         // a constant
  for (int64_t i = 0; i < n; ++i) y[i] = T(A(y[i]) + sums[i] * dot(n, x.data(), 1, sums.data(), 1));
}
OPWRIGHT("updated(x: T[N], w: T[N], a: T[]) -> (y: T[N]) derived")
template <class T>
void updated(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<const T, 0> a, Tensor<T, 1> y) {
  update(x, w, a, y);
}
OPWRIGHT("updated_rows(x: T[N], w: T[N], a: T[]) -> (y: T[N]) batched derived")
template <class T>
void updated_rows(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<const T, 0> a, Tensor<T, 1> y) {
  update(x, w, a, y);
}

// Columns, backwards, one element again and again, and elements in another order, some of them twice.
OPWRIGHT("strided(x: T[M, N], y: T[M], at: i64[M] in [0, M)) -> (columns: T[N, N], mixed: T[3]) derived")
template <class T>
void strided(Strided<const T, 2> x, Tensor<const T, 1> y, Tensor<const int64_t, 1> at, Tensor<T, 2> columns,
             Tensor<T, 1> mixed) {
  using A = acc<T>;
  const int64_t m = x.size(0), n = x.size(1);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) columns(i, j) = T(dot(m, &x(0, i), x.stride(0), &x(0, j), x.stride(0)));
  for (int64_t i = 0; i < 3; ++i) mixed[i] = T(0);
  if (m < 2) return;
  mixed[0] = T(dot(m, &y[m - 1], -1, y.data(), 1));
  mixed[1] = T(dot(m, &y[0], 0, y.data(), 1));
  Workspace<A> gathered(m), spread(2 * m);
  for (int64_t i = 0; i < m; ++i) gathered[i] = A(y[at[i]]), spread[2 * i] = A(y[i]), spread[2 * i + 1] = 0;
  axpby(m, A(y[0]), gathered.data(), 1, A(y[1]), spread.data(), 2);
  axpy(m, A(-1), y.data(), 1, gathered.data(), 1);
  mixed[2] = T(dot(m, gathered.data(), 1, spread.data(), 2));
}

// Patches, by a view of three axes; slices share x and w.
OPWRIGHT("patches(x: T[B, C, H, W], w: T[O, C, K, L]) -> (y: T[B, O, H-K+1, W-L+1]) independent B, O derived")
template <class T>
void patches(Tensor<const T, 4> x, Tensor<const T, 4> w, Tensor<T, 4> y) {
  const int64_t strides[] = {x.stride(1), x.stride(2), 1};
  for (int64_t b = 0; b < y.size(0); ++b)
    for (int64_t o = 0; o < y.size(1); ++o)
      for (int64_t i = 0; i < y.size(2); ++i)
        for (int64_t j = 0; j < y.size(3); ++j)
          y(b, o, i, j) = T(dot(w[o], Strided<const T, 3>(&x(b, 0, i, j), w.sizes() + 1, strides)));
}

// All rows share k and v.
OPWRIGHT("attended_rows(q: T[M, D], k: T[N, D], v: T[N, E]) -> (o: T[M, E]) independent M derived")
template <class T>
void attended_rows(Tensor<const T, 2> q, Tensor<const T, 2> k, Tensor<const T, 2> v, Tensor<T, 2> o) {
  using A = acc<T>;
  const int64_t keys = k.size(0), e = v.size(1);
  Workspace<A> sums(e);
  for (int64_t i = 0; i < q.size(0); ++i) {
    A largest = -1e30, total = 0;
    for (int64_t c = 0; c < e; ++c) sums[c] = 0;
    for (int64_t j = 0; j < keys; ++j) {
      const A score = dot(q[i], k[j]), before = largest;
      largest = max(largest, score);
      const A shrink = exp(before - largest), weight = exp(score - largest);
      total = total * shrink + weight;
      axpby(e, weight, &v(j, 0), 1, shrink, sums.data(), 1);
    }
    for (int64_t c = 0; c < e; ++c) o(i, c) = T(sums[c] / total);
  }
}

// Of arguments and of what was computed; in lanes if it is small.
template <class T>
void add_product(Tensor<const T, 2> a, Tensor<const T, 2> b, Tensor<const T, 2> c, bool ta, bool tb, double beta,
                 Tensor<T, 2> y) {
  const int64_t m = y.size(0), n = y.size(1), k = a.size(ta ? 0 : 1);
  for (int64_t i = 0; i < m * n; ++i) y.flat(i) = c.flat(i) * c.flat(i);
  if (a.size(ta ? 1 : 0) != m || b.size(tb ? 0 : 1) != n || b.size(tb ? 1 : 0) != k) return;  // sizes that don't fit
  gemm<T>(ta, tb, m, n, k, -0.5, a.data(), a.size(1), b.data(), b.size(1), beta, y.data(), n);
  Workspace<T> twice(a.numel() + 1);
  for (int64_t i = 0; i < a.numel(); ++i) twice[i] = a.flat(i) * T(2);
  gemm<T>(ta, tb, m, n, k, 1, twice.data(), a.size(1), b.data(), b.size(1), 1, y.data(), n);
}
OPWRIGHT("product_added(a: T[P, Q], b: T[R, S], c: T[M, N], ta: bool, tb: bool, beta: float) -> (y: T[M, N])"
         " where T in (f32, f64) derived")
template <class T>
void product_added(Tensor<const T, 2> a, Tensor<const T, 2> b, Tensor<const T, 2> c, bool ta, bool tb, double beta,
                   Tensor<T, 2> y) {
  add_product(a, b, c, ta, tb, beta, y);
}
OPWRIGHT("products_added(a: T[P, Q], b: T[R, S], c: T[M, N], ta: bool, tb: bool, beta: float) -> (y: T[M, N])"
         " where T in (f32, f64) batched derived")
template <class T>
void products_added(Tensor<const T, 2> a, Tensor<const T, 2> b, Tensor<const T, 2> c, bool ta, bool tb, double beta,
                    Tensor<T, 2> y) {
  add_product(a, b, c, ta, tb, beta, y);
}

// Tables of plain numbers, which are constants: static ones, and one that changes after each call.
template <class R, class T>
void filter(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  using A = acc<T>;
  static const R taps[] = {R(1), R(-2), R(0.5), R(3), R(0.25)};
  const int64_t n = x.size(0), one = 1;
  R changing[3];
  Workspace<A> sums(n + 1);
  for (int64_t i = 0; i < n; ++i) sums[i] = A(w[i]);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t m = n - i < 3 ? n - i : 3;
    const A s = dot(m, taps, 1, &x[i], 1) + dot(Strided<const T, 1>(&x[i], &m, &one), Strided<const R, 1>(taps, &m, &one)) +
                dot(m, &x[i], 1, &taps[4], -1);
    for (int64_t k = 0; k < m; ++k) changing[k] = R(i + k + 1);
    axpby(m, A(w[i]), changing, 1, s, &sums[i], 1);
    axpy(m, A(2), changing, 1, &sums[i], 1);
    y[i] = T(dot(m, changing, 1, &sums[i], 1) * s);
    for (int64_t k = 0; k < m; ++k) changing[k] = R(0);
  }
}
OPWRIGHT("filtered(x: T[N], w: T[N]) -> (y: T[N]) where T in (f64) derived")
template <class T>
void filtered(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  filter<double>(x, w, y);
}
OPWRIGHT("filtered_rows(x: T[N], w: T[N]) -> (y: T[N]) where T in (f64) batched derived")
template <class T>
void filtered_rows(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  filter<double>(x, w, y);
}
OPWRIGHT("filtered_narrow(x: T[N], w: T[N]) -> (y: T[N]) where T in (f32, bf16) batched derived")
template <class T>
void filtered_narrow(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  filter<float>(x, w, y);
}
