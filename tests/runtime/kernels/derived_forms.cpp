// Derived gradients of operators that overwrite arguments, draw random numbers, or whose results are optional or of lengths
// that the kernel decides.
#include <opwright.h>
#include <vector>

// x is overwritten twice, the second time by what the first one wrote; n counts the calls of each element.
OPWRIGHT("relaxed(x: T[N]!, w: T[N], n: i64[N]!, rate: float = 0.5) -> (norm: T[]) where T in (f32, f64) derived")
template <class T>
void relaxed(Tensor<T, 1> x, Tensor<const T, 1> w, Tensor<int64_t, 1> n, double rate, Tensor<T, 0> norm) {
  T sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) x[i] += T(rate) * (w[i] - x[i] * x[i]) * T(++n[i]);
  for (int64_t i = 1; i < x.size(0); ++i) x[i] = x[i] * x[i - 1];
  for (int64_t i = 0; i < x.size(0); ++i) sum += x[i] * x[i];
  norm() = sum;
}

// Nothing but what is overwritten, any strides, rows in lanes.
OPWRIGHT("scan_(x: T[N]!, decay: T[]) where T in (f32, f64) batched derived")
template <class T>
void scan_(Strided<T, 1> x, Tensor<const T, 0> decay) {
  for (int64_t i = 1; i < x.size(0); ++i) x(i) = x(i) + decay() * x(i - 1);
}

OPWRIGHT("squared_(x: T[N]!, w: T[N]) -> (norm: T[]) where T in (f32, f64) batched derived")
template <class T>
void squared_(Tensor<T, 1> x, Tensor<const T, 1> w, Tensor<T, 0> norm) {
  norm() = 0;
  for (int64_t i = 0; i < x.size(0); ++i) x[i] = x[i] * x[i] * w[i], norm() += x[i] * x[i];
}

OPWRIGHT("rotated(x: T[M, N]!, angle: T[]) -> (x) where T in (f32, f64) independent M derived")
template <class T>
void rotated(Tensor<T, 2> x, Tensor<const T, 0> angle) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t k = 0; k + 1 < x.size(1); k += 2) {
      const T a = x(i, k), b = x(i, k + 1);
      x(i, k) = a * cos(angle()) - b * sin(angle()), x(i, k + 1) = a * sin(angle()) + b * cos(angle());
    }
}

OPWRIGHT("jittered(x: T[..., N], scale: T[], rng: generator(4)) -> (y: T[..., N]) where T in (f32, f64) derived")
template <class T>
void jittered(Tensor<const T> x, Tensor<const T, 0> scale, Tensor<T> y, Generator rng) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    Philox r = rng[i];
    const double step = r.normal<double>();
    y[i] = x[i] * x[i] * (scale() * scale() * T(step) + T(1));
  }
}

OPWRIGHT(
    "moments(x: T[N], w: T[N]?, variance: bool = False) -> (mean: T[], var: T[]? if variance, scaled: T[N]? if w) "
    "where T in (f32, f64) derived")
template <class T>
void moments(Tensor<const T, 1> x, Tensor<const T, 1> w, bool variance, Tensor<T, 0> mean, Tensor<T, 0> var,
             Tensor<T, 1> scaled) {
  const int64_t n = x.size(0);
  T sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  mean() = sum / T(n);
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean()) * (x[i] - mean());
  if (variance) var() = squares / T(n);
  if (w)
    for (int64_t i = 0; i < n; ++i) scaled[i] = w[i] * w[i] * x[i] * mean();
}

OPWRIGHT("positive(x: T[N]) -> (y: T[?K], at: i64[?K]) where T in (f32, f64) derived")
template <class T>
void positive(Tensor<const T, 1> x, Resizable<T, 1> y, Resizable<int64_t, 1> at) {
  std::vector<int64_t> found;
  for (int64_t i = 0; i < x.size(0); ++i)
    if (x[i] > 0) found.push_back(i);
  auto values = y.resize(int64_t(found.size()));
  auto places = at.resize(int64_t(found.size()));
  for (size_t k = 0; k < found.size(); ++k) places[int64_t(k)] = found[k], values[int64_t(k)] = log(x[found[k]]);
}

OPWRIGHT("kept(x: T[N, C]) -> (y: T[?K<=N, C], n: int) where T in (f32, f64) derived")
template <class T>
void kept(Tensor<const T, 2> x, Resizable<T, 2> y, int64_t &n) {
  n = 0;
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (x.size(1) == 0 || !(x(i, 0) > 0)) continue;
    for (int64_t c = 0; c < x.size(1); ++c) y(n, c) = x(i, c) * x(i, 0);
    ++n;
  }
  y.resize(n);
}

OPWRIGHT(
    "scattered(x: T[N], at: i64[N] in [0, S), size: int? = None) -> (y: T[?S = size]) where T in (f32, f64) derived")
template <class T>
void scattered(Tensor<const T, 1> x, Tensor<const int64_t, 1> at, Resizable<T, 1> y) {
  int64_t size = y.size(0);
  if (size < 0)
    for (int64_t i = size = 0; i < x.size(0); ++i) size = max(size, at[i] + 1);
  auto sums = y.resize(size);
  for (int64_t k = 0; k < size; ++k) sums[k] = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sums[at[i]] += x[i] * x[i];
}
