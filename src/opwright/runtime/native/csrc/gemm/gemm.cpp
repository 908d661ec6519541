#include "gemm/gemm.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "device.h"
#include "opwright/abi.h"

// The BLAS that PyTorch was built with, Fortran calling convention. Weak: some builds don't export it.
extern "C" {
__attribute__((weak)) void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *,
                                  const float *, const int *, const float *, const int *, const float *, float *,
                                  const int *);
__attribute__((weak)) void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *,
                                  const double *, const int *, const double *, const int *, const double *, double *,
                                  const int *);
}

namespace opw {
namespace {

// Row-major C = A B is column-major C' = B' A': swap the operands.
template <class T, class F>
void blas(F gemm, const Gemm &g, const void *a, const void *b, void *c) {
  const char ta = g.transpose_a ? 'T' : 'N', tb = g.transpose_b ? 'T' : 'N';
  const int m = static_cast<int>(g.n), n = static_cast<int>(g.m), k = static_cast<int>(g.k);
  const int lda = static_cast<int>(g.ldb), ldb = static_cast<int>(g.lda), ldc = static_cast<int>(g.ldc);
  const T alpha = static_cast<T>(g.alpha), beta = static_cast<T>(g.beta);
  gemm(&tb, &ta, &m, &n, &k, &alpha, static_cast<const T *>(b), &lda, static_cast<const T *>(a), &ldb, &beta,
       static_cast<T *>(c), &ldc);
}

at::Tensor matrix(const void *data, bool transpose, int64_t rows, int64_t columns, int64_t ld, at::ScalarType type) {
  const int64_t row_stride = transpose ? 1 : ld, column_stride = transpose ? ld : 1;
  const auto device = current_device();
  const int64_t sizes[] = {rows, columns}, strides[] = {row_stride, column_stride};
  return at::for_blob(const_cast<void *>(data), sizes)
      .strides(strides)
      .options(at::TensorOptions(type).device(device))
      .target_device(device)
      .make_tensor();
}

// Halves, and builds of PyTorch whose BLAS can't be called directly.
void aten(at::ScalarType type, const Gemm &g, const void *a, const void *b, void *c) {
  at::AutoDispatchBelowADInplaceOrView guard;
  at::Tensor out = matrix(c, false, g.m, g.n, g.ldc, type);
  const at::Tensor left = matrix(a, g.transpose_a, g.m, g.k, g.lda, type),
                   right = matrix(b, g.transpose_b, g.k, g.n, g.ldb, type);
  at::addmm_out(out, out, left, right, g.beta, g.alpha);
}

void by_blas(at::ScalarType type, const Gemm &g, const void *a, const void *b, void *c) {
  if (g.k > 0 && type == at::kFloat && sgemm_ && g.fits_int()) blas<float>(sgemm_, g, a, b, c);
  else if (g.k > 0 && type == at::kDouble && dgemm_ && g.fits_int()) blas<double>(dgemm_, g, a, b, c);
  else aten(type, g, a, b, c);
}

double seconds(Multiplier by, const std::vector<float> &a, std::vector<float> &c) {
  const Gemm g{false, false, 64, 256, 256, 1, 0, 256, 256, 256};
  const auto start = std::chrono::steady_clock::now();
  multiply(by, OPW_F32, g, a.data(), a.data(), c.data());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Whether the BLAS has no good code for this processor: measured once, in less than a millisecond. By a margin that doesn't
// depend on the day: the two round differently, and what a program computes may not change from run to run.
bool blas_is_slow() {
  static const bool is_slow = [] {
    const std::vector<float> a(256 * 256, 1.0f);
    std::vector<float> c(64 * 256);
    double blas = 1, tiles = 1;
    for (int i = 0; i < 4; ++i) {
      blas = std::min(blas, seconds(Multiplier::Blas, a, c));
      tiles = std::min(tiles, seconds(widest_tiles(), a, c));
    }
    return blas > 1.5 * tiles;
  }();
  return is_slow;
}

// In multiply-adds: up to the first the tiles are faster, or as fast, on every processor that was tried; up to the second
// where the BLAS is slow. Beyond it memory decides, for which a BLAS arranges its operands with more care.
constexpr double always_by_tiles = 1 << 23, never_by_tiles = 1 << 27;

Multiplier fastest(const Gemm &g) {
  const double work = static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  return work <= always_by_tiles || (work <= never_by_tiles && blas_is_slow()) ? widest_tiles() : Multiplier::Blas;
}

}  // namespace

bool multiply(Multiplier by, int32_t dtype, const Gemm &asked, const void *a, const void *b, void *c) {
  const auto type = static_cast<at::ScalarType>(dtype);
  Gemm g = asked;
  if (g.alpha == 0) g.k = 0;  // then A and B aren't read; ATen reads them
  if (!asked.is_possible() || by < Multiplier::Chosen || by > Multiplier::Avx512) return false;
  if (type != at::kFloat && type != at::kDouble && type != at::kHalf && type != at::kBFloat16) return false;
  if (g.m == 0 || g.n == 0) return true;
  if (const bool elsewhere = !current_device().is_cpu(); elsewhere && by <= Multiplier::Blas) {
    aten(type, g, a, b, c);
    return true;
  }
  const bool has_tiles = type == at::kFloat || type == at::kDouble;
  if (by == Multiplier::Chosen) by = has_tiles ? fastest(g) : Multiplier::Blas;
  if (by == Multiplier::Blas) {
    by_blas(type, g, a, b, c);
    return true;
  }
  return has_tiles && multiply_by_tiles(by, type == at::kDouble, g, a, b, c);
}

}  // namespace opw
