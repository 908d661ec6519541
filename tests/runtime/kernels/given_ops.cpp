// Operators with an axis that an optional int decides, or the kernel where that is None.
#include <opwright.h>

#include <optional>

static int64_t one_more_than_largest(Tensor<const int64_t, 1> at) {
  int64_t length = 0;
  for (int64_t i = 0; i < at.size(0); ++i) length = at[i] < length ? length : at[i] + 1;
  return length;
}

OPWRIGHT("count(at: i64[N] in [0, S), size: int? in [0, 99] = None) -> (y: i64[?S = size])")
void count(Tensor<const int64_t, 1> at, Resizable<int64_t, 1> y) {
  const int64_t length = y.size(0) >= 0 ? y.size(0) : one_more_than_largest(at);
  Tensor<int64_t, 1> counts = y.resize(length);
  for (int64_t i = 0; i < length; ++i) counts[i] = 0;
  for (int64_t i = 0; i < at.size(0); ++i) ++counts[at[i]];
}

OPWRIGHT("scatter(x: T[*A, E, *B], at: i64[E] in [0, S), dim: axis(E) = -1, dim_size: int? in [0, inf) = None)"
         " -> (y: T[*A, ?S = dim_size, *B], n: i64[?S = dim_size])")
template <class T>
void scatter(Strided<const T, 3> x, Tensor<const int64_t, 1> at, std::optional<int64_t> dim_size, Resizable<T, 3> y,
             Resizable<int64_t, 1> n) {
  const int64_t length = dim_size ? *dim_size : one_more_than_largest(at);
  Tensor<int64_t, 1> counts = n.resize(length);
  Tensor<T, 3> sums = y.resize(length);
  for (int64_t i = 0; i < sums.numel(); ++i) sums.flat(i) = 0;
  for (int64_t i = 0; i < length; ++i) counts[i] = 0;
  for (int64_t e = 0; e < at.size(0); ++e) ++counts[at[e]];
  for (int64_t a = 0; a < x.size(0); ++a)
    for (int64_t e = 0; e < x.size(1); ++e)
      for (int64_t b = 0; b < x.size(2); ++b) sums(a, at[e], b) += x(a, e, b);
}

OPWRIGHT("scatter_backward(grad_y: T[*A, S, *B], at: i64[E] in [0, S), dim: axis(E)) -> (grad_x: T[*A, E, *B])")
template <class T>
void scatter_backward(Strided<const T, 3> grad_y, Tensor<const int64_t, 1> at, Tensor<T, 3> grad_x) {
  for (int64_t a = 0; a < grad_x.size(0); ++a)
    for (int64_t e = 0; e < grad_x.size(1); ++e)
      for (int64_t b = 0; b < grad_x.size(2); ++b) grad_x(a, e, b) = grad_y(a, at[e], b);
}

// `resize` isn't called where the length is given, or is called with another one.
OPWRIGHT("fills(x: T[N], size: int?, length: int) -> (y: T[?S = size])")
template <class T>
void fills(Tensor<const T, 1> x, int64_t length, Resizable<T, 1> y) {
  if (length >= 0) y.resize(length);
  for (int64_t i = 0; y.data() && i < y.size(0); ++i) y[i] = T(x.size(0));
}

OPWRIGHT("positive(x: T[*A, N], at: i64[M] in [0, N)) -> (y: T[*A, ?K<=M], z: T[?J, *A])")
template <class T>
void positive(Tensor<const T, 2> x, Tensor<const int64_t, 1> at, Resizable<T, 2> y, Resizable<T, 2> z) {
  int64_t kept = 0;
  for (int64_t i = 0; i < at.size(0); ++i) {
    if (at[i] % 2) continue;
    for (int64_t a = 0; a < x.size(0); ++a) y(a, kept) = x(a, at[i]);
    ++kept;
  }
  y.resize(kept);
  Tensor<T, 2> rows = z.resize(kept);
  for (int64_t k = 0; k < kept; ++k)
    for (int64_t a = 0; a < x.size(0); ++a) rows(k, a) = T(k);
}
