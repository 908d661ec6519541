// Complex numbers: over views, one by one, of one element, and with derivatives by hand.
#include <opwright.h>

OPWRIGHT("dot(x: T[N], y: T[N]) -> (sum: T[]) where T in (c64, c128)")
template <class T>
void dot(Tensor<const T, 1> x, Strided<const T, 1> y, Tensor<T, 0> sum) {
  T total = 0;
  for (int64_t i = 0; i < x.size(0); ++i) total += conj(x[i]) * y[i];
  sum() = total;
}

OPWRIGHT("dot_backward(grad_sum: T[], x: T[N], y: T[N]) -> (grad_x: T[N], grad_y: T[N])")
template <class T>
void dot_backward(Tensor<const T, 0> grad_sum, Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 1> grad_x,
                  Tensor<T, 1> grad_y) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (grad_x) grad_x[i] = conj(grad_sum()) * y[i];
    if (grad_y) grad_y[i] = grad_sum() * x[i];
  }
}

OPWRIGHT("turned(x: T, y: T, by: float = 0.5) -> (z: T) where T in (c64, c128)")
template <class T>
T turned(T x, T y, double by) {
  return exp(T(0, 1) * x) * conj(y) + by * x / (2 + y * y) - pow(y, 3) + pow(x, y);
}

OPWRIGHT("modulus(z: T) -> (r: R, angle: R) where (T, R) in ((c64, f32), (c128, f64))")
template <class T, class R>
void modulus(T z, R &r, R &angle) {
  r = abs(z), angle = arg(z);
}

OPWRIGHT("scaled(z: T, s: R) -> (w: T) where (T, R) in ((c64, f32), (c128, f64))")
template <class T, class R>
T scaled(T z, R s) {
  return where(s > 0, z * s, conj(z) / (1 + s * s));
}

OPWRIGHT("either(x: T, y: T) -> (z: T) where T in (f32, f64, c64, c128)")
template <class T>
T either(T x, T y) {
  return sin(x) * y + 1;
}

OPWRIGHT("powers(z: c64[N]) -> (y: f32[N], w: c128[N])")
void powers(Tensor<const complex64, 1> z, Tensor<float, 1> y, Tensor<complex128, 1> w) {
  for (int64_t i = 0; i < z.size(0); ++i) y[i] = real(z[i] * conj(z[i])), w[i] = square(complex128(z[i]));
}

OPWRIGHT("row_sums(x: T[N]) -> (y: T[]) batched where T in (c64, c128)")
template <class T>
void row_sums(Tensor<const T, 1> x, Tensor<T, 0> y) {
  T sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += x[i];
  y() = sum;
}

OPWRIGHT("twice_(x: T!) where T in (c64, c128)")
template <class T>
void twice_(T &x) {
  x = 2 * x;
}

OPWRIGHT("shift_(x: T[N]!, by: T[]) where T in (c64, c128)")
template <class T>
void shift_(Strided<T, 1> x, Tensor<const T, 0> by) {
  for (int64_t i = 0; i < x.size(0); ++i) x[i] += by();
}

OPWRIGHT("histogram(z: T[N], at: i64[N] in [0, M), M: int) -> (y: T[M], z2: T[M]) where T in (c64, c128)")
template <class T>
void histogram(Tensor<const T, 1> z, Tensor<const int64_t, 1> at, int64_t M, Tensor<T, 1> y, Tensor<T, 1> z2) {
  Accumulate(y).parallel_for(z.size(0), 1, [&](int64_t begin, int64_t end, auto part) {
    for (int64_t i = begin; i < end; ++i) part[at[i]] += z[i];
  });
  for (int64_t i = 0; i < M; ++i) z2[i] = 0;
  parallel_for(z.size(0), 1, [&](int64_t i) { atomic_add(z2[at[i]], z[i]); });
}
