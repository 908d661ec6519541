// BLAS: that of PyTorch where it can be called, for other element types ATen on the same memory.
#include <ATen/ops/addmm.h>
#include <ATen/ops/addmv.h>
#include <ATen/ops/addr.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "operands.h"

// Fortran's calling convention. Weak: some builds of PyTorch don't export them.
#define OPW_BLAS(T, gemm, gemv, axpy)                                                                           \
  extern "C" {                                                                                                  \
  __attribute__((weak)) void gemm(const char *, const char *, const int *, const int *, const int *, const T *, \
                                  const T *, const int *, const T *, const int *, const T *, T *, const int *); \
  __attribute__((weak)) void gemv(const char *, const int *, const int *, const T *, const T *, const int *,    \
                                  const T *, const int *, const T *, T *, const int *);                         \
  __attribute__((weak)) void axpy(const int *, const T *, const T *, const int *, T *, const int *);            \
  }                                                                                                             \
  namespace opw::th {                                                                                           \
  template <>                                                                                                   \
  struct Blas<T> {                                                                                              \
    static constexpr bool exists = true;                                                                        \
    static constexpr auto matrix_matrix = &gemm;                                                                \
    static constexpr auto matrix_vector = &gemv;                                                                \
    static constexpr auto add = &axpy;                                                                          \
  };                                                                                                            \
  }

namespace opw::th {
template <class T>
struct Blas {
  static constexpr bool exists = false;
};
}  // namespace opw::th

OPW_BLAS(float, sgemm_, sgemv_, saxpy_)
OPW_BLAS(double, dgemm_, dgemv_, daxpy_)

namespace opw::th {
namespace {

template <class... Numbers>
bool fit_int(Numbers... numbers) {
  return ((numbers <= std::numeric_limits<int>::max() && numbers >= std::numeric_limits<int>::min()) && ...);
}

bool transposes(char letter, int argument) {
  CHECK_ARG(letter == 'n' || letter == 'N' || letter == 't' || letter == 'T' || letter == 'c' || letter == 'C',
            argument, "expected 'n', 't' or 'c', got '%c'", letter);
  return letter != 'n' && letter != 'N';
}

void check_count(int64_t n, int argument) {
  CHECK_ARG(n >= 0, argument, "expected at least 0, got %lld", static_cast<long long>(n));
}

void check_leading(int64_t ld, int64_t rows, int argument) {
  CHECK_ARG(ld >= std::max<int64_t>(rows, 1), argument, "the leading dimension is %lld, the columns have %lld elements",
            static_cast<long long>(ld), static_cast<long long>(rows));
}

// Where element 0 is: a vector whose increment is negative begins at its end.
template <class T>
T *begin_of(T *x, int64_t n, int64_t inc) {
  return inc < 0 ? x - (n - 1) * inc : x;
}

// Level 1. One pass over memory: a loop is as fast as any library.
template <class T, class F>
void each_of(int64_t n, T *x, int64_t incx, T *y, int64_t incy, F f) {
  if (n <= 0) return;
  x = begin_of(x, n, incx), y = begin_of(y, n, incy);
  if (incx == 1 && incy == 1)
    for (int64_t i = 0; i < n; ++i) f(x[i], y[i]);
  else
    for (int64_t i = 0; i < n; ++i) f(x[i * incx], y[i * incy]);
}

template <class T>
void blas_swap(int64_t n, T *x, int64_t incx, T *y, int64_t incy) {
  each_of(n, x, incx, y, incy, [](T &a, T &b) { std::swap(a, b); });
}

template <class T>
void blas_copy(int64_t n, T *x, int64_t incx, T *y, int64_t incy) {
  each_of(n, x, incx, y, incy, [](const T &a, T &b) { b = a; });
}

// By 0: zeros, whatever was there.
template <class T>
void blas_scal(int64_t n, T a, T *x, int64_t incx) {
  each_of(incx > 0 ? n : 0, x, incx, x, incx, [a](T &b, T &) { b = a == T(0) ? T(0) : times(a, b); });
}

template <class T>
void blas_axpy(int64_t n, T a, T *x, int64_t incx, T *y, int64_t incy) {
  if constexpr (Blas<T>::exists) {
    if (Blas<T>::add && n > 0 && fit_int(n, incx, incy)) {
      const int count = static_cast<int>(n), x_step = static_cast<int>(incx), y_step = static_cast<int>(incy);
      return Blas<T>::add(&count, &a, x, &x_step, y, &y_step);
    }
  }
  each_of(n, x, incx, y, incy, [a](const T &b, T &c) { c = plus(c, times(a, b)); });
}

template <class T>
at::Tensor vector_of(T *x, int64_t n, int64_t inc, at::ScalarType type) {
  return at::from_blob(x, {n}, {inc}, type);
}

template <class T>
T blas_dot(int64_t n, T *x, int64_t incx, T *y, int64_t incy, at::ScalarType type) {
  if (n <= 0) return T(0);
  if (std::is_floating_point_v<T> && incx >= 0 && incy >= 0)
    return at::dot(vector_of(x, n, incx, type), vector_of(y, n, incy, type)).template item<T>();
  T sum = T(0);
  each_of(n, x, incx, y, incy, [&sum](const T &a, const T &b) { sum = plus(sum, times(a, b)); });
  return sum;
}

// ATen has no negative strides: such a vector travels by way of a copy.
template <class T>
struct Straight {
  Straight(T *x, int64_t n, int64_t inc, at::ScalarType type) : given(x), n(n), inc(inc) {
    const bool fits = inc > 0 || n <= 1;
    tensor = fits ? vector_of(x, n, std::max<int64_t>(inc, 1), type) : at::empty({n}, type);
    if (!fits) blas_copy(n, x, inc, tensor.data_ptr<T>(), int64_t{1});
  }
  void write_back() {
    if (tensor.const_data_ptr() != given && n > 0) blas_copy(n, tensor.data_ptr<T>(), int64_t{1}, given, inc);
  }
  T *given;
  int64_t n, inc;
  at::Tensor tensor;
};

at::Tensor column_major(void *a, int64_t rows, int64_t columns, int64_t ld, at::ScalarType type) {
  return at::from_blob(a, {rows, columns}, {1, ld}, type);
}

template <class T>
void blas_gemv(char trans, int64_t m, int64_t n, T alpha, T *a, int64_t lda, T *x, int64_t incx, T beta, T *y,
               int64_t incy, at::ScalarType type) {
  const bool transposed = transposes(trans, 1);
  check_count(m, 2), check_count(n, 3), check_leading(lda, m, 6);
  CHECK_ARG(incx != 0, 8, "the increment can't be 0");
  CHECK_ARG(incy != 0, 11, "the increment can't be 0");
  const int64_t in = transposed ? m : n, out = transposed ? n : m;
  if (out == 0) return;
  if constexpr (Blas<T>::exists) {
    if (in > 0 && Blas<T>::matrix_vector && fit_int(m, n, lda, incx, incy)) {
      const int sizes[] = {static_cast<int>(m), static_cast<int>(n), static_cast<int>(lda), static_cast<int>(incx),
                           static_cast<int>(incy)};
      return Blas<T>::matrix_vector(&trans, sizes, sizes + 1, &alpha, a, sizes + 2, x, sizes + 3, &beta, y, sizes + 4);
    }
  }
  const at::Tensor matrix = column_major(a, m, n, lda, type);
  const Straight<T> from(x, in, incx, type);
  Straight<T> to(y, out, incy, type);
  at::addmv_out(to.tensor, to.tensor, transposed ? matrix.t() : matrix, from.tensor, beta, alpha);
  to.write_back();
}

template <class T>
void blas_ger(int64_t m, int64_t n, T alpha, T *x, int64_t incx, T *y, int64_t incy, T *a, int64_t lda,
              at::ScalarType type) {
  check_count(m, 1), check_count(n, 2), check_leading(lda, m, 9);
  if (m == 0 || n == 0) return;
  at::Tensor matrix = column_major(a, m, n, lda, type);
  const Straight<T> left(x, m, incx, type), right(y, n, incy, type);
  at::addr_out(matrix, matrix, left.tensor, right.tensor, 1, alpha);
}

template <class T>
void blas_gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, T *a, int64_t lda, T *b, int64_t ldb,
               T beta, T *c, int64_t ldc, at::ScalarType type) {
  const bool ta = transposes(transa, 1), tb = transposes(transb, 2);
  check_count(m, 3), check_count(n, 4), check_count(k, 5);
  // TH is generous with a matrix of a single column: nothing is a column further.
  if (n == 1) ldc = std::max(ldc, m);
  if ((ta ? m : k) <= 1) lda = std::max(lda, ta ? k : m);
  if ((tb ? k : n) <= 1) ldb = std::max(ldb, tb ? n : k);
  lda = std::max<int64_t>(lda, 1), ldb = std::max<int64_t>(ldb, 1), ldc = std::max<int64_t>(ldc, 1);
  check_leading(lda, ta ? k : m, 8), check_leading(ldb, tb ? n : k, 10), check_leading(ldc, m, 13);
  if (m == 0 || n == 0) return;
  if constexpr (Blas<T>::exists) {
    if (k > 0 && Blas<T>::matrix_matrix && fit_int(m, n, k, lda, ldb, ldc)) {
      const int sizes[] = {static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
      const int leading[] = {static_cast<int>(lda), static_cast<int>(ldb), static_cast<int>(ldc)};
      return Blas<T>::matrix_matrix(&transa, &transb, sizes, sizes + 1, sizes + 2, &alpha, a, leading, b, leading + 1,
                                    &beta, c, leading + 2);
    }
  }
  const at::Tensor left = ta ? column_major(a, k, m, lda, type).t() : column_major(a, m, k, lda, type);
  const at::Tensor right = tb ? column_major(b, n, k, ldb, type).t() : column_major(b, k, n, ldb, type);
  at::Tensor out = column_major(c, m, n, ldc, type);
  at::addmm_out(out, out, left, right, beta, alpha);
}

}  // namespace
}  // namespace opw::th

#define BLAS_OP(result, name, parameters, ...) \
  OPW_EXPORT(result, OPW_JOIN(OPW_TH, Real, Blas_, name), parameters, Below below, __VA_ARGS__)
#define OPW_LIST "blas.list"
#include "every_type.h"
#undef BLAS_OP
