// Finding a BLAS, when the first large product is asked for, and calling it by Fortran's conventions.
#include "host_blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#ifndef OPWRIGHT_BLAS_FILES
#define OPWRIGHT_BLAS_FILES "" /* libraries by path, between colons: where PyTorch's is (libraries/__init__.py) */
#endif

namespace opwright::emulation::blas {
namespace {

// Loading PyTorch's takes half a second: smaller products are done before that.
constexpr double worthwhile = 1 << 22;

template <class I, class T>
using Gemm = void (*)(const char *, const char *, const I *, const I *, const I *, const T *, const T *, const I *,
                      const T *, const I *, const T *, T *, const I *);

struct Found {
  void *library = nullptr;
  bool wide = false;  // 64-bit sizes, as in NumPy's OpenBLAS
};

Found find() {
  std::string files = OPWRIGHT_BLAS_FILES;
  files += ":libopenblas.so.0:libblas.so.3";
  for (size_t at = 0; at < files.size();) {
    const size_t end = files.find(':', at) == std::string::npos ? files.size() : files.find(':', at);
    const std::string file = files.substr(at, end - at);
    at = end + 1;
    void *library = file.empty() ? nullptr : dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) continue;
    if (dlsym(library, "sgemm_")) return {library, false};
    if (dlsym(library, "scipy_sgemm_64_")) return {library, true};
    dlclose(library);
  }
  return {};
}

const Found &found() {
  static const Found the = find();
  return the;
}

template <class T> constexpr char letter = 's';
template <> constexpr char letter<double> = 'd';
template <> constexpr char letter<std::complex<float>> = 'c';
template <> constexpr char letter<std::complex<double>> = 'z';

template <class I, class T>
void call(void *function, char ta, char tb, int64_t m, int64_t n, int64_t k, T alpha, const T *a, int64_t lda,
          const T *b, int64_t ldb, T beta, T *c, int64_t ldc) {
  const I sizes[] = {I(m), I(n), I(k), I(lda), I(ldb), I(ldc)};
  reinterpret_cast<Gemm<I, T>>(function)(&ta, &tb, sizes, sizes + 1, sizes + 2, &alpha, a, sizes + 3, b, sizes + 4,
                                         &beta, c, sizes + 5);
}

template <class T> T conjugate(T value) {
  if constexpr (std::is_arithmetic_v<T>) return value;
  else return std::conj(value);
}

// op(A), m by k, column after column.
template <class T>
std::vector<T> packed(char t, int64_t m, int64_t k, const T *a, int64_t lda) {
  std::vector<T> into(size_t(m * k));
  for (int64_t p = 0; p < k; ++p)
    for (int64_t i = 0; i < m; ++i) {
      const T value = t == 'N' ? a[i + p * lda] : a[p + i * lda];
      into[size_t(i + p * m)] = t == 'C' ? conjugate(value) : value;
    }
  return into;
}

template <class T>
void loop(char ta, char tb, int64_t m, int64_t n, int64_t k, T alpha, const T *a, int64_t lda, const T *b, int64_t ldb,
          T beta, T *c, int64_t ldc) {
  const std::vector<T> left = packed(ta, m, k, a, lda), right = packed(tb, k, n, b, ldb);
  std::vector<T> sum(static_cast<size_t>(m));
  for (int64_t j = 0; j < n; ++j) {
    std::fill(sum.begin(), sum.end(), T(0));
    for (int64_t p = 0; p < k; ++p) {
      const T by = right[size_t(p + j * k)], *column = left.data() + p * m;
      for (int64_t i = 0; i < m; ++i) sum[size_t(i)] += column[i] * by;
    }
    for (int64_t i = 0; i < m; ++i) {
      T &into = c[i + j * ldc];
      into = beta == T(0) ? alpha * sum[size_t(i)] : alpha * sum[size_t(i)] + beta * into;
    }
  }
}

}  // namespace

template <class T>
void multiply(char ta, char tb, int64_t m, int64_t n, int64_t k, T alpha, const T *a, int64_t lda, const T *b,
              int64_t ldb, T beta, T *c, int64_t ldc) {
  if constexpr (!std::is_integral_v<T>) {
    const bool small = double(m) * double(n) * double(k) < worthwhile;
    if (!small && found().library) {
      const std::string name =
          std::string(found().wide ? "scipy_" : "") + letter<T> + "gemm_" + (found().wide ? "64_" : "");
      if (void *function = dlsym(found().library, name.c_str()))
        return found().wide ? call<int64_t>(function, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
                            : call<int>(function, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    }
  }
  loop(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

#define OPWRIGHT_MULTIPLY(T)                                                                                       \
  template void multiply(char, char, int64_t, int64_t, int64_t, T, const T *, int64_t, const T *, int64_t, T, T *, \
                         int64_t);
OPWRIGHT_MULTIPLY(float)
OPWRIGHT_MULTIPLY(double)
OPWRIGHT_MULTIPLY(std::complex<float>)
OPWRIGHT_MULTIPLY(std::complex<double>)
OPWRIGHT_MULTIPLY(int32_t)

}  // namespace opwright::emulation::blas
