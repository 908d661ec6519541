// What has neither tensors nor an element type: logarithms of sums, and atomic counters.
#include <cmath>
#include <limits>

#include "errors.h"

extern "C" {
__attribute__((visibility("default"))) extern const double THLog2Pi = 1.8378770664093454836;  // log(2 pi)
__attribute__((visibility("default"))) extern const double THLogZero = -std::numeric_limits<double>::max();
__attribute__((visibility("default"))) extern const double THLogOne = 0;
}

OPW_EXPORT_C double THLogAdd(double log_a, double log_b) {
  const double large = std::fmax(log_a, log_b), small = std::fmin(log_a, log_b);
  return large == small ? large + std::log(2) : large + std::log1p(std::exp(small - large));
}

OPW_EXPORT_C double THLogSub(double log_a, double log_b) {
  if (log_a < log_b) FAIL("LogSub: log_a (%f) should be greater than log_b (%f)", log_a, log_b);
  return log_a == log_b ? THLogZero : log_a + std::log1p(-std::exp(log_b - log_a));
}

OPW_EXPORT_C double THExpMinusApprox(const double x) { return std::exp(-x); }

#define OPW_ATOMIC(name, T, Swapped)                                                                                  \
  OPW_EXPORT_C void THAtomicSet##name(T volatile *a, T value) { __atomic_store_n(a, value, __ATOMIC_SEQ_CST); }       \
  OPW_EXPORT_C T THAtomicGet##name(T volatile *a) { return __atomic_load_n(a, __ATOMIC_SEQ_CST); }                    \
  OPW_EXPORT_C T THAtomicAdd##name(T volatile *a, T value) { return __atomic_fetch_add(a, value, __ATOMIC_SEQ_CST); } \
  OPW_EXPORT_C Swapped THAtomicCompareAndSwap##name(T volatile *a, T expected, T desired) {                           \
    return __atomic_compare_exchange_n(a, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
  }

OPW_ATOMIC(, int32_t, int)
OPW_ATOMIC(Long, int64_t, int64_t)
OPW_ATOMIC(Ptrdiff, ptrdiff_t, ptrdiff_t)

OPW_EXPORT_C void THAtomicIncrementRef(int32_t volatile *a) { THAtomicAdd(a, 1); }

OPW_EXPORT_C int THAtomicDecrementRef(int32_t volatile *a) { return THAtomicAdd(a, -1) == 1; }
