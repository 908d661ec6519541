// The services that kernels get: PyTorch's threads, memory and BLAS.
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/CPUAllocator.h>
#include <torch/csrc/stable/c/shim.h>

#include "operator.h"

// The BLAS that PyTorch was built with, Fortran calling convention. Weak: some builds don't export it.
extern "C" {
__attribute__((weak)) void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                                  const int*, const float*, const int*, const float*, float*, const int*);
__attribute__((weak)) void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
                                  const double*, const int*, const double*, const int*, const double*, double*, const int*);
}

namespace opw {
namespace {

struct Loop {
  void (*body)(void*, int64_t, int64_t);
  void* context;

  static void run(int64_t begin, int64_t end, void* self) {
    const Loop& loop = *static_cast<Loop*>(self);
    loop.body(loop.context, begin, end);
  }
};

// Not at::parallel_for: that stands in a header, and is a plain loop where this file is compiled without the very OpenMP
// that PyTorch has. This function is compiled within PyTorch.
void parallel_for(int64_t begin, int64_t end, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context) {
  Loop loop{body, context};
  torch_parallel_for(begin, end, grain, &Loop::run, &loop);
}

int32_t num_threads() {
  return at::get_num_threads();
}

void* allocate(size_t bytes, void*) {
  try {
    return c10::GetCPUAllocator()->raw_allocate(bytes);
  } catch (...) {
    return nullptr;  // the kernel says it in its own words
  }
}

void release(void* memory, void*) {
  c10::GetCPUAllocator()->raw_deallocate(memory);
}

struct Gemm {
  bool transpose_a, transpose_b;
  int64_t m, n, k;
  double alpha, beta;
  int64_t lda, ldb, ldc;

  bool fits_int() const {
    constexpr int64_t limit = INT32_MAX;
    return m <= limit && n <= limit && k <= limit && lda <= limit && ldb <= limit && ldc <= limit;
  }
};

// Row-major C = A B is column-major C' = B' A': swap the operands.
template <class T, class F>
void blas(F gemm, const Gemm& g, const void* a, const void* b, void* c) {
  const char ta = g.transpose_a ? 'T' : 'N', tb = g.transpose_b ? 'T' : 'N';
  const int m = static_cast<int>(g.n), n = static_cast<int>(g.m), k = static_cast<int>(g.k);
  const int lda = static_cast<int>(g.ldb), ldb = static_cast<int>(g.lda), ldc = static_cast<int>(g.ldc);
  const T alpha = static_cast<T>(g.alpha), beta = static_cast<T>(g.beta);
  gemm(&tb, &ta, &m, &n, &k, &alpha, static_cast<const T*>(b), &lda, static_cast<const T*>(a), &ldb, &beta,
       static_cast<T*>(c), &ldc);
}

at::Tensor matrix(const void* data, bool transpose, int64_t rows, int64_t columns, int64_t ld, at::ScalarType type) {
  const int64_t row_stride = transpose ? 1 : ld, column_stride = transpose ? ld : 1;
  return at::from_blob(const_cast<void*>(data), {rows, columns}, {row_stride, column_stride}, type);
}

// Halves, and builds of PyTorch whose BLAS can't be called directly.
void aten(at::ScalarType type, const Gemm& g, const void* a, const void* b, void* c) {
  at::AutoDispatchBelowADInplaceOrView guard;
  at::Tensor out = matrix(c, false, g.m, g.n, g.ldc, type);
  const at::Tensor left = matrix(a, g.transpose_a, g.m, g.k, g.lda, type), right = matrix(b, g.transpose_b, g.k, g.n, g.ldb, type);
  at::addmm_out(out, out, left, right, g.beta, g.alpha);
}

int32_t gemm(int32_t dtype, int32_t transpose_a, int32_t transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
             const void* a, int64_t lda, const void* b, int64_t ldb, double beta, void* c, int64_t ldc) {
  const Gemm g{transpose_a != 0, transpose_b != 0, m, n, k, alpha, beta, lda, ldb, ldc};
  const auto type = static_cast<at::ScalarType>(dtype);
  if (m < 0 || n < 0 || k < 0 || ldc < n || lda < (g.transpose_a ? m : k) || ldb < (g.transpose_b ? k : n)) return 1;
  if (type != at::kFloat && type != at::kDouble && type != at::kHalf && type != at::kBFloat16) return 1;
  if (m == 0 || n == 0) return 0;
  try {
    if (k > 0 && type == at::kFloat && sgemm_ && g.fits_int()) blas<float>(sgemm_, g, a, b, c);
    else if (k > 0 && type == at::kDouble && dgemm_ && g.fits_int()) blas<double>(dgemm_, g, a, b, c);
    else aten(type, g, a, b, c);
  } catch (...) {
    return 1;  // nothing may cross the C ABI
  }
  return 0;
}

}  // namespace

const opw_host* host() {
  static const opw_host services{sizeof(opw_host), OPWRIGHT_ABI_VERSION, 0, &parallel_for, &num_threads,
                                 &allocate, &release, &gemm};
  return &services;
}

}  // namespace opw
