/* The elementary functions in a form that the compiler vectorises, as detail::exp_(float) and detail::exp_(double).
 *
 * A build for this machine (OPWRIGHT_LIBMVEC) declares those that glibc has a vector form of: gcc then vectorises a
 * loop that calls them, within 4 ulp of the exact value, NaN and infinities included. Other builds have polynomials
 * for the most common ones and the C library's for the others. CUDA's own are within 4 ulp, too, and have nothing that
 * keeps a loop from being vectorised: device code has those.
 */
#ifndef OPWRIGHT_VECTOR_H
#define OPWRIGHT_VECTOR_H

#include "../device.h"

#if defined(OPWRIGHT_LIBMVEC) && defined(__GLIBC__) && defined(__x86_64__) && !defined(__clang__) && \
    (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 35) && defined(__OPTIMIZE__) && !defined(OPWRIGHT_CUDA_COMPILER)
#define OPWRIGHT_HAS_LIBMVEC
#endif

#include "polynomials.h"

#define OPWRIGHT_BUILTIN(name, type, suffix)                                               \
  namespace opwright {                                                                     \
  namespace detail {                                                                       \
  OPWRIGHT_HOST_DEVICE inline type name##_(type x) { return __builtin_##name##suffix(x); } \
  }                                                                                        \
  }
#ifdef OPWRIGHT_HAS_LIBMVEC
#define OPWRIGHT_VECTOR(name)                                                 \
  extern "C" {                                                                \
  __attribute__((simd("notinbranch"))) float name##f(float) noexcept;         \
  __attribute__((simd("notinbranch"))) double name(double) noexcept;          \
  }                                                                           \
  namespace opwright {                                                        \
  namespace detail {                                                          \
  OPWRIGHT_HOST_DEVICE inline float name##_(float x) { return ::name##f(x); } \
  OPWRIGHT_HOST_DEVICE inline double name##_(double x) { return ::name(x); }  \
  }                                                                           \
  }
#define OPWRIGHT_VECTOR_OF_TWO(name)                                                      \
  extern "C" {                                                                            \
  __attribute__((simd("notinbranch"))) float name##f(float, float) noexcept;              \
  __attribute__((simd("notinbranch"))) double name(double, double) noexcept;              \
  }                                                                                       \
  namespace opwright {                                                                    \
  namespace detail {                                                                      \
  OPWRIGHT_HOST_DEVICE inline float name##_(float x, float y) { return ::name##f(x, y); } \
  OPWRIGHT_HOST_DEVICE inline double name##_(double x, double y) { return ::name(x, y); } \
  }                                                                                       \
  }
#define OPWRIGHT_POLYNOMIAL(name) OPWRIGHT_VECTOR(name)
#else
#define OPWRIGHT_VECTOR(name) OPWRIGHT_BUILTIN(name, float, f) OPWRIGHT_BUILTIN(name, double, )
#define OPWRIGHT_VECTOR_OF_TWO(name)                                                                \
  namespace opwright {                                                                              \
  namespace detail {                                                                                \
  OPWRIGHT_HOST_DEVICE inline float name##_(float x, float y) { return __builtin_##name##f(x, y); } \
  OPWRIGHT_HOST_DEVICE inline double name##_(double x, double y) { return __builtin_##name(x, y); } \
  }                                                                                                 \
  }
#ifdef OPWRIGHT_CUDA_COMPILER
#define OPWRIGHT_POLYNOMIAL(name) OPWRIGHT_VECTOR(name)
#else
#define OPWRIGHT_POLYNOMIAL(name)                                       \
  namespace opwright {                                                  \
  namespace detail {                                                    \
  OPWRIGHT_INLINE float name##_(float x) { return name##_inline(x); }   \
  OPWRIGHT_INLINE double name##_(double x) { return name##_inline(x); } \
  }                                                                     \
  }
#endif
#endif

OPWRIGHT_POLYNOMIAL(exp)
OPWRIGHT_POLYNOMIAL(expm1)
OPWRIGHT_POLYNOMIAL(log)
OPWRIGHT_POLYNOMIAL(log1p)
OPWRIGHT_POLYNOMIAL(tanh)
#if defined(OPWRIGHT_HAS_LIBMVEC) || defined(OPWRIGHT_CUDA_COMPILER)
OPWRIGHT_VECTOR(erf)
OPWRIGHT_VECTOR(erfc)
#else
namespace opwright {
namespace detail {
OPWRIGHT_INLINE float erf_(float x) { return erf_inline(x); }
OPWRIGHT_INLINE float erfc_(float x) { return erfc_inline(x); }
}  // namespace detail
}  // namespace opwright
OPWRIGHT_BUILTIN(erf, double, )
OPWRIGHT_BUILTIN(erfc, double, )
#endif
OPWRIGHT_VECTOR(exp2)
OPWRIGHT_VECTOR(log2)
OPWRIGHT_VECTOR(log10)
OPWRIGHT_VECTOR(cbrt)
OPWRIGHT_VECTOR(sin)
OPWRIGHT_VECTOR(cos)
OPWRIGHT_VECTOR(tan)
OPWRIGHT_VECTOR(asin)
OPWRIGHT_VECTOR(acos)
OPWRIGHT_VECTOR(atan)
OPWRIGHT_VECTOR(sinh)
OPWRIGHT_VECTOR(cosh)
OPWRIGHT_VECTOR(asinh)
OPWRIGHT_VECTOR(acosh)
OPWRIGHT_VECTOR(atanh)
OPWRIGHT_VECTOR_OF_TWO(pow)
OPWRIGHT_VECTOR_OF_TWO(atan2)
OPWRIGHT_VECTOR_OF_TWO(hypot)
#undef OPWRIGHT_BUILTIN
#undef OPWRIGHT_VECTOR
#undef OPWRIGHT_VECTOR_OF_TWO
#undef OPWRIGHT_POLYNOMIAL
#endif
