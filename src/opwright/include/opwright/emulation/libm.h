/* Functions of the C library that kernels call for every element, where the library's are slow: as inline functions of the
 * same names. What was compiled before, and std::fmax of floats, goes on calling the library. */
#ifndef OPWRIGHT_EMULATION_LIBM_H
#define OPWRIGHT_EMULATION_LIBM_H

#include <math.h>

#include "context.h"

namespace opwright {
namespace emulation {

/* A number wins over a NaN. Two instructions, where fmaxf is a call. */
template <class T>
OPWRIGHT_EMULATION_INLINE T lesser(T a, T b) {
  return b < a || a != a ? b : a;
}
template <class T>
OPWRIGHT_EMULATION_INLINE T greater(T a, T b) {
  return a < b || a != a ? b : a;
}

/* Within 1.5 units in the last place, as a GPU's (glibc's: a quarter of the speed). Near 0 an odd polynomial, whose
 * coefficients minimise the greatest relative error. */
OPWRIGHT_EMULATION_INLINE float hyperbolic_tangent(float x) {
  const float magnitude = __builtin_fabsf(x), square = x * x;
  float y = 1;
  if (magnitude < 0.625f) {
    float p = -5.70498693e-3f;
    p = p * square + 2.06390872e-2f;
    p = p * square - 5.3739715e-2f;
    p = p * square + 1.33314422e-1f;
    p = p * square - 3.33332819e-1f;
    y = p * square * magnitude + magnitude;
  } else if (!(magnitude > 9.1f)) {
    y = 1 - 2 / (__builtin_expf(2 * magnitude) + 1);
  }
  return __builtin_copysignf(y, x);
}

}  // namespace emulation
}  // namespace opwright

/* glibc's headers define some of theirs in the same way. */
#if defined(__GLIBC__) && defined(__OPTIMIZE__)
#define OPWRIGHT_EMULATION_LIBM extern "C" inline __attribute__((gnu_inline, always_inline))
OPWRIGHT_EMULATION_LIBM float fmaxf(float a, float b) noexcept { return ::opwright::emulation::greater(a, b); }
OPWRIGHT_EMULATION_LIBM float fminf(float a, float b) noexcept { return ::opwright::emulation::lesser(a, b); }
OPWRIGHT_EMULATION_LIBM double fmax(double a, double b) noexcept { return ::opwright::emulation::greater(a, b); }
OPWRIGHT_EMULATION_LIBM double fmin(double a, double b) noexcept { return ::opwright::emulation::lesser(a, b); }
OPWRIGHT_EMULATION_LIBM float tanhf(float x) noexcept { return ::opwright::emulation::hyperbolic_tangent(x); }
#undef OPWRIGHT_EMULATION_LIBM
#endif

#endif
