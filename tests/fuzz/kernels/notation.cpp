// Operators that use, between them, all of the notation. What each computes is told again in tests/fuzz/references.py.
#include <opwright.h>

OPWRIGHT("several(x: T[N], y: U[N, M], w: V[M]?, v: V[]) -> (a: T[N], b: acc(U)[M], c: V[N+M])"
         " where T in (f32, f64, f16), U in (f16, bf16, f32), V in (u8, i32, i64)")
template <class T, class U, class V>
void several(Tensor<const T, 1> x, Tensor<const U, 2> y, Tensor<const V, 1> w, Tensor<const V, 0> v, Tensor<T, 1> a,
             Tensor<acc<U>, 1> b, Tensor<V, 1> c) {
  for (int64_t i = 0; i < x.size(0); ++i) a[i] = 2 * x[i], c[i] = v();
  for (int64_t j = 0; j < y.size(1); ++j) {
    b[j] = 0;
    for (int64_t i = 0; i < y.size(0); ++i) b[j] += y[i][j];
    c[x.size(0) + j] = w ? w[j] : V(7);
  }
}

OPWRIGHT("scale(x: T[...]!, alpha: float = 2.0)")
template <class T>
void scale(Tensor<T> x, double alpha) {
  parallel_for(x.numel(), 3, [&](int64_t i) { x[i] = acc<T>(x[i]) * acc<T>(alpha); });
}

OPWRIGHT("exchange(x: T[N]!, y: T[N]!, z: T[N]?!) -> (s: T[])")
template <class T>
void exchange(Tensor<T, 1> x, Tensor<T, 1> y, Tensor<T, 1> z, Tensor<T, 0> s) {
  acc<T> sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) {
    const T t = x[i];
    sum += t, x[i] = y[i], y[i] = t;
    if (z) z[i] = z[i] + t;
  }
  s() = sum;
}

OPWRIGHT("add_to(x: T[M, N]!, y: T[M, N], k: int) where T in (f32, f64, i16, i8)")
template <class T>
void add_to(Strided<T, 2> x, Tensor<const T, 2> y, int32_t k) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) x(i, j) = T(x[i][j] + y[i][j] * T(k % 2));
}

OPWRIGHT("set_one(x: T[], y: T[]!) where T in (bool, u8, i16, u16, u32, u64, f16, bf16, f32, f64)")
template <class T>
void set_one(Strided<const T, 0> x, Strided<T, 0> y) {
  y() = x();
}

OPWRIGHT("positive(x: T[N]) -> (keep: i64[?K], values: T[?K])")
template <class T>
void positive(Tensor<const T, 1> x, Resizable<int64_t, 1> keep, Resizable<T, 1> values) {
  int64_t count = 0;
  for (int64_t i = 0; i < x.size(0); ++i) count += x[i] > 0;
  Tensor<int64_t, 1> k = keep.resize(count);
  Tensor<T, 1> v = values.resize(count);
  for (int64_t i = 0, n = 0; i < x.size(0); ++i)
    if (x[i] > 0) k[n] = i, v[n++] = x[i];
}

OPWRIGHT("first(x: T[N, M], limit: int) -> (rows: T[?K<=N, M], more: T[M, ?L], count: i64[])")
template <class T>
void first(Tensor<const T, 2> x, int64_t limit, Resizable<T, 2> rows, Resizable<T, 2> more, Tensor<int64_t, 0> count) {
  count() = limit;
  for (int64_t i = 0; i < limit && i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) rows(i, j) = x(i, j);
  rows.resize(limit);
  OPWRIGHT_CHECK(limit < 100, "limit is ", limit);
  Tensor<T, 2> m = more.resize(limit);
  for (int64_t i = 0; i < m.numel(); ++i) m.flat(i) = T(float(i));
}

OPWRIGHT("noise(x: T[...], rng: generator(1), low: float = 0.0) -> (y: T[...]) where T in (f32, f64)")
template <class T>
void noise(Tensor<const T> x, double low, Tensor<T> y, Generator rng) {
  parallel_for(y.numel(), 2, [&](int64_t i) { y[i] = T(x[i] + (low + double(rng[i].uniform()))); });
}

OPWRIGHT("take(x: T[M, C], idx: I[N] in [0, M)) -> (y: T[N, C]) where I in (u8, i8, i32, i64, u64)")
template <class T, class I>
void take(Tensor<const T, 2> x, Strided<const I, 1> idx, Tensor<T, 2> y) {
  for (int64_t i = 0; i < idx.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) y(i, j) = x(int64_t(idx[i]), j);
}

OPWRIGHT("shift(x: T[M], idx: i64[...]? in [-M, (M+1)//2), n: i16[]! in [0, 3)) -> (y: T[M])")
template <class T>
void shift(Strided<const T, 1> x, Tensor<const int64_t> idx, Tensor<int16_t, 0> n, Tensor<T, 1> y) {
  const int64_t M = x.size(0);
  int16_t letters[3] = {2, 0, 1};
  n() = letters[n()];
  for (int64_t i = 0; i < M; ++i) y[i] = x[i];
  if (idx)
    for (int64_t i = 0; i < idx.numel(); ++i) y[idx[i] < 0 ? idx[i] + M : idx[i]] = x[0];
}

OPWRIGHT("pad(x: T[N], p: int, q: int = 1) -> (y: T[N+2*p, q])")
template <class T>
void pad(Tensor<const T, 1> x, int64_t p, int64_t q, Tensor<T, 2> y) {
  for (int64_t i = 0; i < y.size(0); ++i)
    for (int64_t j = 0; j < q; ++j) y(i, j) = i < p || i >= p + x.size(0) ? T(0.f) : x[i - p];
}

OPWRIGHT("pad_backward(grad_y: T[N+2*p, q]?, p: int) -> (grad_x: T[N])")
template <class T>
void pad_backward(Tensor<const T, 2> grad_y, int64_t p, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_x.size(0); ++i) {
    acc<T> sum = 0;
    if (grad_y)
      for (int64_t j = 0; j < grad_y.size(1); ++j) sum += grad_y(p + i, j);
    grad_x[i] = sum;
  }
}

OPWRIGHT("unit(n: int) -> (y: T[n, n]) where T in (f32, f64, i32, bool)")
template <class T>
void unit(int64_t n, Tensor<T, 2> y) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) y(i, j) = i == j;
}

OPWRIGHT("ramp(n: int, m: int = 3, step: float = 0.5, up: bool = True) -> (y: f64[2*n+m], i: i32[n//2, m])")
void ramp(int64_t n, int64_t m, float step, bool up, Tensor<double, 1> y, Tensor<int32_t, 2> i) {
  for (int64_t k = 0; k < 2 * n + m; ++k) y[k] = (up ? 1 : -1) * double(k) * step;
  for (int64_t k = 0; k < i.numel(); ++k) i.flat(k) = int32_t(k);
}

OPWRIGHT("blocks(x: T[..., 3*S], y: U[..., S//2]?, k: i8[2]) -> (z: T[..., S], n: i64[]) where U in (f32, bool)")
template <class T, class U>
void blocks(Tensor<const T> x, Tensor<const U> y, Tensor<const int8_t, 1> k, Tensor<T> z, Tensor<int64_t, 0> n) {
  const int64_t S = z.size(-1), rows = S ? z.numel() / S : 0;
  n() = k[0] + k[1];
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t s = 0; s < S; ++s) {
      const acc<T> more = y && s < y.size(-1) ? acc<T>(float(y[r * y.size(-1) + s])) : 0;
      z[r * S + s] = x[3 * r * S + s] + x[(3 * r + 1) * S + s] * 2 + x[(3 * r + 2) * S + s] * 4 + more;
    }
}

OPWRIGHT("halve(x: f32[A, 2*B], y: f32[A*B], i: i64[A] in [0, B)) -> (z: f32[A]; kept: f32[A, B]) autocast: f32")
void halve(Strided<const float, 2> x, Tensor<const float, 1> y, Tensor<const int64_t, 1> i, Tensor<float, 1> z,
           Tensor<float, 2> kept) {
  const int64_t A = x.size(0), B = x.size(1) / 2;
  for (int64_t a = 0; a < A; ++a) {
    z[a] = y[a * B + i[a]];
    for (int64_t b = 0; b < B; ++b) z[a] += x(a, 2 * b);
    if (kept)
      for (int64_t b = 0; b < B; ++b) kept[a][b] = x(a, 2 * b);
  }
}

OPWRIGHT("halve_backward(grad_z: f32[A], kept: f32[A, B], i: i64[A]) -> (grad_x: f32[A, 2*B], grad_y: f32[A*B])")
void halve_backward(Tensor<const float, 1> grad_z, Tensor<const float, 2> kept, Tensor<const int64_t, 1> i,
                    Tensor<float, 2> grad_x, Tensor<float, 1> grad_y) {
  const int64_t A = kept.size(0), B = kept.size(1);
  for (int64_t a = 0; a < A; ++a) OPWRIGHT_CHECK(i[a] >= 0 && i[a] < B, "i[", a, "] is ", i[a]);
  if (grad_x)
    for (int64_t a = 0; a < A; ++a)
      for (int64_t b = 0; b < 2 * B; ++b) grad_x(a, b) = b % 2 ? 0 : grad_z[a];
  if (grad_y) {
    for (int64_t k = 0; k < A * B; ++k) grad_y[k] = 0;
    for (int64_t a = 0; a < A; ++a) grad_y[a * B + i[a]] = grad_z[a];
  }
}

OPWRIGHT("cut(x: T[...]!, low: float) -> (n: i64[]; kept: bool[...])")
template <class T>
void cut(Tensor<T> x, double low, Tensor<int64_t, 0> n, Tensor<bool> kept) {
  n() = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const bool keep = acc<T>(x[i]) >= acc<T>(low);
    if (kept) kept[i] = keep;
    if (!keep) x[i] = T(acc<T>(low)), ++n();
  }
}

OPWRIGHT("cut_backward(grad_x: T[...], kept: bool[...]) -> (grad_x: T[...])")
template <class T>
void cut_backward(Tensor<const T> grad_x, Tensor<const bool> kept, Tensor<T> grad_of_x) {
  for (int64_t i = 0; i < kept.numel(); ++i) grad_of_x[i] = kept[i] ? grad_x[i] : T(0.f);
}
