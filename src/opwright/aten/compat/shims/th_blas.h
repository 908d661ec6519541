// THFloatBlas_*, THDoubleBlas_*: column-major BLAS on plain pointers, by way of ATen's operators.
#pragma once

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cstdint>

namespace opwright_compat {

template <class T>
at::Tensor blas_view(const T *data, at::IntArrayRef sizes, at::IntArrayRef strides) {
  return at::from_blob(const_cast<T *>(data), sizes, strides, at::dtype(c10::CppTypeToScalarType<T>::value));
}

template <class T>
at::Tensor blas_vector(const T *x, int64_t n, int64_t step) {
  TORCH_CHECK(n >= 0 && step > 0, "TH BLAS: a vector has ", n, " elements with step ", step,
              ", expected 0 or more elements and a positive step");
  return blas_view(x, {n}, {step});
}

inline bool blas_transposed(char letter) {
  TORCH_CHECK(letter == 'n' || letter == 'N' || letter == 't' || letter == 'T' || letter == 'c' || letter == 'C',
              "TH BLAS: transposition is '", letter, "', expected 'n', 't' or 'c'");
  return letter != 'n' && letter != 'N';
}

// op(A) of a column-major matrix, where op(A) has these rows and columns.
template <class T>
at::Tensor blas_matrix(const T *a, char transposed, int64_t rows, int64_t columns, int64_t lda) {
  TORCH_CHECK(rows >= 0 && columns >= 0 && lda >= 0, "TH BLAS: a matrix of ", rows, " x ", columns, ", leading size ",
              lda, ": expected 0 or more");
  const bool t = blas_transposed(transposed);
  return blas_view(a, {rows, columns}, t ? at::IntArrayRef{lda, 1} : at::IntArrayRef{1, lda});
}

template <class T>
void blas_gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, const T *a, int64_t lda, const T *b,
               int64_t ldb, T beta, T *c, int64_t ldc) {
  at::NoGradGuard off;
  at::Tensor out = blas_matrix(c, 'n', m, n, ldc);
  at::addmm_out(out, out, blas_matrix(a, transa, m, k, lda), blas_matrix(b, transb, k, n, ldb), beta, alpha);
}

template <class T>
void blas_gemv(char trans, int64_t m, int64_t n, T alpha, const T *a, int64_t lda, const T *x, int64_t incx, T beta,
               T *y, int64_t incy) {
  at::NoGradGuard off;
  const bool t = blas_transposed(trans);
  at::Tensor out = blas_vector(y, t ? n : m, incy);
  at::addmv_out(out, out, blas_matrix(a, trans, t ? n : m, t ? m : n, lda), blas_vector(x, t ? m : n, incx), beta,
                alpha);
}

template <class T>
void blas_ger(int64_t m, int64_t n, T alpha, const T *x, int64_t incx, const T *y, int64_t incy, T *a, int64_t lda) {
  at::NoGradGuard off;
  blas_matrix(a, 'n', m, n, lda).addr_(blas_vector(x, m, incx), blas_vector(y, n, incy), 1, alpha);
}

template <class T>
T blas_dot(int64_t n, const T *x, int64_t incx, const T *y, int64_t incy) {
  at::NoGradGuard off;
  return at::dot(blas_vector(x, n, incx), blas_vector(y, n, incy)).template item<T>();
}

template <class T>
void blas_axpy(int64_t n, T a, const T *x, int64_t incx, T *y, int64_t incy) {
  at::NoGradGuard off;
  blas_vector(y, n, incy).add_(blas_vector(x, n, incx), a);
}

template <class T>
void blas_copy(int64_t n, const T *x, int64_t incx, T *y, int64_t incy) {
  at::NoGradGuard off;
  blas_vector(y, n, incy).copy_(blas_vector(x, n, incx));
}

template <class T>
void blas_swap(int64_t n, T *x, int64_t incx, T *y, int64_t incy) {
  at::NoGradGuard off;
  at::Tensor first = blas_vector(x, n, incx), second = blas_vector(y, n, incy), kept = first.clone();
  first.copy_(second);
  second.copy_(kept);
}

template <class T>
void blas_scal(int64_t n, T a, T *x, int64_t incx) {
  at::NoGradGuard off;
  blas_vector(x, n, incx).mul_(a);
}

}  // namespace opwright_compat

#define OPWRIGHT_COMPAT_BLAS(Name, T)                                                                                  \
  inline void Name##_gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, const T *a, int64_t lda, \
                          const T *b, int64_t ldb, T beta, T *c, int64_t ldc) {                                        \
    opwright_compat::blas_gemm<T>(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                       \
  }                                                                                                                    \
  inline void Name##_gemv(char trans, int64_t m, int64_t n, T alpha, const T *a, int64_t lda, const T *x,              \
                          int64_t incx, T beta, T *y, int64_t incy) {                                                  \
    opwright_compat::blas_gemv<T>(trans, m, n, alpha, a, lda, x, incx, beta, y, incy);                                 \
  }                                                                                                                    \
  inline void Name##_ger(int64_t m, int64_t n, T alpha, const T *x, int64_t incx, const T *y, int64_t incy, T *a,      \
                         int64_t lda) {                                                                                \
    opwright_compat::blas_ger<T>(m, n, alpha, x, incx, y, incy, a, lda);                                               \
  }                                                                                                                    \
  inline T Name##_dot(int64_t n, const T *x, int64_t incx, const T *y, int64_t incy) {                                 \
    return opwright_compat::blas_dot<T>(n, x, incx, y, incy);                                                          \
  }                                                                                                                    \
  inline void Name##_axpy(int64_t n, T a, const T *x, int64_t incx, T *y, int64_t incy) {                              \
    opwright_compat::blas_axpy<T>(n, a, x, incx, y, incy);                                                             \
  }                                                                                                                    \
  inline void Name##_copy(int64_t n, const T *x, int64_t incx, T *y, int64_t incy) {                                   \
    opwright_compat::blas_copy<T>(n, x, incx, y, incy);                                                                \
  }                                                                                                                    \
  inline void Name##_swap(int64_t n, T *x, int64_t incx, T *y, int64_t incy) {                                         \
    opwright_compat::blas_swap<T>(n, x, incx, y, incy);                                                                \
  }                                                                                                                    \
  inline void Name##_scal(int64_t n, T a, T *x, int64_t incx) { opwright_compat::blas_scal<T>(n, a, x, incx); }

OPWRIGHT_COMPAT_BLAS(THFloatBlas, float)
OPWRIGHT_COMPAT_BLAS(THDoubleBlas, double)

#undef OPWRIGHT_COMPAT_BLAS
