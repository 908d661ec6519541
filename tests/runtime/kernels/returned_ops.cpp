// Results that are returned in a list, and arguments that are overwritten and returned.
#include <opwright.h>

OPWRIGHT("sums(x: T[N, M], scale: float = 1.0) -> [rows: T[N], columns: acc(T)[M]; squares: T[N, M]]")
template <class T>
void sums(Tensor<const T, 2> x, double scale, Tensor<T, 1> rows, Tensor<acc<T>, 1> columns, Tensor<T, 2> squares) {
  for (int64_t j = 0; j < x.size(1); ++j) columns[j] = 0;
  for (int64_t i = 0; i < x.size(0); ++i) {
    acc<T> sum = 0;
    for (int64_t j = 0; j < x.size(1); ++j) {
      const acc<T> square = acc<T>(x(i, j)) * x(i, j);
      sum += x(i, j);
      columns[j] += square;
      if (squares) squares(i, j) = T(2 * x(i, j));
    }
    rows[i] = T(acc<T>(scale) * sum);
  }
}

OPWRIGHT("sums_backward(grad_rows: T[N], grad_columns: acc(T)[M], squares: T[N, M], scale: float) -> (grad_x: T[N, M])")
template <class T>
void sums_backward(Tensor<const T, 1> grad_rows, Tensor<const acc<T>, 1> grad_columns, Tensor<const T, 2> squares,
                   double scale, Tensor<T, 2> grad_x) {
  for (int64_t i = 0; i < squares.size(0); ++i)
    for (int64_t j = 0; j < squares.size(1); ++j)
      grad_x(i, j) = T(acc<T>(scale) * grad_rows[i] + grad_columns[j] * squares(i, j));
}

OPWRIGHT("split(x: T, y: T) -> [more: T, less: T]")
template <class T>
void split(T x, T y, T &more, T &less) {
  more = x > y ? x : y;
  less = x > y ? y : x;
}

OPWRIGHT("one(x: T[N]) -> [y: T[N]] batched")
template <class T>
void one(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = -x[x.size(0) - 1 - i];
}

OPWRIGHT("noise(x: T[N], rng: generator(1)) -> [y: T[N], z: f32[N]]")
template <class T>
void noise(Tensor<const T, 1> x, Tensor<T, 1> y, Tensor<float, 1> z, Generator rng) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    z[i] = rng[i].uniform();
    y[i] = T(x[i] + z[i]);
  }
}

OPWRIGHT("writes(x: T[N]!) -> [y: T[N]]")
template <class T>
void writes(Tensor<T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i], x[i] = 0;
}

OPWRIGHT("made(n: int, value: float) -> [y: f32[n], z: f64[n]]")
void made(int64_t n, double value, Tensor<float, 1> y, Tensor<double, 1> z) {
  for (int64_t i = 0; i < n; ++i) y[i] = float(value), z[i] = value;
}

OPWRIGHT("scale_(x: T[N]!, by: float) -> (x)")
template <class T>
void scale_(Strided<T, 1> x, double by) {
  for (int64_t i = 0; i < x.size(0); ++i) x[i] = T(by * x[i]);
}

OPWRIGHT("scale__backward(grad_x: T[N], by: float) -> (grad_x: T[N])")
template <class T>
void scale__backward(Tensor<const T, 1> grad_x, double by, Tensor<T, 1> result) {
  for (int64_t i = 0; i < grad_x.size(0); ++i) result[i] = T(by * grad_x[i]);
}

OPWRIGHT("cumsum(x: T[N], out: T[N]!) -> (out)")
template <class T>
void cumsum(Tensor<const T, 1> x, Tensor<T, 1> out) {
  acc<T> sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) out[i] = T(sum += x[i]);
}

OPWRIGHT("exchange(x: T[N]!, y: T[N]!) -> (y, x)")
template <class T>
void exchange(Tensor<T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    const T was = x[i];
    x[i] = y[i], y[i] = was;
  }
}

OPWRIGHT("shift_(x: T!, by: T) -> (x)")
template <class T>
void shift_(T &x, T by) { x = x * by; }

OPWRIGHT("clear_(xs: list[T[each N]], out: T[M]!) -> (out)")
template <class T>
void clear_(List<const T, 1> xs, Tensor<T, 1> out) {
  for (int64_t i = 0; i < out.size(0); ++i) out[i] = T(xs.size());
}
