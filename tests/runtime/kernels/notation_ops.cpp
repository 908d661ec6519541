// Operators that overwrite, decide lengths, draw, check indices, and need no tensor.
#include <opwright.h>

OPWRIGHT("add_scaled(alpha: float, x: T[N], y: T[N]!)")
template <class T>
void add_scaled(double alpha, Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = T(y[i] + acc<T>(alpha) * x[i]);
}
OPWRIGHT("add_scaled_backward(alpha: float, grad_y: T[N]) -> (grad_x: T[N], grad_y: T[N])")
template <class T>
void add_scaled_backward(double alpha, Tensor<const T, 1> grad, Tensor<T, 1> grad_x, Tensor<T, 1> grad_y) {
  for (int64_t i = 0; grad_x && i < grad.numel(); ++i) grad_x[i] = T(acc<T>(alpha) * grad[i]);
  for (int64_t i = 0; grad_y && i < grad.numel(); ++i) grad_y[i] = grad[i];
}
OPWRIGHT("add_scaled_backward_backward(alpha: float, grad_grad_x: T[N]?, grad_grad_y: T[N]?) -> (grad_grad_y: T[N])")
template <class T>
void add_scaled_backward_backward(double alpha, Tensor<const T, 1> gx, Tensor<const T, 1> gy, Tensor<T, 1> g) {
  for (int64_t i = 0; i < g.numel(); ++i) {
    const acc<T> x = gx ? acc<T>(gx[i]) : 0, y = gy ? acc<T>(gy[i]) : 0;
    g[i] = T(acc<T>(alpha) * x + y);
  }
}

// Never reads what it overwrites: the gradient of y's old value is zero.
OPWRIGHT("put(v: T[], y: T[N]!)")
template <class T>
void put(Tensor<const T, 0> v, Tensor<T, 1> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = v();
}
OPWRIGHT("put_backward(grad_y: T[N]) -> (grad_v: T[], grad_y: T[N])")
template <class T>
void put_backward(Tensor<const T, 1> grad, Tensor<T, 0> grad_v, Tensor<T, 1> grad_y) {
  acc<T> sum = 0;
  for (int64_t i = 0; i < grad.numel(); ++i) sum += grad[i];
  if (grad_v) grad_v() = T(sum);
  for (int64_t i = 0; i < grad_y.numel(); ++i) grad_y[i] = T(0);
}

// Overwrites, returns, and keeps a residual: what the old value was.
OPWRIGHT("exchange(x: T[N], y: T[N]!) -> (z: T[N]; old: T[N])")
template <class T>
void exchange(Tensor<const T, 1> x, Tensor<T, 1> y, Tensor<T, 1> z, Tensor<T, 1> old) {
  for (int64_t i = 0; i < y.numel(); ++i) {
    if (old) old[i] = y[i];
    z[i] = x[i] * y[i];
    y[i] = x[i];
  }
}
OPWRIGHT("exchange_backward(grad_z: T[N]?, grad_y: T[N]?, x: T[N], old: T[N]) -> (grad_x: T[N], grad_y: T[N])")
template <class T>
void exchange_backward(Tensor<const T, 1> gz, Tensor<const T, 1> gy, Tensor<const T, 1> x, Tensor<const T, 1> old,
                       Tensor<T, 1> grad_x, Tensor<T, 1> grad_y) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    const acc<T> z = gz ? acc<T>(gz[i]) : 0, y = gy ? acc<T>(gy[i]) : 0;
    if (grad_x) grad_x[i] = T(z * old[i] + y);
    if (grad_y) grad_y[i] = T(z * x[i]);
  }
}

OPWRIGHT("count_up(steps: i64[N]!, total: i64[]?!)")
void count_up(Tensor<int64_t, 1> steps, Tensor<int64_t, 0> total) {
  for (int64_t i = 0; i < steps.numel(); ++i) {
    steps[i] += 1;
    if (total) total() += steps[i];
  }
}

OPWRIGHT("transpose_(x: T[N, N]!)")
template <class T>
void transpose_(Strided<T, 2> x) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < i; ++j) {
      const T kept = x(i, j);
      x(i, j) = x(j, i), x(j, i) = kept;
    }
}

// Lengths that the kernel decides.
OPWRIGHT("nonzero(x: bool[N]) -> (at: i64[?K])")
void nonzero(Tensor<const bool, 1> x, Resizable<int64_t, 1> at) {
  int64_t n = 0;
  for (int64_t i = 0; i < x.numel(); ++i) n += x[i];
  auto out = at.resize(n);
  n = 0;
  for (int64_t i = 0; i < x.numel(); ++i)
    if (x[i]) out[n++] = i;
}

OPWRIGHT("pick(x: T[N], mask: bool[N]) -> (y: T[?K<=N]; at: i64[?K<=N])")
template <class T>
void pick(Tensor<const T, 1> x, Tensor<const bool, 1> mask, Resizable<T, 1> y, Resizable<int64_t, 1> at) {
  int64_t n = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (!mask[i]) continue;
    y[n] = x[i];
    if (at) at[n] = i;
    ++n;
  }
  y.resize(n);
  at.resize(n);
}
OPWRIGHT("pick_backward(grad_y: T[K], at: i64[K]) -> (grad_x: T[N])")
template <class T>
void pick_backward(Tensor<const T, 1> grad_y, Tensor<const int64_t, 1> at, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = T(0);
  for (int64_t i = 0; i < grad_y.numel(); ++i) grad_x[at[i]] = grad_y[i];
}

// The columns that hold something, as a matrix whose second axis is decided: with a bound, and without.
template <class T>
bool holds(Tensor<const T, 2> x, int64_t column) {
  for (int64_t i = 0; i < x.size(0); ++i)
    if (float(x(i, column)) != 0) return true;
  return false;
}
OPWRIGHT("columns(x: T[M, N]) -> (y: T[M, ?K<=N], n: i64[])")
template <class T>
void columns(Tensor<const T, 2> x, Resizable<T, 2> y, Tensor<int64_t, 0> n) {
  OPWRIGHT_CHECK(y.size(0) == x.size(0) && y.size(1) == x.size(1));
  n() = 0;
  for (int64_t j = 0; j < x.size(1); ++j) {
    if (!holds(x, j)) continue;
    for (int64_t i = 0; i < x.size(0); ++i) y(i, n()) = x(i, j);
    ++n();
  }
  OPWRIGHT_CHECK(y.resize(n()).size(1) == x.size(1), "bounded memory keeps its layout");
}
OPWRIGHT("doubled(x: T[M, N]) -> (z: T[M, ?K, 2], at: i64[?K])")
template <class T>
void doubled(Tensor<const T, 2> x, Resizable<T, 3> z, Resizable<int64_t, 1> at) {
  OPWRIGHT_CHECK(z.size(0) == x.size(0) && z.size(1) == -1 && z.size(2) == 2 && !z.data());
  int64_t k = 0;
  for (int64_t j = 0; j < x.size(1); ++j) k += holds(x, j);
  auto out = z.resize(k);
  auto where = at.resize(k);
  k = 0;
  for (int64_t j = 0; j < x.size(1); ++j) {
    if (!holds(x, j)) continue;
    for (int64_t i = 0; i < x.size(0); ++i) out(i, k, 0) = out(i, k, 1) = x(i, j);
    where[k++] = j;
  }
}

// 99 stands for no call.
OPWRIGHT("resizes(x: T[N], first: int, second: int, again: int) -> (y: T[?K], z: T[?K])")
template <class T>
void resizes(Tensor<const T, 1>, int64_t first, int64_t second, int64_t again, Resizable<T, 1> y, Resizable<T, 1> z) {
  auto fill = [](Tensor<T, 1> t) { for (int64_t i = 0; i < t.numel(); ++i) t[i] = T(1.f); };
  if (first != 99) fill(y.resize(first));
  if (second != 99) fill(z.resize(second));
  if (again != 99) y.resize(again);
}
OPWRIGHT("bounded(x: T[N], k: int) -> (y: T[?K<=N+1])")
template <class T>
void bounded(Tensor<const T, 1>, int64_t k, Resizable<T, 1> y) {
  for (int64_t i = 0; i < y.size(0); ++i) y[i] = T(float(i));
  y.resize(k);
}

// Draws.
OPWRIGHT("noise(x: T[...], rng: generator(2)) -> (y: T[...])")
template <class T>
void noise(Tensor<const T> x, Tensor<T> y, Generator rng) {
  parallel_for(x.numel(), 1000, [&](int64_t i) { y[i] = T(x[i] + rng[i].template uniform<T>()); });
}
OPWRIGHT("noise_backward(grad_y: T[...]) -> (grad_x: T[...])")
template <class T>
void noise_backward(Tensor<const T> grad_y, Tensor<T> grad_x) {
  for (int64_t i = 0; i < grad_y.numel(); ++i) grad_x[i] = grad_y[i];
}
OPWRIGHT("draws(n: int, rng: generator(8)) -> (bits: i64[n, 8], uniform: f64[n], normal: f64[n], small: f32[n])")
void draws(int64_t n, Tensor<int64_t, 2> bits, Tensor<double, 1> uniform, Tensor<double, 1> normal, Tensor<float, 1> small,
           Generator rng) {
  for (int64_t i = 0; i < n; ++i) {
    Philox a = rng[i], b = rng[i], c = rng[i], d = rng[i];
    for (int64_t k = 0; k < 8; ++k) bits(i, k) = a.bits();
    uniform[i] = b.uniform<double>();
    normal[i] = c.normal<double>();
    small[i] = d.uniform<float>();
  }
}

// Indices.
OPWRIGHT("rows(x: T[M, C], at: I[N] in [0, M)) -> (y: T[N, C]) where T in (f32, f64), I in (u8, i8, i16, i32, i64, u16, u32, u64)")
template <class T, class I>
void rows(Tensor<const T, 2> x, Tensor<const I, 1> at, Tensor<T, 2> y) {
  for (int64_t i = 0; i < at.numel(); ++i)
    for (int64_t c = 0; c < x.size(1); ++c) y(i, c) = x(int64_t(at[i]), c);
}
OPWRIGHT("window(x: T[M], at: i64[A, B] in [-M, M+1), extra: i64[N]? in [1, N+1)) -> (s: i64[])")
template <class T>
void window(Tensor<const T, 1>, Strided<const int64_t, 2> at, Tensor<const int64_t, 1> extra, Tensor<int64_t, 0> s) {
  s() = extra ? extra.numel() : 0;
  for (int64_t i = 0; i < at.size(0); ++i)
    for (int64_t j = 0; j < at.size(1); ++j) s() += at(i, j);
}

// Domains. The kernel divides by what they exclude.
OPWRIGHT("grouped(x: T[C, N], groups: int in [1, C], gamma: float in [0, 0.5), first: int = 0, last: int in [first, inf) = 1000) -> (y: T[C, N]) where T in (f32, f64)")
template <class T>
void grouped(Tensor<const T, 2> x, int64_t groups, double gamma, int64_t first, int64_t last, Tensor<T, 2> y) {
  const T factor = T(x.size(0) / groups), more = T(gamma) + T(last > first);
  for (int64_t i = 0; i < x.numel(); ++i) y.data()[i] = x.data()[i] * factor + more;
}
OPWRIGHT("unit(x: T[N] in [0, 1], at: i64[N] in (-1, 3], k: int in (-inf, 0]) -> (y: T[N]) where T in (f16, f32, f64)")
template <class T>
void unit(Tensor<const T, 1> x, Tensor<const int64_t, 1> at, int64_t k, Tensor<T, 1> y) {
  const double table[4] = {1, 2, 3, 4};
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = T(float(x[i]) * float(table[at[i]]) + float(k));
}
OPWRIGHT("spread(p: int in [1, 4], n: int in [p, 3*p]) -> (y: f32[n])")
void spread(int64_t p, int64_t n, Tensor<float, 1> y) {
  for (int64_t i = 0; i < n; ++i) y[i] = float(i / p);
}

// Sizes from arguments, and no tensor at all.
OPWRIGHT("eye(n: int, m: int = 2) -> (y: T[n, m]) where T in (f32, f64, i64)")
template <class T>
void eye(int64_t n, int64_t m, Tensor<T, 2> y) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) y(i, j) = T(i == j);
}
OPWRIGHT("pad(x: T[..., N], p: int = 1) -> (y: T[..., N+2*p])")
template <class T>
void pad(Tensor<const T> x, int64_t p, Tensor<T> y) {
  const int64_t n = x.size(-1), m = n + 2 * p;
  for (int64_t i = 0; i < y.numel(); ++i) {
    const int64_t j = i % m - p;
    y[i] = j >= 0 && j < n ? x[i / m * n + j] : T(0);
  }
}
OPWRIGHT("pad_backward(grad_y: T[..., N+2*p]) -> (grad_x: T[..., N])")
template <class T>
void pad_backward(Tensor<const T> grad_y, Tensor<T> grad_x) {
  const int64_t n = grad_x.size(-1), m = grad_y.size(-1), p = (m - n) / 2;
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = grad_y[i / n * m + i % n + p];
}

// Several type variables, and what autocast makes of them.
OPWRIGHT("weigh(x: T[N], y: T[N], w: U[N], bias: f32[N], scale: acc(T)[]) -> (z: T[N], v: U[N])")
template <class T, class U>
void weigh(Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<const U, 1> w, Tensor<const float, 1> bias,
           Tensor<const acc<T>, 0> scale, Tensor<T, 1> z, Tensor<U, 1> v) {
  for (int64_t i = 0; i < z.numel(); ++i) {
    z[i] = T((acc<T>(x[i]) + acc<T>(y[i])) * scale() + bias[i]);
    v[i] = U(w[i] + acc<U>(x[i]));
  }
}
OPWRIGHT("precise(x: T[N]) -> (y: T[N]) autocast: f32")
template <class T>
void precise(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = x[i];
}
OPWRIGHT("precise_backward(grad_y: T[N]) -> (grad_x: T[N])")
template <class T>
void precise_backward(Tensor<const T, 1> grad_y, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = grad_y[i];
}
