// Operators for tests of DTensor beside those of mapped_ops.cpp.
#include <opwright.h>

#include <array>

OPWRIGHT("curve(x: T, y: T) -> (z: T) where T in (f64)")
template <class T>
T curve(T x, T y) {
  return x * tanh(y);
}

OPWRIGHT("norm(x: T[D], w: T[D]) -> (y: T[D]) where T in (f64) batched derived")
template <class T>
void norm(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  T sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += x[i] * x[i];
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] / sqrt(sum) * w[i];
}

OPWRIGHT("spread(x: T[N, M], w: T[M]) -> (y: T[N, M]; sum: T[N], all: T[M]) where T in (f64) independent N")
template <class T>
void spread(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 2> y, Tensor<T, 1> sum, Tensor<T, 1> all) {
  for (int64_t j = 0; all && j < w.size(0); ++j) all[j] = 0;
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (sum) sum[i] = 0;
    for (int64_t j = 0; j < w.size(0); ++j) {
      y(i, j) = x(i, j) * w[j];
      if (sum) sum[i] += x(i, j);
      if (all) all[j] += x(i, j);
    }
  }
}

// The gradient of x only from what is sharded with it; that of w from the residual that is a sum already.
OPWRIGHT("spread_backward(grad_y: T[N, M], x: T[N, M], w: T[M], sum: T[N]) -> (grad_x: T[N, M], grad_w: T[M]) "
         "independent N")
template <class T>
void spread_backward(Tensor<const T, 2> g, Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<const T, 1> sum,
                     Tensor<T, 2> grad_x, Tensor<T, 1> grad_w) {
  for (int64_t j = 0; grad_w && j < w.size(0); ++j) grad_w[j] = 0;
  for (int64_t i = 0; i < g.size(0); ++i) {
    T rest = sum[i];
    for (int64_t j = 0; j < w.size(0); ++j) rest -= x(i, j);
    for (int64_t j = 0; j < w.size(0); ++j) {
      if (grad_x) grad_x(i, j) = g(i, j) * w[j] + (abs(rest) > 1e-9 ? T(1) : T(0));  // the residual of another shard
      if (grad_w) grad_w[j] += g(i, j) * x(i, j);
    }
  }
}

OPWRIGHT("add_to(x: f64[N, M]!, y: f64[M]) independent N")
void add_to(Tensor<double, 2> x, Tensor<const double, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < y.size(0); ++j) x(i, j) += y[j];
}

OPWRIGHT("noise(x: f64[N], rng: generator(2)) -> (y: f64[N])")
void noise(Tensor<const double, 1> x, Tensor<double, 1> y, Generator rng) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    auto numbers = rng[i];
    y[i] = x[i] + numbers.uniform<double>();
  }
}

// Each gradient may be absent, so N and M are sizes that the forward gives its backward.
OPWRIGHT("margins(x: T[N, M], by: float = 1.0) -> (rows: T[N], columns: T[M]) where T in (f64) independent N, M")
template <class T>
void margins(Tensor<const T, 2> x, double by, Tensor<T, 1> rows, Tensor<T, 1> columns) {
  for (int64_t i = 0; i < x.size(0); ++i) rows[i] = 0;
  for (int64_t j = 0; j < x.size(1); ++j) columns[j] = 0;
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) rows[i] += by * x(i, j), columns[j] += by * x(i, j);
}

OPWRIGHT("margins_backward(grad_rows: T[N]?, grad_columns: T[M]?, by: float) -> (grad_x: T[N, M]) independent N, M")
template <class T>
void margins_backward(Tensor<const T, 1> rows, Tensor<const T, 1> columns, double by, Tensor<T, 2> grad_x) {
  for (int64_t i = 0; i < grad_x.size(0); ++i)
    for (int64_t j = 0; j < grad_x.size(1); ++j)
      grad_x(i, j) = by * ((rows ? rows[i] : T(0)) + (columns ? columns[j] : T(0)));
}

// The same with a list of numbers, whose elements DTensor passes on as arguments.
OPWRIGHT("weighed(x: T[N, M], by: list[float, 2]) -> (rows: T[N], columns: T[M]) where T in (f64) independent N, M")
template <class T>
void weighed(Tensor<const T, 2> x, std::array<double, 2> by, Tensor<T, 1> rows, Tensor<T, 1> columns) {
  for (int64_t i = 0; i < x.size(0); ++i) rows[i] = 0;
  for (int64_t j = 0; j < x.size(1); ++j) columns[j] = 0;
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) rows[i] += by[0] * x(i, j), columns[j] += by[1] * x(i, j);
}

OPWRIGHT("weighed_backward(grad_rows: T[N]?, grad_columns: T[M]?, by: list[float, 2]) -> (grad_x: T[N, M]) "
         "independent N, M")
template <class T>
void weighed_backward(Tensor<const T, 1> rows, Tensor<const T, 1> columns, std::array<double, 2> by, Tensor<T, 2> grad_x) {
  for (int64_t i = 0; i < grad_x.size(0); ++i)
    for (int64_t j = 0; j < grad_x.size(1); ++j)
      grad_x(i, j) = (rows ? by[0] * rows[i] : T(0)) + (columns ? by[1] * columns[j] : T(0));
}

OPWRIGHT("shifted(x: T[N, M], w: T[M]?, negative: bool = False) -> (y: T[N, M]; sum: T[N]) where T in (f64) "
         "independent N, M")
template <class T>
void shifted(Tensor<const T, 2> x, Tensor<const T, 1> w, bool negative, Tensor<T, 2> y, Tensor<T, 1> sum) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (sum) sum[i] = 0;
    for (int64_t j = 0; j < x.size(1); ++j) {
      y(i, j) = x(i, j) + (w ? (negative ? -w[j] : w[j]) : T(0));
      if (sum) sum[i] += x(i, j);
    }
  }
}

OPWRIGHT("shifted_backward(grad_y: T[N, M], w: T[M]?, negative: bool) -> (grad_x: T[N, M], grad_w: T[M]) independent N, M")
template <class T>
void shifted_backward(Tensor<const T, 2> g, Tensor<const T, 1>, bool negative, Tensor<T, 2> grad_x, Tensor<T, 1> grad_w) {
  for (int64_t j = 0; grad_w && j < g.size(1); ++j) grad_w[j] = 0;
  for (int64_t i = 0; i < g.size(0); ++i)
    for (int64_t j = 0; j < g.size(1); ++j) {
      if (grad_x) grad_x(i, j) = g(i, j);
      if (grad_w) grad_w[j] += negative ? -g(i, j) : g(i, j);
    }
}

OPWRIGHT("above(x: f64[N], limit: float) -> (at: i64[?K<=N])")
void above(Tensor<const double, 1> x, double limit, Resizable<int64_t, 1> at) {
  int64_t n = 0;
  for (int64_t i = 0; i < x.size(0); ++i)
    if (x[i] > limit) at[n++] = i;
  at.resize(n);
}

// A gradient that nobody gives is zeros.
OPWRIGHT("halves(x: T[N, M], w: T[M]) -> (y: T[N, M], z: T[N, M]) where T in (f64) independent N")
template <class T>
void halves(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 2> y, Tensor<T, 2> z) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < w.size(0); ++j) y(i, j) = x(i, j) * w[j], z(i, j) = x(i, j) - w[j];
}

OPWRIGHT("halves_backward(grad_y: T[N, M], grad_z: T[N, M], x: T[N, M], w: T[M]) -> (grad_x: T[N, M], grad_w: T[M]) "
         "independent N")
template <class T>
void halves_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> grad_z, Tensor<const T, 2> x, Tensor<const T, 1> w,
                     Tensor<T, 2> grad_x, Tensor<T, 1> grad_w) {
  for (int64_t j = 0; grad_w && j < w.size(0); ++j) grad_w[j] = 0;
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < w.size(0); ++j) {
      if (grad_x) grad_x(i, j) = grad_y(i, j) * w[j] + grad_z(i, j);
      if (grad_w) grad_w[j] += grad_y(i, j) * x(i, j) - grad_z(i, j);
    }
}
