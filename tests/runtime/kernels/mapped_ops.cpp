// Operators for tests of vmap: with independent axes, and without a word.
#include <opwright.h>

OPWRIGHT("conv(x: T[N, L], w: T[K]) -> (y: T[N, L-K+1]) where T in (f32, f64) independent N")
template <class T>
void conv(Strided<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 2> y) {
  for (int64_t n = 0; n < y.size(0); ++n)
    for (int64_t l = 0; l < y.size(1); ++l) {
      y(n, l) = 0;
      for (int64_t k = 0; k < w.size(0); ++k) y(n, l) += x(n, l + k) * w[k];
    }
}

OPWRIGHT("conv_backward(grad_y: T[N, L-K+1], x: T[N, L], w: T[K]) -> (grad_x: T[N, L], grad_w: T[K]) independent N")
template <class T>
void conv_backward(Tensor<const T, 2> g, Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 2> grad_x,
                   Tensor<T, 1> grad_w) {
  for (int64_t i = 0; grad_x && i < grad_x.numel(); ++i) grad_x.flat(i) = 0;
  for (int64_t k = 0; grad_w && k < w.size(0); ++k) grad_w[k] = 0;
  for (int64_t n = 0; n < g.size(0); ++n)
    for (int64_t l = 0; l < g.size(1); ++l)
      for (int64_t k = 0; k < w.size(0); ++k) {
        if (grad_x) grad_x(n, l + k) += g(n, l) * w[k];
        if (grad_w) grad_w[k] += g(n, l) * x(n, l + k);
      }
}

// Each row is divided by the mean of all: along no axis independent. The backward tests no gradient, and takes a residual.
OPWRIGHT("centred(x: T[N, M], w: T[M]?, scale: float = 1.0) -> (y: T[N, M]; mean: T[M]) where T in (f32, f64)")
template <class T>
void centred(Tensor<const T, 2> x, Tensor<const T, 1> w, double scale, Tensor<T, 2> y, Tensor<T, 1> mean) {
  for (int64_t j = 0; j < x.size(1); ++j) {
    T sum = 0;
    for (int64_t i = 0; i < x.size(0); ++i) sum += x(i, j);
    if (mean) mean[j] = sum / x.size(0);
    for (int64_t i = 0; i < x.size(0); ++i) y(i, j) = T(scale) * (w ? w[j] : T(1)) * (x(i, j) - sum / x.size(0));
  }
}

OPWRIGHT("centred_backward(grad_y: T[N, M], x: T[N, M], w: T[M]?, mean: T[M], scale: float) "
         "-> (grad_x: T[N, M], grad_w: T[M])")
template <class T>
void centred_backward(Tensor<const T, 2> g, Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<const T, 1> mean,
                      double scale, Tensor<T, 2> grad_x, Tensor<T, 1> grad_w) {
  for (int64_t j = 0; j < x.size(1); ++j) {
    T sum = 0, product = 0;
    for (int64_t i = 0; i < x.size(0); ++i) sum += g(i, j), product += g(i, j) * (x(i, j) - mean[j]);
    for (int64_t i = 0; i < x.size(0); ++i)
      grad_x(i, j) = T(scale) * (w ? w[j] : T(1)) * (g(i, j) - sum / x.size(0));
    grad_w[j] = T(scale) * product;
  }
}

// The length of the gradient is one that only the forward knows.
OPWRIGHT("total(x: T[N, M]) -> (y: T[M]) where T in (f64) independent N, M")
template <class T>
void total(Tensor<const T, 2> x, Tensor<T, 1> y) {
  for (int64_t j = 0; j < y.size(0); ++j) {
    y[j] = 0;
    for (int64_t i = 0; i < x.size(0); ++i) y[j] += x(i, j);
  }
}

OPWRIGHT("total_backward(grad_y: T[M]) -> (grad_x: T[N, M]) independent N, M")
template <class T>
void total_backward(Tensor<const T, 1> g, Tensor<T, 2> grad_x) {
  for (int64_t i = 0; i < grad_x.size(0); ++i)
    for (int64_t j = 0; j < g.size(0); ++j) grad_x(i, j) = g[j];
}

OPWRIGHT("taken(x: f64[M, C], at: i64[N] in [0, M)) -> (y: f64[N, C])")
void taken(Tensor<const double, 2> x, Tensor<const int64_t, 1> at, Tensor<double, 2> y) {
  for (int64_t n = 0; n < at.size(0); ++n)
    for (int64_t c = 0; c < x.size(1); ++c) y(n, c) = x(at[n], c);
}

OPWRIGHT("add_mean(x: f64[N]!, by: f64[M])")
void add_mean(Tensor<double, 1> x, Tensor<const double, 1> by) {
  double sum = 0;
  for (int64_t i = 0; i < by.size(0); ++i) sum += by[i] / by.size(0);
  for (int64_t i = 0; i < x.size(0); ++i) x[i] += sum;
}

OPWRIGHT("softmax(x: T[*A, D, *B], dim: axis(D) = -1) -> (y: T[*A, D, *B]) where T in (f64)")
template <class T>
void softmax(Strided<const T, 3> x, Tensor<T, 3> y) {
  for (int64_t a = 0; a < x.size(0); ++a)
    for (int64_t b = 0; b < x.size(2); ++b) {
      T sum = 0;
      for (int64_t d = 0; d < x.size(1); ++d) sum += y(a, d, b) = exp(x(a, d, b));
      for (int64_t d = 0; d < x.size(1); ++d) y(a, d, b) /= sum;
    }
}

OPWRIGHT("several(x: T[..., N], all: bool) -> (y: T[...], both: T[..., 2]? if all) where T in (f64)")
template <class T>
void several(Tensor<const T> x, bool, Tensor<T> y, Tensor<T> both) {
  const int64_t n = x.size(x.ndim() - 1);
  for (int64_t i = 0; i < y.numel(); ++i) {
    T sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += x.flat(i * n + j);
    y.flat(i) = sum;
    if (both) both.flat(2 * i) = sum, both.flat(2 * i + 1) = -sum;
  }
}

OPWRIGHT("refusing(x: f64[N]) -> (y: f64[])")
void refusing(Tensor<const double, 1> x, Tensor<double, 0> y) {
  OPWRIGHT_CHECK(x.size(0) > 0, "there is no first");
  OPWRIGHT_CHECK(x[0] > 0, "the first is ", x[0]);
  y() = x[0];
}
