// Operators with variants: pointwise ones, some over views, and one with several results.
#include <opwright.h>

/// A weighted sum.
OPWRIGHT("blend(x: T, y: T, by: float = 2.0) -> (z: T) where T in (f32, f64, i64) flops: 2*... variants: out, inplace")
template <class T>
T blend(T x, T y, double by) { return x + T(by) * y; }

OPWRIGHT("wave(x: T) -> (y: T) where T in (f32, f64) variants: out, inplace")
template <class T>
T wave(T x) { return x * sin(x); }

OPWRIGHT("scale.number(x: T[N], by: float) -> (y: T[N]) where T in (f32, f64) variants: out, inplace")
template <class T>
void scale(Tensor<const T, 1> x, double by, Tensor<T, 1> y) {
  const int64_t N = x.size(0);  // reads what a result in the same memory would have overwritten
  for (int64_t i = 0; i < N; ++i) y[i] = x[N - 1 - i] * T(by);
}

OPWRIGHT("scale_backward.number(grad_y: T[N], by: float, x: T[N]) -> (grad_x: T[N])")
template <class T>
void scale_backward(Tensor<const T, 1> grad_y, double by, Tensor<const T, 1>, Tensor<T, 1> grad_x) {
  const int64_t N = grad_y.size(0);
  for (int64_t i = 0; i < N; ++i) grad_x[i] = grad_y[N - 1 - i] * T(by);
}

OPWRIGHT("ends(x: T[M, N]) -> (least: T[M], most: T[M]) where T in (f32, f64) variants: out")
template <class T>
void ends(Tensor<const T, 2> x, Tensor<T, 1> least, Tensor<T, 1> most) {
  OPWRIGHT_CHECK(x.size(1) > 0, "there are no columns");
  for (int64_t i = 0; i < x.size(0); ++i) {
    least[i] = most[i] = x[i][0];
    for (int64_t j = 1; j < x.size(1); ++j) {
      least[i] = x[i][j] < least[i] ? x[i][j] : least[i];
      most[i] = x[i][j] > most[i] ? x[i][j] : most[i];
    }
  }
}

OPWRIGHT("positive(x: T[N]) -> (at: i64[?K<=N]) where T in (f32, f64) variants: out")
template <class T>
void positive(Tensor<const T, 1> x, Resizable<int64_t, 1> at) {
  int64_t count = 0;
  for (int64_t i = 0; i < x.size(0); ++i)
    if (x[i] > 0) at[count++] = i;
  at.resize(count);
}

OPWRIGHT("shaken(x: T[N], rng: generator(1)) -> (y: T[N]) where T in (f32, f64) variants: out, inplace")
template <class T>
void shaken(Tensor<const T, 1> x, Tensor<T, 1> y, Generator rng) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] + T(rng[i].uniform());
}
