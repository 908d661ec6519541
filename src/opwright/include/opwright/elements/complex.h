/* Complex<R>: complex numbers; complex64 is Complex<float>, complex128 is Complex<double>, PyTorch's types.
 *
 *   complex64 z(1, -2);   z.real(), z.imag(), real(z), imag(z), conj(z), abs(z), arg(z)
 *   2.0 * z + i           with plain numbers, which are rounded to z's type first, as PyTorch's scalars
 *
 * In memory it is the real part, then the imaginary one, as C's `float _Complex`, std::complex, thrust::complex and
 * cuFloatComplex; it converts from and to those that have real() and imag(). A number becomes a complex one without being asked,
 * nothing becomes a real one but by real(z) or abs(z). There is no order: z < w doesn't compile. R may be a Dual: so functions of
 * complex numbers are differentiated by being run (complex_dual.h).
 *
 * Functions (exp, sqrt, pow, ...): complex_math.h. Products are the plain formula, quotients Smith's (1962), as PyTorch's.
 * real, imag, conj, arg are found by their argument alone: a source may have things of its own with these names.
 */
#ifndef OPWRIGHT_COMPLEX_H
#define OPWRIGHT_COMPLEX_H

#include "../math/math.h"

namespace opwright {

template <class R> struct Complex;

namespace detail {

template <class R> OPWRIGHT_HOST_DEVICE void takes_part(const R &);
template <class R, class A> using if_part = decltype(takes_part<R>(made<const A &>()));

/* What the parts of Complex<R> and a number of type A become: R, whatever plain number A is; nothing if A is no number. */
template <class R, class A, bool lifted, class = void> struct parts {};
template <class R, class A> struct parts<R, A, false, if_part<R, A>> { using type = R; };
template <class R, class A> struct parts<R, A, true, void> { using type = A; };
template <class R, class A>
using parts_with = typename parts<R, A, is_dual<A>::value && !is_dual<R>::value>::type;

/* What two complex numbers are computed in. */
template <class P, class Q> using wider_parts = typename wider<P, Q>::type;

}  // namespace detail

template <class R>
struct alignas(2 * alignof(R)) Complex {
  using value_type = R;
  R re, im;

  Complex() = default;
  OPWRIGHT_INLINE Complex(const R &real, const R &imag) : re(real), im(imag) {}
  template <class A, class = detail::if_part<R, A>>
  OPWRIGHT_INLINE Complex(const A &real) : re(real), im(0) {}
  template <class P, class = detail::if_part<R, P>>
  OPWRIGHT_INLINE Complex(const Complex<P> &z) : re(z.re), im(z.im) {}
  Complex(const Complex &z) = default;
  Complex &operator=(const Complex &z) = default;
  /* Other libraries' complex numbers. */
  template <class Z, class = typename Z::value_type, class = decltype(detail::made<const Z &>().imag())>
  OPWRIGHT_INLINE Complex(const Z &z) : re(z.real()), im(z.imag()) {}
  template <class Z, class = typename Z::value_type, class = decltype(Z(R(), R()).imag())>
  OPWRIGHT_INLINE operator Z() const {
    return Z(re, im);
  }

  OPWRIGHT_INLINE const R &real() const { return re; }
  OPWRIGHT_INLINE const R &imag() const { return im; }
  friend OPWRIGHT_INLINE R real(const Complex &z) { return z.re; }
  friend OPWRIGHT_INLINE R imag(const Complex &z) { return z.im; }
  friend OPWRIGHT_INLINE Complex conj(const Complex &z) { return Complex(z.re, -z.im); }
  friend OPWRIGHT_INLINE R arg(const Complex &z) { return atan2(z.im, z.re); }

  template <class A> OPWRIGHT_INLINE Complex &operator+=(const A &other) { return *this = *this + other; }
  template <class A> OPWRIGHT_INLINE Complex &operator-=(const A &other) { return *this = *this - other; }
  template <class A> OPWRIGHT_INLINE Complex &operator*=(const A &other) { return *this = *this * other; }
  template <class A> OPWRIGHT_INLINE Complex &operator/=(const A &other) { return *this = *this / other; }
};

using complex64 = Complex<float>;
using complex128 = Complex<double>;

#define OPWRIGHT_COMPLEXES template <class P, class Q, class R = detail::wider_parts<P, Q>>
#define OPWRIGHT_COMPLEX_AND_NUMBER template <class P, class A, class R = detail::parts_with<P, A>>

template <class R> OPWRIGHT_INLINE Complex<R> operator+(const Complex<R> &z) { return z; }
template <class R> OPWRIGHT_INLINE Complex<R> operator-(const Complex<R> &z) { return Complex<R>(-z.re, -z.im); }

OPWRIGHT_COMPLEXES OPWRIGHT_INLINE Complex<R> operator+(const Complex<P> &a, const Complex<Q> &b) {
  return Complex<R>(R(a.re) + R(b.re), R(a.im) + R(b.im));
}
OPWRIGHT_COMPLEXES OPWRIGHT_INLINE Complex<R> operator-(const Complex<P> &a, const Complex<Q> &b) {
  return Complex<R>(R(a.re) - R(b.re), R(a.im) - R(b.im));
}
OPWRIGHT_COMPLEXES OPWRIGHT_INLINE Complex<R> operator*(const Complex<P> &z, const Complex<Q> &w) {
  const R a = z.re, b = z.im, c = w.re, d = w.im;
  return Complex<R>(a * c - b * d, a * d + b * c);
}
OPWRIGHT_COMPLEXES OPWRIGHT_INLINE Complex<R> operator/(const Complex<P> &z, const Complex<Q> &w) {
  const R a = z.re, b = z.im, c = w.re, d = w.im;
  if (fabs(value_of(c)) >= fabs(value_of(d))) {
    if (c == 0 && d == 0) return Complex<R>(a / fabs(value_of(c)), b / fabs(value_of(d)));
    const R ratio = d / c, whole = c + d * ratio;
    return Complex<R>((a + b * ratio) / whole, (b - a * ratio) / whole);
  }
  const R ratio = c / d, whole = c * ratio + d;
  return Complex<R>((a * ratio + b) / whole, (b * ratio - a) / whole);
}
OPWRIGHT_COMPLEXES OPWRIGHT_INLINE bool operator==(const Complex<P> &a, const Complex<Q> &b) {
  return a.re == b.re && a.im == b.im;
}
OPWRIGHT_COMPLEXES OPWRIGHT_INLINE bool operator!=(const Complex<P> &a, const Complex<Q> &b) { return !(a == b); }

/* With a real number: of its imaginary part, 0, nothing is computed. */
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE Complex<R> operator+(const Complex<P> &z, const A &x) {
  return Complex<R>(R(z.re) + R(x), R(z.im));
}
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE Complex<R> operator+(const A &x, const Complex<P> &z) { return z + x; }
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE Complex<R> operator-(const Complex<P> &z, const A &x) {
  return Complex<R>(R(z.re) - R(x), R(z.im));
}
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE Complex<R> operator-(const A &x, const Complex<P> &z) {
  return Complex<R>(R(x) - R(z.re), -R(z.im));
}
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE Complex<R> operator*(const Complex<P> &z, const A &x) {
  return Complex<R>(R(z.re) * R(x), R(z.im) * R(x));
}
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE Complex<R> operator*(const A &x, const Complex<P> &z) { return z * x; }
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE Complex<R> operator/(const Complex<P> &z, const A &x) {
  return Complex<R>(R(z.re) / R(x), R(z.im) / R(x));
}
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE Complex<R> operator/(const A &x, const Complex<P> &z) {
  return Complex<R>(R(x), R(0)) / z;
}
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE bool operator==(const Complex<P> &z, const A &x) {
  return R(z.re) == R(x) && z.im == 0;
}
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE bool operator==(const A &x, const Complex<P> &z) { return z == x; }
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE bool operator!=(const Complex<P> &z, const A &x) { return !(z == x); }
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE bool operator!=(const A &x, const Complex<P> &z) { return !(z == x); }

/* What generic code asks of numbers, of complex ones. */
template <class R>
OPWRIGHT_INLINE Complex<detail::base<R>> value_of(const Complex<R> &z) {
  return Complex<detail::base<R>>(value_of(z.re), value_of(z.im));
}
template <class R>
OPWRIGHT_INLINE Complex<R> stop_gradient(const Complex<R> &z) {
  return Complex<R>(stop_gradient(z.re), stop_gradient(z.im));
}
template <class R>
OPWRIGHT_INLINE bool isnan(const Complex<R> &z) {
  return isnan(value_of(z.re)) || isnan(value_of(z.im));
}
template <class R>
OPWRIGHT_INLINE bool isinf(const Complex<R> &z) {
  return isinf(value_of(z.re)) || isinf(value_of(z.im));
}
template <class R>
OPWRIGHT_INLINE bool isfinite(const Complex<R> &z) {
  return isfinite(value_of(z.re)) && isfinite(value_of(z.im));
}
OPWRIGHT_COMPLEXES OPWRIGHT_INLINE Complex<R> where(bool condition, const Complex<P> &a, const Complex<Q> &b) {
  return condition ? Complex<R>(a) : Complex<R>(b);
}
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE Complex<R> where(bool condition, const Complex<P> &a, const A &b) {
  return condition ? Complex<R>(a) : Complex<R>(R(b));
}
OPWRIGHT_COMPLEX_AND_NUMBER OPWRIGHT_INLINE Complex<R> where(bool condition, const A &a, const Complex<P> &b) {
  return where(!condition, b, a);
}

#undef OPWRIGHT_COMPLEXES
#undef OPWRIGHT_COMPLEX_AND_NUMBER

}  // namespace opwright
#endif
