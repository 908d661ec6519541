/* exp, expm1, log, log1p, tanh and float's erf and erfc without branches, tables or calls, so that the compiler
 * vectorises loops of them for any processor: for builds that can't count on glibc's vector functions (vector.h).
 *
 * Method: exp takes out a power of two, x = k * log(2) + r, and log one by the bits, x = 2^k * (1 + f), with log(2) in
 * two parts, of which the product of the first with k is exact; what is left is a polynomial (for log in s = f / (2 +
 * f)). tools/fit_polynomials.py makes the coefficients. Errors are below 4 ulp, subnormal results included
 * (tests/include/test_accuracy.py); infinities, NaN and the sign of zero are C's.
 */
#ifndef OPWRIGHT_POLYNOMIALS_H
#define OPWRIGHT_POLYNOMIALS_H

#include "../elements/floating.h"

namespace opwright {
namespace detail {

template <class T>
OPWRIGHT_INLINE T polynomial(T, T lowest) {
  return lowest;
}
template <class T, class... More>
OPWRIGHT_INLINE T polynomial(T x, T lowest, More... more) {
  return lowest + x * polynomial(x, more...);
}

template <class T> struct format;
template <> struct format<float> {
  using bits = int32_t;
  static constexpr int fraction = 23, bias = 127;
  static constexpr bits root_half = 0x3f3504f3; /* of sqrt(1/2), with whose upper neighbours an octave begins */
  static constexpr float log2_high = 0.693359375f, log2_low = -2.12194440e-4f, smallest = 1.17549435e-38f;
  static constexpr float exp_low = -104, exp_high = 89, expm1_low = -30;
  static OPWRIGHT_INLINE float exp_tail(float r) {
    return polynomial(r, 0.5f, 1.66665767e-1f, 4.16665542e-2f, 8.36323288e-3f, 1.39262508e-3f);
  }
  static OPWRIGHT_INLINE float log_tail(float z) {
    return polynomial(z, 6.66666666e-1f, 4.00001226e-1f, 2.85507364e-1f, 2.3332763e-1f);
  }
};
template <> struct format<double> {
  using bits = int64_t;
  static constexpr int fraction = 52, bias = 1023;
  static constexpr bits root_half = 0x3fe6a09e667f3bcd;
  static constexpr double log2_high = 0x1.62e42fee00000p-1, log2_low = 0x1.a39ef35793c76p-33, smallest = 0x1p-1022;
  static constexpr double exp_low = -746, exp_high = 710, expm1_low = -60;
  static OPWRIGHT_INLINE double exp_tail(double r) {
    return polynomial(r, 0.5, 1.6666666666666671e-1, 4.166666666666667e-2, 8.3333333333260831e-3, 1.3888888888883711e-3,
                      1.9841269875002279e-4, 2.4801587325677462e-5, 2.7557255170000887e-6, 2.755727347871858e-7,
                      2.5105312729622102e-8, 2.0914755325893202e-9);
  }
  static OPWRIGHT_INLINE double log_tail(double z) {
    return polynomial(z, 6.6666666666666666e-1, 4.000000000000089e-1, 2.8571428570795935e-1, 2.2222222393452627e-1,
                      1.8181795454526501e-1, 1.5386249788196105e-1, 1.326850331279476e-1, 1.3089445145246311e-1);
  }
};
OPWRIGHT_INLINE float nearest(float x) { return __builtin_rintf(x); }
OPWRIGHT_INLINE double nearest(double x) { return __builtin_rint(x); }
OPWRIGHT_INLINE float magnitude(float x) { return __builtin_fabsf(x); }
OPWRIGHT_INLINE double magnitude(double x) { return __builtin_fabs(x); }
OPWRIGHT_INLINE float with_sign(float x, float sign) { return __builtin_copysignf(x, sign); }
OPWRIGHT_INLINE double with_sign(double x, double sign) { return __builtin_copysign(x, sign); }

/* 2^k, of a normal number's exponent. */
template <class T>
OPWRIGHT_INLINE T power_of_two(int k) {
  return bit_cast<T>(static_cast<typename format<T>::bits>(k + format<T>::bias) << format<T>::fraction);
}

/* x = k * log(2) + rest, and exp(rest) - 1. x is between limits, whatever it was; NaN becomes the upper one. */
template <class T>
struct Reduced {
  int k;
  T tail;
  OPWRIGHT_INLINE Reduced(T x, T low, T high) {
    T inside = x < high ? x : high;
    inside = inside > low ? inside : low;
    const T multiple = nearest(inside * T(1.44269504088896340736));
    const T r = (inside - multiple * format<T>::log2_high) - multiple * format<T>::log2_low;
    k = static_cast<int>(multiple);
    tail = r + r * r * format<T>::exp_tail(r);
  }
};

template <class T>
OPWRIGHT_INLINE T exp_inline(T x) {
  const Reduced<T> at(x, format<T>::exp_low, format<T>::exp_high);
  const int half = at.k >> 1; /* two factors: 2^k itself may be subnormal or infinite */
  const T result = (at.tail + 1) * power_of_two<T>(half) * power_of_two<T>(at.k - half);
  return x != x ? x : result;
}
template <class T>
OPWRIGHT_INLINE T expm1_inline(T x) {
  const Reduced<T> at(x, format<T>::expm1_low, format<T>::exp_high);
  const T half = power_of_two<T>(at.k - 1), result = 2 * (half * at.tail + (half - T(0.5)));
  return x != x || x == 0 ? x : result;
}
template <class T>
OPWRIGHT_INLINE T tanh_inline(T x) {
  const T t = expm1_inline(-2 * magnitude(x));
  return with_sign(-t / (t + 2), x);
}

/* The logarithm of 2^k * (1 + f), plus a small correction; f is between sqrt(1/2) - 1 and sqrt(2) - 1. */
template <class T>
OPWRIGHT_INLINE T log_of(T k, T f, T correction) {
  const T s = f / (f + 2), z = s * s, square = T(0.5) * f * f;
  const T tail = s * (square + z * format<T>::log_tail(z)) + (k * format<T>::log2_low + correction);
  return k * format<T>::log2_high - ((square - tail) - f);
}
template <class T>
struct Octave {
  T k, fraction; /* x = 2^k * (1 + fraction) */
  OPWRIGHT_INLINE explicit Octave(T x) {
    using bits = typename format<T>::bits;
    const bits all = bit_cast<bits>(x), above = all - format<T>::root_half;
    const int exponent = static_cast<int>(above >> format<T>::fraction);
    k = static_cast<T>(exponent);
    fraction = bit_cast<T>(all - (above & ~((bits(1) << format<T>::fraction) - 1))) - 1;
  }
};

/* What log is where it isn't a number like others. */
template <class T>
OPWRIGHT_INLINE T log_at_the_edge(T x, T result) {
  const T infinity = T(__builtin_inf());
  const T at_or_below = x == 0 ? -infinity : T(__builtin_nan("")); /* and of NaN */
  const T positive = x == infinity ? infinity : result;
  return x > 0 ? positive : at_or_below;
}
template <class T>
OPWRIGHT_INLINE T log_inline(T x) {
  const T up = power_of_two<T>(format<T>::fraction + 1);
  const bool subnormal = x < format<T>::smallest;
  const T scaled = x * up;
  const Octave<T> at(subnormal ? scaled : x);
  const T k = at.k - (subnormal ? T(format<T>::fraction + 1) : T(0));
  return log_at_the_edge(x, log_of(k, at.fraction, T(0)));
}
/* 1 + x is rounded, by what is made up for in the first order; near 0, x itself is the fraction. */
template <class T>
OPWRIGHT_INLINE T log1p_inline(T x) {
  const T sum = x + 1;
  const Octave<T> at(sum);
  const T lost = x > 1 ? T(1) - (sum - x) : x - (sum - 1), share = lost / sum;
  const T result = log_of(at.k, at.k == 0 ? x : at.fraction, at.k == 0 ? T(0) : share);
  return x == 0 ? x : log_at_the_edge(sum, result);
}

/* erf and erfc of a float, in double: erf(x) = x * P(x^2) up to 1, erfc(x) = exp(-x^2) * Q(1 / (1 + x / 2)) above 0. */
OPWRIGHT_INLINE double erf_near(double z) {
  return polynomial(z, 1.1283791670946767, -3.7612638889635307e-1, 1.1283791308604581e-1, -2.6866133235095592e-2,
                    5.2237834771892481e-3, -8.5426379970872296e-4, 1.195656256820733e-4, -1.3909340021874599e-5,
                    1.0589380641075019e-6);
}
OPWRIGHT_INLINE double erfc_right(double x) {
  const double t = 1 / (1 + 0.5 * x);
  return exp_inline(-x * x) * polynomial(t, -1.5802500562795944e-6, 2.8214925627577875e-1, 2.8125305950056586e-1,
                                         2.5455662827724592e-1, 1.2937739656896003e-1, 2.8293425696421105e-1,
                                         -6.1011795062890176e-1, 1.2708202449541103, -2.1222434493345917,
                                         2.1957275523294427, -1.4058752135606723, 5.5256996798180775e-1,
                                         -1.2305249323967719e-1, 1.1902324656058696e-2);
}
OPWRIGHT_INLINE float erf_inline(float x) {
  const double size = magnitude(x), small = x * erf_near(double(x) * x), large = 1 - erfc_right(size);
  return size < 1 ? float(small) : with_sign(float(large), x);
}
OPWRIGHT_INLINE float erfc_inline(float x) {
  const double size = magnitude(x), inside = size < 11 ? size : 11., right = erfc_right(inside);
  const float result = float(x < 0 ? 2 - right : right);
  return x != x ? x : result;
}

}  // namespace detail
}  // namespace opwright
#endif
