// Kernels that read rows of a table which all slices share, in each way that a view can be read.
#include <opwright.h>

template <class T>
void zero(Tensor<T, 2> y) {
  for (int64_t n = 0; n < y.size(0); ++n)
    for (int64_t c = 0; c < y.size(1); ++c) y(n, c) = T(0);
}

OPWRIGHT("bag(table: T[V, C], at: i64[N, K] in [0, V), w: T[N, K]) -> (y: T[N, C]) independent N derived")
template <class T>
void bag(Tensor<const T, 2> table, Tensor<const int64_t, 2> at, Tensor<const T, 2> w, Tensor<T, 2> y) {
  for (int64_t n = 0; n < at.size(0); ++n)
    for (int64_t c = 0; c < table.size(1); ++c) {
      acc<T> sum = 0;
      for (int64_t k = 0; k < at.size(1); ++k) sum += acc<T>(table(at(n, k), c)) * acc<T>(w(n, k));
      y(n, c) = T(sum);
    }
}

// The same of the whole call.
OPWRIGHT("bag_of_all(table: T[V, C], at: i64[N, K] in [0, V), w: T[N, K]) -> (y: T[N, C]) derived")
template <class T>
void bag_of_all(Tensor<const T, 2> table, Tensor<const int64_t, 2> at, Tensor<const T, 2> w, Tensor<T, 2> y) {
  bag<T>(table, at, w, y);
}

// By rows; by references that are read after other rows were; by updates of vectors; by a pointer, from which any element can be
// reached: of data(), the address of an element, that of one kept as a reference, a row's, ...
OPWRIGHT(
    "by_way(table: T[V, C], at: i64[N, K] in [0, V), w: T[N, K], way: int in [0, 8)) -> (y: T[N, C]) independent N "
    "derived")
template <class T>
void by_way(Tensor<const T, 2> table, Tensor<const int64_t, 2> at, Tensor<const T, 2> w, int64_t way, Tensor<T, 2> y) {
  const int64_t C = table.size(1);
  zero(y);
  const T *all = nullptr;
  const T &corner = table(0, 0);
  if (way == 3) all = table.data();
  if (way == 4) all = &table(0, 0);
  if (way == 5) all = &corner;
  if (way == 6) all = table[0].data();
  if (way == 7) all = &table.flat(C) - C;
  for (int64_t n = 0; n < at.size(0) && at.size(1) > 0; ++n) {
    const T &first = table(at(n, 0), 0);
    for (int64_t k = 0; k < at.size(1); ++k) {
      const Tensor<const T, 1> row = table[at(n, k)];
      if (way == 2) axpy(w(n, k), row, y[n]);
      for (int64_t c = 0; c < C && way != 2; ++c)
        y[n][c] += (way > 2 ? all[at(n, k) * C + c] : way == 1 && k == 0 && c == 0 ? T(0) : row[c]) * w[n][k];
    }
    if (way == 1) y(n, 0) += first * w(n, 0);
  }
}

OPWRIGHT("of_any_rank(table: T[V, C], at: i64[N, K] in [0, V), w: T[N, K]) -> (y: T[N, C]) independent N derived")
template <class T>
void of_any_rank(Tensor<const T> table, Tensor<const int64_t, 2> at, Tensor<const T, 2> w, Tensor<T, 2> y) {
  zero(y);
  const int64_t C = table.size(1);
  for (int64_t n = 0; n < at.size(0); ++n)
    for (int64_t k = 0; k < at.size(1); ++k)
      for (int64_t c = 0; c < C; ++c) {
        const int64_t i = at(n, k) * C + c;
        const T &one = c % 3 == 0 ? table[i] : c % 3 == 1 ? table.flat(i) : table(at(n, k), c);
        y(n, c) += one * w(n, k);
      }
}

OPWRIGHT("strided(table: T[V, C], at: i64[N, K] in [0, V), w: T[N, K]) -> (y: T[N, C]) independent N derived")
template <class T>
void strided(Strided<const T, 2> table, Tensor<const int64_t, 2> at, Tensor<const T, 2> w, Tensor<T, 2> y) {
  zero(y);
  for (int64_t n = 0; n < at.size(0); ++n)
    for (int64_t k = 0; k < at.size(1); ++k)
      for (int64_t c = 0; c < table.size(1); ++c)
        y(n, c) += (c % 2 ? table(at(n, k), c) : table[at(n, k)][c]) * w(n, k);
}

// Functions that say what they read.
OPWRIGHT("by_dots(table: T[V, C], at: i64[N, K] in [0, V), q: T[N, C]) -> (y: T[N, K]) independent N derived")
template <class T>
void by_dots(Tensor<const T, 2> table, Tensor<const int64_t, 2> at, Tensor<const T, 2> q, Tensor<T, 2> y) {
  for (int64_t n = 0; n < at.size(0); ++n)
    for (int64_t k = 0; k < at.size(1); ++k) y(n, k) = T(dot(table[at(n, k)], q[n]));
}

// Rows that lie beside one another, in a product of matrices, by a pointer into the table.
OPWRIGHT("by_products(table: T[V, C], at: i64[N] in [0, V), q: T[N, C]) -> (y: T[N, 2]) independent N derived")
template <class T>
void by_products(Tensor<const T, 2> table, Tensor<const int64_t, 1> at, Tensor<const T, 2> q, Tensor<T, 2> y) {
  const int64_t C = table.size(1);
  for (int64_t n = 0; n < at.size(0); ++n)
    gemm(false, true, 1, 2, C, 1.0, q[n].data(), C, &table(at[n] / 2 * 2, 0), C, 0.0, y[n].data(), 2);
}

// A tape as long as the numbers say.
OPWRIGHT("repeated(table: T[V, C], at: i64[N] in [0, V), times: i64[N]) -> (y: T[N, C]) independent N derived")
template <class T>
void repeated(Tensor<const T, 2> table, Tensor<const int64_t, 1> at, Tensor<const int64_t, 1> times, Tensor<T, 2> y) {
  zero(y);
  for (int64_t n = 0; n < at.size(0); ++n)
    for (int64_t k = 0; k < times[n]; ++k)
      for (int64_t c = 0; c < table.size(1); ++c) y(n, c) += table(at[n], c) * table(at[n], c);
}
