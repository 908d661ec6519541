// What a bundle has to carry: residuals, derivatives to second order, scalars, several element types and none.
#include <opwright.h>

// Neither inline nor a template: a library with several element types must still hold it once.
double one() { return 1.0; }

OPWRIGHT("swish(x: T[...], beta: float = 1.0) -> (y: T[...]; s: T[...]) where T in (f32, f64)")
template <class T>
void swish(Tensor<const T> x, double beta, Tensor<T> y, Tensor<T> s) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    const T gate = T(one()) / (T(one()) + exp(-T(beta) * x[i]));
    y[i] = x[i] * gate;
    if (s) s[i] = gate;
  }
}

OPWRIGHT("swish_backward(grad_y: T[...], x: T[...], s: T[...], beta: float) -> (grad_x: T[...])")
template <class T>
void swish_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<const T> s, double beta, Tensor<T> grad_x) {
  for (int64_t i = 0; i < x.numel(); ++i) grad_x[i] = grad_y[i] * s[i] * (1 + T(beta) * x[i] * (1 - s[i]));
}

OPWRIGHT("blend(x: T[M, N], w: T[N]?) -> (y: T[M]) where T in (f32, f64)")
template <class T>
void blend(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  parallel_for(x.size(0), [&](int64_t i) {
    T sum = 0;
    for (int64_t j = 0; j < x.size(1); ++j) sum += x(i, j) * (w ? w[j] : T(1));
    y[i] = sum;
  });
}

OPWRIGHT("blend_backward(grad_y: T[M], x: T[M, N], w: T[N]?) -> (grad_x: T[M, N], grad_w: T[N])")
template <class T>
void blend_backward(Tensor<const T, 1> grad_y, Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 2> grad_x,
                    Tensor<T, 1> grad_w) {
  for (int64_t j = 0; j < x.size(1); ++j) {
    if (grad_w) grad_w[j] = 0;
    for (int64_t i = 0; i < x.size(0); ++i) {
      if (grad_x) grad_x(i, j) = grad_y[i] * (w ? w[j] : T(1));
      if (grad_w) grad_w[j] += grad_y[i] * x(i, j);
    }
  }
}

OPWRIGHT("count(x: i64[N]) -> (n: i64[])")
void count(Tensor<const int64_t, 1> x, Tensor<int64_t, 0> n) {
  OPWRIGHT_CHECK(x.size(0) < 5, "more than I can count: ", x.size(0));
  n() = x.size(0);
}

OPWRIGHT("found(x: i64[N], all: bool = False) -> (n: int, y: i64[N]? if all)")
void found(Tensor<const int64_t, 1> x, bool, int64_t &n, Tensor<int64_t, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    n += x[i] > 1;
    if (y) y[i] = 2 * x[i];
  }
}

OPWRIGHT("axpys(xs: list[T[each ...]], y: T[], a: float) -> (zs: list[T[each ...]])")
template <class T>
void axpys(List<const T> xs, Tensor<const T, 0> y, double a, List<T> zs) {
  for (int64_t i = 0; i < xs.size(); ++i)
    for (int64_t j = 0; j < xs[i].numel(); ++j) zs[i][j] = T(a) * xs[i][j] + y();
}

OPWRIGHT("axpys_backward(grad_zs: list[T[each ...]], a: float) -> (grad_xs: list[T[each ...]], grad_y: T[])")
template <class T>
void axpys_backward(List<const T> grad_zs, double a, List<T> grad_xs, Tensor<T, 0> grad_y) {
  if (grad_y) grad_y() = 0;
  for (int64_t i = 0; i < grad_zs.size(); ++i)
    for (int64_t j = 0; j < grad_zs[i].numel(); ++j) {
      if (grad_xs) grad_xs[i][j] = T(a) * grad_zs[i][j];
      if (grad_y) grad_y() += grad_zs[i][j];
    }
}

OPWRIGHT("negate_(x: f32[N]!) -> (x)")
void negate_(Tensor<float, 1> x) {
  for (int64_t i = 0; i < x.size(0); ++i) x[i] = -x[i];
}

OPWRIGHT("halves(x: f32[N]) -> [first: f32[N//2], second: f32[(N+1)//2]]")
void halves(Tensor<const float, 1> x, Tensor<float, 1> first, Tensor<float, 1> second) {
  for (int64_t i = 0; i < first.size(0); ++i) first[i] = x[i];
  for (int64_t i = 0; i < second.size(0); ++i) second[i] = x[first.size(0) + i];
}

OPWRIGHT("marks(at: i64[N] in [0, S), size: int? in [0, inf) = None) -> (y: i64[?S = size])")
void marks(Tensor<const int64_t, 1> at, Resizable<int64_t, 1> y) {
  int64_t length = y.size(0);
  for (int64_t i = 0; i < at.size(0) && y.size(0) < 0; ++i) length = max(length, at[i] + 1);
  Tensor<int64_t, 1> out = y.resize(max(length, int64_t(0)));
  for (int64_t i = 0; i < out.size(0); ++i) out[i] = 0;
  for (int64_t i = 0; i < at.size(0); ++i) out[at[i]] = 1;
}
