// BLAS on a GPU's memory, and half floats: ATen on the caller's pointers, so on cuBLAS, the current stream and PyTorch's handle.
#include <ATen/ops/addmm.h>
#include <ATen/ops/addmv.h>
#include <ATen/ops/addr.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Half.h>

#include "tensor.h"
#include "thc.h"

namespace opw::th {
namespace {

// A const pointer is only read from.
template <class T>
at::Tensor on_gpu(const T *memory, IntArrayRef sizes, IntArrayRef strides) {
  const at::TensorOptions options = at::TensorOptions(c10::CppTypeToScalarType<T>::value)
                                        .device(cuda_device, static_cast<c10::DeviceIndex>(current_gpu()));
  return at::from_blob(const_cast<T *>(memory), sizes, strides, options);
}

// op(a), of rows x columns, where `a` itself is column-major.
template <class T>
at::Tensor gpu_matrix(char letter, const T *a, int64_t rows, int64_t columns, int64_t ld, int argument) {
  if (!transposes(letter, argument)) return on_gpu(a, {rows, columns}, {1, std::max<int64_t>(ld, 1)});
  return on_gpu(a, {rows, columns}, {std::max<int64_t>(ld, 1), 1});
}

// BLAS counts a negative increment from the end, ATen has none.
template <class T>
at::Tensor gpu_vector(const T *x, int64_t n, int64_t inc) {
  return inc < 0 ? on_gpu(x, {n}, {-inc}).flip(0) : on_gpu(x, {n}, {inc});
}

template <class T>
T gpu_dot(int64_t n, const T *x, int64_t incx, const T *y, int64_t incy) {
  if (n <= 0) return T(0);
  return at::dot(gpu_vector(x, n, incx), gpu_vector(y, n, incy)).item().template to<T>();
}

template <class T>
void gpu_gemv(char trans, int64_t m, int64_t n, T alpha, const T *a, int64_t lda, const T *x, int64_t incx, T beta,
              T *y, int64_t incy) {
  const bool transposed = transposes(trans, 2);
  check_count(m, 3), check_count(n, 4), check_leading(lda, n == 1 ? 1 : m, 7);
  CHECK_ARG(incx != 0, 9, "the increment can't be 0");
  CHECK_ARG(incy > 0, 12, "the result's increment must be above 0, got %lld", static_cast<long long>(incy));
  const int64_t out = transposed ? n : m, in = transposed ? m : n;
  if (out == 0) return;
  at::Tensor to = gpu_vector(y, out, incy);
  at::addmv_out(to, to, gpu_matrix(trans, a, out, in, lda, 2), gpu_vector(x, in, incx), beta, alpha);
}

template <class T>
void gpu_ger(int64_t m, int64_t n, T alpha, const T *x, int64_t incx, const T *y, int64_t incy, T *a, int64_t lda) {
  check_count(m, 2), check_count(n, 3), check_leading(lda, n == 1 ? 1 : m, 10);
  if (m == 0 || n == 0) return;
  at::Tensor matrix = gpu_matrix('n', a, m, n, lda, 0);
  at::addr_out(matrix, matrix, gpu_vector(x, m, incx), gpu_vector(y, n, incy), 1, alpha);
}

struct Gemm {
  char transa, transb;
  int64_t m, n, k, lda, ldb, ldc;

  void check() const {
    check_count(m, 4), check_count(n, 5), check_count(k, 6);
    const bool ta = transposes(transa, 2), tb = transposes(transb, 3);
    if ((ta ? m : k) > 1) check_leading(lda, ta ? k : m, 9);
    if ((tb ? k : n) > 1) check_leading(ldb, tb ? n : k, 11);
    if (n > 1) check_leading(ldc, m, 14);
  }

  template <class T>
  void run(const Scalar &alpha, const T *a, const T *b, const Scalar &beta, T *c) const {
    if (m == 0 || n == 0) return;
    at::Tensor out = gpu_matrix('n', c, m, n, ldc, 0);
    at::addmm_out(out, out, gpu_matrix(transa, a, m, k, lda, 2), gpu_matrix(transb, b, k, n, ldb, 3), beta, alpha);
  }
};

template <class T>
void gpu_gemm(const Gemm &gemm, T alpha, const T *a, const T *b, T beta, T *c) {
  gemm.check();
  gemm.run<T>(alpha, a, b, beta, c);
}

// The arrays of pointers are in the GPU's memory, as cuBLAS wants them.
template <class T>
void gpu_gemm_of_each(const Gemm &gemm, T alpha, const T **a, const T **b, T beta, T **c, int64_t count) {
  gemm.check();
  const auto pointers = [count](auto *array) {
    return on_gpu(reinterpret_cast<const int64_t *>(array), {count}, {1}).to(at::kCPU);
  };
  const at::Tensor as = pointers(a), bs = pointers(b), cs = pointers(c);
  for (int64_t i = 0; i < count; ++i)
    gemm.run<T>(alpha, reinterpret_cast<const T *>(as.const_data_ptr<int64_t>()[i]),
                reinterpret_cast<const T *>(bs.const_data_ptr<int64_t>()[i]), beta,
                reinterpret_cast<T *>(cs.const_data_ptr<int64_t>()[i]));
}

template <class T>
void gpu_gemm_strided(const Gemm &gemm, T alpha, const T *a, int64_t stride_a, const T *b, int64_t stride_b, T beta,
                      T *c, int64_t stride_c, int64_t count) {
  gemm.check();
  for (int64_t i = 0; i < count; ++i) gemm.run<T>(alpha, a + i * stride_a, b + i * stride_b, beta, c + i * stride_c);
}

template <class T>
void gpu_add_scaled(int64_t n, T alpha, const T *x, int64_t incx, T *y, int64_t incy) {
  if (n <= 0) return;
  CHECK_ARG(incy > 0, 7, "the result's increment must be above 0, got %lld", static_cast<long long>(incy));
  gpu_vector(y, n, incy).add_(gpu_vector(x, n, incx), alpha);
}

}  // namespace
}  // namespace opw::th

using namespace opw::th;

#define OPW_BLAS_BEGIN  \
  needs_cuda(__func__); \
  const Below below

#define OPW_CUDA_GEMM(letter, T)                                                                                      \
  OPW_EXPORT_C void THCudaBlas_##letter##gemm(THCState *, char transa, char transb, int64_t m, int64_t n, int64_t k,  \
                                              T alpha, T *a, int64_t lda, T *b, int64_t ldb, T beta, T *c,            \
                                              int64_t ldc) {                                                          \
    OPW_BLAS_BEGIN;                                                                                                   \
    gpu_gemm<T>({transa, transb, m, n, k, lda, ldb, ldc}, alpha, a, b, beta, c);                                      \
  }                                                                                                                   \
  OPW_EXPORT_C T THCudaBlas_##letter##dot(THCState *, int64_t n, T *x, int64_t incx, T *y, int64_t incy) {            \
    OPW_BLAS_BEGIN;                                                                                                   \
    return gpu_dot(n, x, incx, y, incy);                                                                              \
  }                                                                                                                   \
  OPW_EXPORT_C void THCudaBlas_##letter##gemmStridedBatched(                                                          \
      THCState *, char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, const T *a, int64_t lda,        \
      int64_t stride_a, const T *b, int64_t ldb, int64_t stride_b, T beta, T *c, int64_t ldc, int64_t stride_c,       \
      int64_t count) {                                                                                                \
    OPW_BLAS_BEGIN;                                                                                                   \
    gpu_gemm_strided<T>({transa, transb, m, n, k, lda, ldb, ldc}, alpha, a, stride_a, b, stride_b, beta, c, stride_c, \
                        count);                                                                                       \
  }

#define OPW_CUDA_BLAS(letter, T)                                                                                    \
  OPW_CUDA_GEMM(letter, T)                                                                                          \
  OPW_EXPORT_C void THCudaBlas_##letter##gemmBatched(THCState *, char transa, char transb, int64_t m, int64_t n,    \
                                                     int64_t k, T alpha, const T *a[], int64_t lda, const T *b[],   \
                                                     int64_t ldb, T beta, T *c[], int64_t ldc, int64_t count) {     \
    OPW_BLAS_BEGIN;                                                                                                 \
    gpu_gemm_of_each<T>({transa, transb, m, n, k, lda, ldb, ldc}, alpha, a, b, beta, c, count);                     \
  }                                                                                                                 \
  OPW_EXPORT_C void THCudaBlas_##letter##gemv(THCState *, char trans, int64_t m, int64_t n, T alpha, T *a,          \
                                              int64_t lda, T *x, int64_t incx, T beta, T *y, int64_t incy) {        \
    OPW_BLAS_BEGIN;                                                                                                 \
    gpu_gemv(trans, m, n, alpha, a, lda, x, incx, beta, y, incy);                                                   \
  }                                                                                                                 \
  OPW_EXPORT_C void THCudaBlas_##letter##ger(THCState *, int64_t m, int64_t n, T alpha, T *x, int64_t incx, T *y,   \
                                             int64_t incy, T *a, int64_t lda) {                                     \
    OPW_BLAS_BEGIN;                                                                                                 \
    gpu_ger(m, n, alpha, x, incx, y, incy, a, lda);                                                                 \
  }                                                                                                                 \
  OPW_EXPORT_C void THCudaBlas_##letter##axpy(THCState *, int64_t n, T a, T *x, int64_t incx, T *y, int64_t incy) { \
    OPW_BLAS_BEGIN;                                                                                                 \
    gpu_add_scaled(n, a, x, incx, y, incy);                                                                         \
  }                                                                                                                 \
  OPW_EXPORT_C void THCudaBlas_##letter##scal(THCState *, int64_t n, T a, T *x, int64_t incx) {                     \
    OPW_BLAS_BEGIN;                                                                                                 \
    if (n > 0 && incx > 0) on_gpu(x, {n}, {incx}).mul_(a);                                                          \
  }                                                                                                                 \
  OPW_EXPORT_C void THCudaBlas_##letter##copy(THCState *, int64_t n, T *x, int64_t incx, T *y, int64_t incy) {      \
    OPW_BLAS_BEGIN;                                                                                                 \
    CHECK_ARG(incy > 0, 6, "the result's increment must be above 0, got %lld", static_cast<long long>(incy));       \
    if (n > 0) on_gpu(y, {n}, {incy}).copy_(gpu_vector(x, n, incx));                                                \
  }

OPW_CUDA_BLAS(S, float)
OPW_CUDA_BLAS(D, double)
OPW_CUDA_GEMM(H, c10::Half)

#undef OPW_CUDA_BLAS
#undef OPW_CUDA_GEMM
#undef OPW_BLAS_BEGIN

// Half floats. The first two are on the CPU, of single numbers; the others between arrays of a GPU's memory.
OPW_EXPORT_C c10::Half THC_float2half(float value) { return value; }

OPW_EXPORT_C float THC_half2float(c10::Half value) { return value; }

OPW_EXPORT_C void THCFloat2Half(THCState *, c10::Half *out, float *in, ptrdiff_t count) {
  needs_cuda(__func__);
  const Below below;
  on_gpu(out, {count}, {1}).copy_(on_gpu(in, {count}, {1}));
}

OPW_EXPORT_C void THCHalf2Float(THCState *, float *out, c10::Half *in, ptrdiff_t count) {
  needs_cuda(__func__);
  const Below below;
  on_gpu(out, {count}, {1}).copy_(on_gpu(in, {count}, {1}));
}
