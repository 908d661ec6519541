/* Derivatives of functions of complex numbers: Complex<Dual<S, N>>, whose parts have derivatives by real variables.
 *
 * A complex variable is two real ones, its parts. So every function has its derivatives, be it holomorphic or not (conj, abs, real,
 * imag): they are the real ones, from which PyTorch's gradient, dL/dx + i dL/dy of a real L, follows without another rule.
 * A holomorphic function's are those of its slope f', written with z, the number, and y, the function's value there.
 */
#ifndef OPWRIGHT_COMPLEX_DUAL_H
#define OPWRIGHT_COMPLEX_DUAL_H

#include "../math/complex_math.h"
#include "dual_math.h"

namespace opwright {
namespace detail {

template <class S, int N> using ComplexDual = Complex<Dual<S, N>>;

template <class S, int N>
OPWRIGHT_INLINE Complex<S> values(const ComplexDual<S, N> &z) {
  return Complex<S>(z.re.value, z.im.value);
}

/* y with the derivatives slope * dz, and slope_b * db; a derivative of exactly zero stays zero, as real ones (dual_number.h). */
template <class S, int N>
OPWRIGHT_INLINE ComplexDual<S, N> chain(const ComplexDual<S, N> &z, const Complex<S> &y, const Complex<S> &slope) {
  ComplexDual<S, N> result;
  result.re.value = y.re, result.im.value = y.im;
  OPWRIGHT_EACH({
    const S dx = z.re.partial[i], dy = z.im.partial[i];
    result.re.partial[i] = times(slope.re, dx) - times(slope.im, dy);
    result.im.partial[i] = times(slope.re, dy) + times(slope.im, dx);
  })
  return result;
}
template <class S, int N>
OPWRIGHT_INLINE ComplexDual<S, N> chain(const ComplexDual<S, N> &a, const ComplexDual<S, N> &b, const Complex<S> &y,
                                        const Complex<S> &slope_a, const Complex<S> &slope_b) {
  const ComplexDual<S, N> by_a = chain(a, y, slope_a), by_b = chain(b, y, slope_b);
  ComplexDual<S, N> result = by_a;
  OPWRIGHT_EACH({
    result.re.partial[i] = by_a.re.partial[i] + by_b.re.partial[i];
    result.im.partial[i] = by_a.im.partial[i] + by_b.im.partial[i];
  })
  return result;
}
template <class S>
OPWRIGHT_INLINE Complex<S> unless(bool condition, const Complex<S> &z) {
  return Complex<S>(select(condition, S(0), z.re), select(condition, S(0), z.im));
}

}  // namespace detail

#define OPWRIGHT_COMPLEX_SLOPE(name, slope)                                     \
  template <class S, int N>                                                     \
  OPWRIGHT_INLINE Complex<Dual<S, N>> name(const Complex<Dual<S, N>> &number) { \
    const Complex<S> z = detail::values(number), y = name(z);                   \
    return detail::chain(number, y, Complex<S>(slope));                         \
  }
OPWRIGHT_COMPLEX_SLOPE(exp, y)
OPWRIGHT_COMPLEX_SLOPE(expm1, exp(z))
OPWRIGHT_COMPLEX_SLOPE(log, 1 / z)
OPWRIGHT_COMPLEX_SLOPE(log2, 1 / (z * detail::ln2))
OPWRIGHT_COMPLEX_SLOPE(log10, 1 / (z * detail::ln10))
OPWRIGHT_COMPLEX_SLOPE(log1p, 1 / (z + 1))
OPWRIGHT_COMPLEX_SLOPE(sqrt, 0.5 / y)
OPWRIGHT_COMPLEX_SLOPE(rsqrt, -0.5 * y * y * y)
OPWRIGHT_COMPLEX_SLOPE(sin, cos(z))
OPWRIGHT_COMPLEX_SLOPE(cos, -sin(z))
OPWRIGHT_COMPLEX_SLOPE(tan, y *y + 1)
OPWRIGHT_COMPLEX_SLOPE(sinh, cosh(z))
OPWRIGHT_COMPLEX_SLOPE(cosh, sinh(z))
OPWRIGHT_COMPLEX_SLOPE(tanh, (1 - y) * (1 + y))
OPWRIGHT_COMPLEX_SLOPE(asin, rsqrt(1 - z) * rsqrt(1 + z))
OPWRIGHT_COMPLEX_SLOPE(acos, -(rsqrt(1 - z) * rsqrt(1 + z)))
OPWRIGHT_COMPLEX_SLOPE(atan, 1 / (z * z + 1))
OPWRIGHT_COMPLEX_SLOPE(asinh, rsqrt(z *z + 1))
OPWRIGHT_COMPLEX_SLOPE(acosh, rsqrt(z - 1) * rsqrt(z + 1))
OPWRIGHT_COMPLEX_SLOPE(atanh, 1 / ((1 - z) * (1 + z)))
OPWRIGHT_COMPLEX_SLOPE(sigmoid, y * (1 - y))
#undef OPWRIGHT_COMPLEX_SLOPE

template <class S, int N>
OPWRIGHT_INLINE Complex<Dual<S, N>> pow(const Complex<Dual<S, N>> &first, const Complex<Dual<S, N>> &second) {
  const Complex<S> a = detail::values(first), b = detail::values(second), y = pow(a, b);
  return detail::chain(first, second, y, detail::unless(b == 0, b * pow(a, b - 1)), detail::unless(a == 0, y * log(a)));
}

/* |z|, whose derivative at 0 is 0, as PyTorch's. */
template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> abs(const Complex<Dual<S, N>> &z) {
  const S x = z.re.value, y = z.im.value, norm = abs(Complex<S>(x, y));
  return detail::chain(z.re, z.im, norm, detail::over_norm(x, norm), detail::over_norm(y, norm));
}

/* By the parts: `value` with the derivative `slope`, that of a holomorphic function, by z. */
template <class R>
OPWRIGHT_INLINE Complex<R> custom_derivative(const Complex<R> &z, const detail::same<Complex<R>> &value,
                                             const detail::same<Complex<R>> &slope) {
  if constexpr (detail::is_dual<R>::value)
    return detail::chain(z, custom_derivative(detail::values(z), detail::values(value), detail::values(slope)),
                         detail::values(slope));
  else return value;
}
template <class R>
OPWRIGHT_INLINE Complex<R> straight_through(const detail::same<Complex<R>> &value, const Complex<R> &derivatives) {
  return Complex<R>(straight_through(value.re, derivatives.re), straight_through(value.im, derivatives.im));
}

}  // namespace opwright
#endif
