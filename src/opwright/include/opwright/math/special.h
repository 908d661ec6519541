/* The derivatives of log(gamma) and the inverse of erf, which C has not. Floats are computed in double: none of them is
 * vectorised, and all are made of differences. */
#ifndef OPWRIGHT_SPECIAL_H
#define OPWRIGHT_SPECIAL_H

#include "math.h"

namespace opwright {
namespace detail {

constexpr double pi = 3.14159265358979323846;

/* x - round(x), exact, which has the same trigonometric functions of pi * x but for a sign that none here has. */
OPWRIGHT_HOST_DEVICE inline double beside(double x) { return x - __builtin_rint(x); }

/* The polygammas of order 0 to 3: steps up to 16 or more by the recurrence, there the asymptotic series (Abramowitz and
 * Stegun 6.4.11), whose terms up to z^-14 leave less than 1e-18. On the left, reflection (6.4.7). */
OPWRIGHT_HOST_DEVICE inline double digamma_(double x) {
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  if (x < 0) {
    const double t = pi * beside(x);
    return t == 0 || x == -__builtin_inf() ? __builtin_nan("") : digamma_(1 - x) - pi / __builtin_tan(t);
  }
  if (x > 1e17) return __builtin_log(x);
  double steps = 0;
  for (; x < 16; x += 1) steps += 1 / x;
  const double z = 1 / (x * x);
  const double series =
      z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z / 12))))));
  return __builtin_log(x) - 0.5 / x - series - steps;
}
OPWRIGHT_HOST_DEVICE inline double trigamma_(double x) {
  if (x <= 0) {
    const double s = __builtin_sin(pi * beside(x)) / pi;
    return x == -__builtin_inf() ? __builtin_nan("") : 1 / (s * s) - trigamma_(1 - x);
  }
  double steps = 0;
  for (; x < 16; x += 1) steps += 1 / (x * x);
  const double z = 1 / (x * x);
  const double series =
      1. / 6 - z * (1. / 30 - z * (1. / 42 - z * (1. / 30 - z * (5. / 66 - z * (691. / 2730 - z * (7. / 6))))));
  return 1 / x + 0.5 * z + z / x * series + steps;
}
OPWRIGHT_HOST_DEVICE inline double tetragamma_(double x) {
  if (x <= 0) {
    const double t = pi * beside(x), s = __builtin_sin(t) / pi, pole = 2 * __builtin_cos(t) / (s * s * s);
    return x == -__builtin_inf() ? __builtin_nan("") : tetragamma_(1 - x) - __builtin_copysign(pole, s == 0 ? 1 : s);
  }
  double steps = 0;
  for (; x < 16; x += 1) steps += 2 / (x * x * x);
  const double z = 1 / (x * x);
  const double series =
      0.5 - z * (1. / 6 - z * (1. / 6 - z * (3. / 10 - z * (5. / 6 - z * (691. / 210 - z * (35. / 2))))));
  return -z - z / x - z * z * series - steps;
}
OPWRIGHT_HOST_DEVICE inline double pentagamma_(double x) {
  if (x <= 0) {
    const double t = pi * beside(x), s = __builtin_sin(t) / pi, c = __builtin_cos(t);
    return x == -__builtin_inf() ? __builtin_nan("") : 2 * (1 + 2 * c * c) / (s * s * s * s) - pentagamma_(1 - x);
  }
  double steps = 0;
  for (; x < 16; x += 1) steps += 6 / (x * x * x * x);
  const double z = 1 / (x * x);
  const double series = 2 - z * (1 - z * (4. / 3 - z * (3 - z * (10 - z * (691. / 15 - z * 280)))));
  return z / x * (2 + 3 / x + z * series) + steps;
}

/* Halley's method on erfc(y) = 1 - |x|, which has the tail's precision, from Winitzki's approximation (relative error
 * 0.002); each step cubes the error. Below 1/2 on erf(y) = |x|. */
OPWRIGHT_HOST_DEVICE inline double erfinv_(double x) {
  const double magnitude = __builtin_fabs(x);
  if (!(magnitude < 1)) return magnitude == 1 ? __builtin_copysign(__builtin_inf(), x) : __builtin_nan("");
  const double a = 0.147, l = __builtin_log1p(-magnitude * magnitude), h = 2 / (pi * a) + l / 2;
  double y = __builtin_sqrt(-l / a / (h + __builtin_sqrt(h * h - l / a))); /* sqrt(sqrt(h^2 - l/a) - h) */
  for (int i = 0; i < 3; ++i) {
    const double over = magnitude < 0.5 ? __builtin_erf(y) - magnitude : (1 - magnitude) - __builtin_erfc(y);
    const double step = over * __builtin_exp(y * y) * 0.88622692545275801365;
    y -= step / (1 + y * step);
  }
  return magnitude < 1e-8 ? x * 0.88622692545275801365 : __builtin_copysign(y, x);
}

}  // namespace detail

#define OPWRIGHT_SPECIAL(name)                                                  \
  template <class T, class... None>                                             \
  OPWRIGHT_HOST_DEVICE inline detail::float_of<T, None...> name(T x, None...) { \
    using R = detail::float_of<T>;                                              \
    return R(detail::name##_(R(x)));                                            \
  }
OPWRIGHT_SPECIAL(digamma)
OPWRIGHT_SPECIAL(trigamma)
OPWRIGHT_SPECIAL(tetragamma)
OPWRIGHT_SPECIAL(pentagamma)
OPWRIGHT_SPECIAL(erfinv)
#undef OPWRIGHT_SPECIAL

}  // namespace opwright
#endif
