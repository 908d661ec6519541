#ifndef THC_NUMERICS_INC
#define THC_NUMERICS_INC

#include <limits.h>
#include <math.h>
#include <stdint.h>

#include <limits>

#include "THCHalf.h"

/* Arithmetic by names, the same for every element type, on the CPU and the GPU. Half floats are computed as float. */

#define THC_BOTH_ static inline __host__ __device__

/* What an element type is computed as. */
template <typename T>
struct THCComputed {
  typedef T type;
  THC_BOTH_ T from(T value) {
    return value;
  }
};

template <>
struct THCComputed<half> {
  typedef float type;
  THC_BOTH_ half from(float value) {
    return __float2half(value);
  }
};

template <typename In, typename Out>
struct ScalarConvert {
  THC_BOTH_ Out to(const In value) {
    return static_cast<Out>(value);
  }
};

template <typename Out>
struct ScalarConvert<half, Out> {
  THC_BOTH_ Out to(const half value) {
    return static_cast<Out>(__half2float(value));
  }
};

template <typename In>
struct ScalarConvert<In, half> {
  THC_BOTH_ half to(const In value) {
    return __float2half(static_cast<float>(value));
  }
};

template <>
struct ScalarConvert<half, half> {
  THC_BOTH_ half to(const half value) {
    return value;
  }
};

template <typename Out, typename In>
THC_BOTH_ Out scalar_cast(const In value) {
  return ScalarConvert<In, Out>::to(value);
}

/* A static const in a class can't be used on a GPU; so the limits are functions. */
template <typename T>
struct THCLimits {
  THC_BOTH_ constexpr T min() {
    return std::numeric_limits<T>::lowest();
  }
  THC_BOTH_ constexpr T max() {
    return (std::numeric_limits<T>::max)();
  }
};

template <>
struct THCLimits<half> {
  THC_BOTH_ half min() {
    return __float2half(-65504.f);
  }
  THC_BOTH_ half max() {
    return __float2half(65504.f);
  }
};

template <typename T>
struct THCNumerics {
  typedef typename THCComputed<T>::type C;

  THC_BOTH_ T min() {
    return THCLimits<T>::min();
  }
  THC_BOTH_ T max() {
    return THCLimits<T>::max();
  }

#define THC_COMPARE_(name, operation)         \
  THC_BOTH_ bool name(T a, T b) {             \
    return c(a) operation c(b);               \
  }
  THC_COMPARE_(lt, <)
  THC_COMPARE_(le, <=)
  THC_COMPARE_(gt, >)
  THC_COMPARE_(ge, >=)
  THC_COMPARE_(eq, ==)
  THC_COMPARE_(ne, !=)
#undef THC_COMPARE_

#define THC_BINARY_(name, expression)         \
  THC_BOTH_ T name(T first, T second) {       \
    const C a = c(first), b = c(second);      \
    return r(expression);                     \
  }
  THC_BINARY_(add, a + b)
  THC_BINARY_(sub, a - b)
  THC_BINARY_(mul, a *b)
  THC_BINARY_(div, a / b)
  THC_BINARY_(pow, ::pow(a, b))
  THC_BINARY_(atan2, ::atan2(a, b))
#undef THC_BINARY_

#define THC_UNARY_(name, expression)          \
  THC_BOTH_ T name(T value) {                 \
    const C a = c(value);                     \
    return r(expression);                     \
  }
  THC_UNARY_(neg, -a)
  THC_UNARY_(abs, a < C(0) ? -a : a)
  THC_UNARY_(cinv, C(1) / a)
  THC_UNARY_(exp, ::exp(a))
  THC_UNARY_(exp10, ::pow(C(10), a))
  THC_UNARY_(expm1, ::expm1(a))
  THC_UNARY_(log, ::log(a))
  THC_UNARY_(log10, ::log10(a))
  THC_UNARY_(log1p, ::log1p(a))
  THC_UNARY_(log2, ::log2(a))
  THC_UNARY_(lgamma, ::lgamma(a))
  THC_UNARY_(cos, ::cos(a))
  THC_UNARY_(sin, ::sin(a))
  THC_UNARY_(tan, ::tan(a))
  THC_UNARY_(acos, ::acos(a))
  THC_UNARY_(asin, ::asin(a))
  THC_UNARY_(atan, ::atan(a))
  THC_UNARY_(cosh, ::cosh(a))
  THC_UNARY_(sinh, ::sinh(a))
  THC_UNARY_(tanh, ::tanh(a))
  THC_UNARY_(erf, ::erf(a))
  THC_UNARY_(erfc, ::erfc(a))
  THC_UNARY_(erfinv, ::erfinv(a))
  THC_UNARY_(sqrt, ::sqrt(a))
  THC_UNARY_(rsqrt, C(1) / ::sqrt(a))
  THC_UNARY_(ceil, ::ceil(a))
  THC_UNARY_(floor, ::floor(a))
  THC_UNARY_(round, ::nearbyint(a))
  THC_UNARY_(trunc, ::trunc(a))
  THC_UNARY_(frac, a - ::trunc(a))
  THC_UNARY_(sigmoid, C(1) / (C(1) + ::exp(-a)))
#undef THC_UNARY_

  THC_BOTH_ bool isnan(T value) {
    return c(value) != c(value);
  }
  THC_BOTH_ bool isinf(T value) {
    const C a = c(value);
    return a == a && a - a != a - a;
  }

 private:
  THC_BOTH_ C c(T value) {
    return ScalarConvert<T, C>::to(value);
  }
  THC_BOTH_ T r(C value) {
    return THCComputed<T>::from(value);
  }
};

template <typename T>
struct ScalarNegate {
  THC_BOTH_ T to(const T value) {
    return THCNumerics<T>::neg(value);
  }
};

template <typename T>
struct ScalarInv {
  THC_BOTH_ T to(const T value) {
    return THCNumerics<T>::cinv(value);
  }
};

#undef THC_BOTH_

#endif
