// Optional results and counts, for test_optional_results.py and test_counts.py.
#include <opwright.h>

#include <optional>

// The squares' sums of rows where `all` is true, the weights' squares where there are weights.
OPWRIGHT(
    "weigh(x: T[B, N], w: T[N]?, all: bool = False) -> (y: T[B, N], sums: T[B]? if all, squares: T[N]? if w) "
    "where T in (f32, f64)")
template <class T>
void weigh(Strided<const T, 2> x, Tensor<const T, 1> w, bool all, Tensor<T, 2> y, Tensor<T, 1> sums,
           Tensor<T, 1> squares) {
  OPWRIGHT_CHECK(bool(sums) == all && bool(squares) == bool(w), "a result is there that isn't wanted");
  for (int64_t b = 0; b < x.size(0); ++b) {
    acc<T> sum = 0;
    for (int64_t n = 0; n < x.size(1); ++n) {
      y(b, n) = x(b, n) * (w ? w[n] : T(1));
      sum += acc<T>(x(b, n)) * x(b, n);
    }
    if (sums) sums[b] = T(sum);
  }
  if (squares)
    for (int64_t n = 0; n < w.size(0); ++n) squares[n] = w[n] * w[n];
}

OPWRIGHT(
    "weigh_backward(grad_y: T[B, N], grad_sums: T[B]?, grad_squares: T[N]?, x: T[B, N], w: T[N]?) -> (grad_x: T[B, N], "
    "grad_w: T[N])")
template <class T>
void weigh_backward(Strided<const T, 2> grad_y, Tensor<const T, 1> grad_sums, Tensor<const T, 1> grad_squares,
                    Strided<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 2> grad_x, Tensor<T, 1> grad_w) {
  for (int64_t n = 0; n < x.size(1); ++n) {
    acc<T> of_w = grad_squares && w ? 2 * w[n] * grad_squares[n] : T(0);
    for (int64_t b = 0; b < x.size(0); ++b) {
      of_w += acc<T>(grad_y(b, n)) * x(b, n);
      if (grad_x) grad_x(b, n) = grad_y(b, n) * (w ? w[n] : T(1)) + (grad_sums ? 2 * x(b, n) * grad_sums[b] : T(0));
    }
    if (grad_w) grad_w[n] = T(of_w);
  }
}

enum class Give { values, places, both };

// The positive numbers, their places, or both.
OPWRIGHT(
    "positive(x: T[N], give: values | places | both = both) -> (found: T[?K<=N]? if not give == places, at: "
    "i64[?K<=N]? if not give == values)")
template <class T>
void positive(Tensor<const T, 1> x, Give, Resizable<T, 1> found, Resizable<int64_t, 1> at) {
  int64_t count = 0;
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (!(x[i] > T(0))) continue;
    if (found) found[count] = x[i];
    if (at) at[count] = i;
    ++count;
  }
  if (found) found.resize(count);
  if (at) at.resize(count);
}

// Where numbers exceed a limit, if there is one.
OPWRIGHT("limited(x: T[...], limit: float?) -> (y: T[...], over: bool[...]? if limit)")
template <class T>
void limited(Tensor<const T> x, std::optional<double> limit, Tensor<T> y, Tensor<bool> over) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (over) over[i] = x[i] > T(*limit);
    y[i] = limit && x[i] > T(*limit) ? T(*limit) : x[i];
  }
}

OPWRIGHT("stamped(x: T[N]!, all: bool) -> (z: T[N]? if all)")
template <class T>
void stamped(Tensor<T, 1> x, bool, Tensor<T, 1> z) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (z) z[i] = x[i];
    x[i] = 1;
  }
}

// A kernel that doesn't ask whether its result is wanted.
OPWRIGHT("untested(x: T[N], twice: bool) -> (y: T[N], z: T[N]? if twice)")
template <class T>
void untested(Tensor<const T, 1> x, bool, Tensor<T, 1> y, Tensor<T, 1> z) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i], z[i] = 2 * x[i];
}

OPWRIGHT("rowsum(x: T[N], first: bool) -> (y: T[], head: T[]? if first, size: i64[]? if not first) batched")
template <class T>
void rowsum(Tensor<const T, 1> x, bool, Tensor<T, 0> y, Tensor<T, 0> head, Tensor<int64_t, 0> size) {
  acc<T> sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += acc<T>(x[i]);
  *y.data() = T(sum);
  if (head) *head.data() = x.size(0) ? x[0] : T(0);
  if (size) *size.data() = x.size(0);
}

OPWRIGHT("above(x: T[...], limit: float = 0.0) -> (count: int)")
template <class T>
void above(Tensor<const T> x, double limit, int64_t &count) {
  for (int64_t i = 0; i < x.numel(); ++i) count += x[i] > T(limit);  // it is 0 before
}

OPWRIGHT("clipped(x: T[...], limit: float, mask: bool = False) -> (y: T[...], count: int, over: bool[...]? if mask)")
template <class T>
void clipped(Tensor<const T> x, double limit, bool, Tensor<T> y, int64_t &count, Tensor<bool> over) {
  count = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const bool is_over = x[i] > T(limit);
    count += is_over;
    y[i] = is_over ? T(limit) : x[i];
    if (over) over[i] = is_over;
  }
}

OPWRIGHT("clipped_backward(grad_y: T[...], x: T[...], limit: float) -> (grad_x: T[...])")
template <class T>
void clipped_backward(Tensor<const T> grad_y, Tensor<const T> x, double limit, Tensor<T> grad_x) {
  for (int64_t i = 0; i < x.numel(); ++i) grad_x[i] = x[i] > T(limit) ? T(0) : grad_y[i];
}

OPWRIGHT("negated(x: i64[]) -> (count: int)")
void negated(Tensor<const int64_t, 0> x, int64_t &count) { count = -*x.data(); }

OPWRIGHT("incremented(x: T[N]!) -> (count: int)")
template <class T>
void incremented(Tensor<T, 1> x, int64_t &count) {
  for (int64_t i = 0; i < x.size(0); ++i) x[i] += 1;
  count = x.size(0);
}

OPWRIGHT("doubled_count(n: int) -> (count: int)")
void doubled_count(int64_t n, int64_t &count) { count = 2 * n; }
