/* Functions of complex numbers, with PyTorch's and C's branch cuts.
 *
 * Those of complex64 are computed in double and rounded once. Methods: W. Kahan, "Branch cuts for complex elementary functions"
 * (1987), for roots, inverse and hyperbolic functions; a logarithm near |z| = 1 and near z = 0 from an exact |z|^2 - 1. abs is
 * hypot, which doesn't overflow.
 */
#ifndef OPWRIGHT_COMPLEX_MATH_H
#define OPWRIGHT_COMPLEX_MATH_H

#include "../elements/complex.h"

namespace opwright {
namespace detail {

constexpr double ln2 = 0.69314718055994530942, ln10 = 2.30258509299404568402, half_pi = 1.57079632679489661923;

OPWRIGHT_HOST_DEVICE inline double largest_part(const complex128 &z) { return fmax(fabs(z.re), fabs(z.im)); }

/* a * b, where a may be 0 and b infinite: then 0. */
OPWRIGHT_HOST_DEVICE inline double without_nan(double a, double b) { return a == 0 ? a : a * b; }

/* e^x (c, s), where e^x may overflow while the product doesn't. */
OPWRIGHT_HOST_DEVICE inline complex128 scaled_by_exp(double x, double c, double s) {
  const double e = exp(x > 700 ? x / 2 : x), f = x > 700 ? e : 1;
  return complex128(without_nan(c, e) * f, without_nan(s, e) * f);
}

/* a * a by itself: a device compiler would make one operation of it and the sum that follows. */
OPWRIGHT_HOST_DEVICE inline double squared(double a) {
#if defined(__CUDA_ARCH__) && defined(OPWRIGHT_CUDA_COMPILER)
  return __dmul_rn(a, a);
#else
  return a * a;
#endif
}

/* a^2 + b^2 + c, rounded about once whatever cancels: products and sums with their errors (Dekker, Knuth). */
OPWRIGHT_HOST_DEVICE inline double sum_of_squares(double a, double b, double c) {
  const double p = squared(a), q = squared(b), p_error = fma(a, a, -p), q_error = fma(b, b, -q);
  const double s = p + c, s_with = s - p, s_error = (p - (s - s_with)) + (c - s_with);
  const double t = s + q, t_with = t - s, t_error = (s - (t - t_with)) + (q - t_with);
  return t + (s_error + t_error + p_error + q_error);
}

OPWRIGHT_HOST_DEVICE inline complex128 exp_of(const complex128 &z) {
  if (z.im == 0) return complex128(exp(z.re), z.im);
  return scaled_by_exp(z.re, cos(z.im), sin(z.im));
}
OPWRIGHT_HOST_DEVICE inline complex128 expm1_of(const complex128 &z) {
  if (z.im == 0) return complex128(expm1(z.re), z.im);
  const double half_sine = sin(z.im / 2), c = cos(z.im);
  const complex128 whole = scaled_by_exp(z.re, c, sin(z.im));
  return complex128(z.re > 700 ? whole.re : expm1(z.re) * c - 2 * half_sine * half_sine, whole.im);
}
OPWRIGHT_HOST_DEVICE inline complex128 log_of(const complex128 &z) {
  const double x = fabs(z.re), y = fabs(z.im), large = fmax(x, y), small = fmin(x, y), norm = hypot(x, y);
  const bool near_one = norm > 0.5 && norm < 2;
  return complex128(near_one                           ? log1p(sum_of_squares(large, small, -1)) / 2
                    : large > 1e300 && isfinite(large) ? log(hypot(x / 4, y / 4)) + 2 * ln2
                                                       : log(norm),
                    atan2(z.im, z.re));
}
OPWRIGHT_HOST_DEVICE inline complex128 log1p_of(const complex128 &z) {
  if (!(largest_part(z) < 0.5)) return log_of(complex128(1 + z.re, z.im));
  return complex128(log1p(sum_of_squares(z.re, z.im, 2 * z.re)) / 2, atan2(z.im, 1 + z.re));
}
OPWRIGHT_HOST_DEVICE inline complex128 sqrt_of(const complex128 &z) {
  const double most = largest_part(z);
  if (most == 0) return complex128(0, z.im);
  if (isinf(z.im)) return complex128(fabs(z.im), z.im);
  if (isinf(z.re) && isnan(z.im)) return z.re > 0 ? z : complex128(z.im, -z.re);
  /* so that neither |z| overflows nor |x| + |z| underflows */
  const double scale = most > 1e307 ? 0.0625 : most < 1e-290 ? 18014398509481984. /* 2^54 */ : 1;
  const double back = most > 1e307 ? 4 : most < 1e-290 ? 7.450580596923828125e-9 /* 2^-27 */ : 1;
  const double x = z.re * scale, y = z.im * scale, root = sqrt((fabs(x) + hypot(x, y)) / 2), other = y / root / 2;
  return x >= 0 ? complex128(root * back, other * back) : complex128(fabs(other) * back, copysign(root * back, z.im));
}
OPWRIGHT_HOST_DEVICE inline complex128 sinh_of(const complex128 &z) {
  const double c = cos(z.im), s = z.im == 0 ? z.im : sin(z.im), x = fabs(z.re);
  if (x > 700 && isfinite(z.im)) {
    const complex128 large = scaled_by_exp(x, c / 2, s / 2);
    return complex128(copysign(1., z.re) * large.re, large.im);
  }
  return complex128(without_nan(sinh(z.re), c), without_nan(s, cosh(z.re)));
}
OPWRIGHT_HOST_DEVICE inline complex128 cosh_of(const complex128 &z) {
  const double c = cos(z.im), s = z.im == 0 ? z.im : sin(z.im), x = fabs(z.re);
  if (x > 700 && isfinite(z.im)) {
    const complex128 large = scaled_by_exp(x, c / 2, s / 2);
    return complex128(large.re, copysign(1., z.re) * large.im);
  }
  return complex128(cosh(z.re) * c, z.re == 0 || s == 0 ? z.re * s : sinh(z.re) * s);
}
OPWRIGHT_HOST_DEVICE inline complex128 tanh_of(const complex128 &z) {
  if (fabs(z.re) > 22)
    return complex128(copysign(1., z.re), isfinite(z.im) ? 4 * sin(z.im) * cos(z.im) * exp(-2 * fabs(z.re)) : 0 * z.re);
  const double t = tan(z.im), beta = 1 + t * t, s = sinh(z.re), rho = sqrt(1 + s * s), whole = 1 + beta * s * s;
  if (isinf(t)) return complex128(rho / s, 1 / t);
  return complex128(beta * rho * s / whole, t / whole);
}
OPWRIGHT_HOST_DEVICE inline complex128 asin_of(const complex128 &z) {
  const complex128 a = sqrt_of(complex128(1 - z.re, -z.im)), b = sqrt_of(complex128(1 + z.re, z.im));
  return complex128(atan2(z.re, a.re * b.re - a.im * b.im), asinh(a.re * b.im - a.im * b.re));
}
OPWRIGHT_HOST_DEVICE inline complex128 acos_of(const complex128 &z) {
  const complex128 a = sqrt_of(complex128(1 - z.re, -z.im)), b = sqrt_of(complex128(1 + z.re, z.im));
  return complex128(2 * atan2(a.re, b.re), asinh(b.re * a.im - b.im * a.re));
}
OPWRIGHT_HOST_DEVICE inline complex128 acosh_of(const complex128 &z) {
  const complex128 a = sqrt_of(complex128(z.re - 1, z.im)), b = sqrt_of(complex128(z.re + 1, z.im));
  return complex128(asinh(a.re * b.re + a.im * b.im), 2 * atan2(a.im, b.re));
}
OPWRIGHT_HOST_DEVICE inline complex128 atanh_of(const complex128 &z) {
  const double most = largest_part(z);
  if (most > 1e150) return complex128(z.re / most / most, copysign(half_pi, z.im));
  const double x = z.re, y = z.im;
  return complex128(copysign(log1p(4 * fabs(x) / sum_of_squares(1 - fabs(x), y, 0)) / 4, x),
                    atan2(2 * y, (1 - x) * (1 + x) - y * y) / 2);
}
OPWRIGHT_HOST_DEVICE inline complex128 sigmoid_of(const complex128 &z) {
  const complex128 e = exp_of(z.re < 0 ? z : -z);
  return (z.re < 0 ? e : complex128(1, 0)) / (1 + e);
}
/* i z and -i z: functions that are others', turned. */
OPWRIGHT_HOST_DEVICE inline complex128 times_i(const complex128 &z) { return complex128(-z.im, z.re); }
OPWRIGHT_HOST_DEVICE inline complex128 over_i(const complex128 &z) { return complex128(z.im, -z.re); }

OPWRIGHT_HOST_DEVICE inline complex128 pow_of(const complex128 &a, const complex128 &b) {
  if (b.re == 0 && b.im == 0) return complex128(1, 0);
  if (a.re == 0 && a.im == 0 && b.re > 0) return complex128(0, 0);
  return exp_of(b * log_of(a));
}

}  // namespace detail

#define OPWRIGHT_OF_COMPLEX(name, value)                                             \
  OPWRIGHT_HOST_DEVICE inline complex128 name(const complex128 &z) { return value; } \
  OPWRIGHT_HOST_DEVICE inline complex64 name(const complex64 &z) { return complex64(name(complex128(z))); }
OPWRIGHT_OF_COMPLEX(exp, detail::exp_of(z))
OPWRIGHT_OF_COMPLEX(expm1, detail::expm1_of(z))
OPWRIGHT_OF_COMPLEX(log, detail::log_of(z))
OPWRIGHT_OF_COMPLEX(log2, detail::log_of(z) / detail::ln2)
OPWRIGHT_OF_COMPLEX(log10, detail::log_of(z) / detail::ln10)
OPWRIGHT_OF_COMPLEX(log1p, detail::log1p_of(z))
OPWRIGHT_OF_COMPLEX(sqrt, detail::sqrt_of(z))
OPWRIGHT_OF_COMPLEX(rsqrt, 1 / detail::sqrt_of(z))
OPWRIGHT_OF_COMPLEX(sin, detail::over_i(detail::sinh_of(detail::times_i(z))))
OPWRIGHT_OF_COMPLEX(cos, detail::cosh_of(detail::times_i(z)))
OPWRIGHT_OF_COMPLEX(tan, detail::over_i(detail::tanh_of(detail::times_i(z))))
OPWRIGHT_OF_COMPLEX(sinh, detail::sinh_of(z))
OPWRIGHT_OF_COMPLEX(cosh, detail::cosh_of(z))
OPWRIGHT_OF_COMPLEX(tanh, detail::tanh_of(z))
OPWRIGHT_OF_COMPLEX(asin, detail::asin_of(z))
OPWRIGHT_OF_COMPLEX(acos, detail::acos_of(z))
OPWRIGHT_OF_COMPLEX(atan, detail::over_i(detail::atanh_of(detail::times_i(z))))
OPWRIGHT_OF_COMPLEX(asinh, detail::over_i(detail::asin_of(detail::times_i(z))))
OPWRIGHT_OF_COMPLEX(acosh, detail::acosh_of(z))
OPWRIGHT_OF_COMPLEX(atanh, detail::atanh_of(z))
OPWRIGHT_OF_COMPLEX(sigmoid, detail::sigmoid_of(z))
#undef OPWRIGHT_OF_COMPLEX

OPWRIGHT_HOST_DEVICE inline float abs(const complex64 &z) { return float(hypot(double(z.re), double(z.im))); }
OPWRIGHT_HOST_DEVICE inline double abs(const complex128 &z) { return hypot(z.re, z.im); }

template <class R> OPWRIGHT_INLINE Complex<R> square(const Complex<R> &z) { return z * z; }
template <class R> OPWRIGHT_INLINE Complex<R> reciprocal(const Complex<R> &z) { return 1 / z; }

/* a to the power of b, complex or real, one of them at least complex; to a whole number (an int) by products. */
OPWRIGHT_HOST_DEVICE inline complex128 pow(const complex128 &a, const complex128 &b) { return detail::pow_of(a, b); }
OPWRIGHT_HOST_DEVICE inline complex64 pow(const complex64 &a, const complex64 &b) {
  return complex64(detail::pow_of(complex128(a), complex128(b)));
}
template <class P, class A, class R = detail::parts_with<P, A>>
OPWRIGHT_INLINE Complex<R> pow(const Complex<P> &a, const A &b) {
  if constexpr (detail::is_integer<typename detail::scalar<A>::type>::value) {
    Complex<R> result(R(1), R(0)), factor = a;
    for (unsigned long long left = b < 0 ? 0ull - (unsigned long long)(b) : (unsigned long long)(b); left; left >>= 1) {
      if (left & 1) result = result * factor;
      if (left > 1) factor = factor * factor;
    }
    return b < 0 ? 1 / result : result;
  } else {
    return pow(Complex<R>(a), Complex<R>(R(b)));
  }
}
template <class P, class A, class R = detail::parts_with<P, A>>
OPWRIGHT_INLINE Complex<R> pow(const A &a, const Complex<P> &b) {
  return pow(Complex<R>(R(a)), Complex<R>(b));
}

/* r (cos(angle) + i sin(angle)) */
template <class A, class B, class... None, class R = detail::real_of_two<A, B, None...>>
OPWRIGHT_INLINE Complex<R> polar(const A &r, const B &angle, None...) {
  return Complex<R>(R(r) * cos(R(angle)), R(r) * sin(R(angle)));
}
/* A real number is its own conjugate. */
template <class T, class... None>
OPWRIGHT_INLINE detail::real<T, None...> conj(const T &x, None...) {
  return x;
}

}  // namespace opwright
#endif
