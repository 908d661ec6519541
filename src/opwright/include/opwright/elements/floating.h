/* The types that mathematics is done in: float and double as they are, halves as float, whole numbers as the other
 * argument's type, and dual numbers (dual.h) as themselves, whatever plain number stands beside them.
 *
 * The functions end with an empty pack, `None...`: by it a function that the author (or std) has under the same name
 * is the better match. A pack that isn't empty has no type. */
#ifndef OPWRIGHT_FLOATING_H
#define OPWRIGHT_FLOATING_H

#include "../device.h"
#include "half.h"

/* A call that stays keeps its loop from being vectorised. */
#define OPWRIGHT_INLINE OPWRIGHT_HOST_DEVICE inline __attribute__((always_inline))

namespace opwright {

template <class S, int N>
struct Dual;

namespace detail {

template <class T, class... None> struct floating {};
template <> struct floating<float> { using type = float; };
template <> struct floating<double> { using type = double; };
template <> struct floating<float16> { using type = float; };
template <> struct floating<bfloat16> { using type = float; };
template <class T, class... None> using float_of = typename floating<T, None...>::type;

/* The first bit, read: gcc 12 can't compile its own signbit of a bfloat16's float in a loop for AVX-512. */
OPWRIGHT_HOST_DEVICE inline bool sign_bit(float16 x) { return x.bits >> 15; }
OPWRIGHT_HOST_DEVICE inline bool sign_bit(bfloat16 x) { return x.bits >> 15; }
OPWRIGHT_HOST_DEVICE inline bool sign_bit(float x) { return bit_cast<uint32_t>(x) >> 31; }
OPWRIGHT_HOST_DEVICE inline bool sign_bit(double x) { return bit_cast<uint64_t>(x) >> 63; }

template <class T, class... None> struct whole {};
template <> struct whole<signed char> { using type = int; };
template <> struct whole<short> { using type = int; };
template <> struct whole<int> { using type = int; };
template <> struct whole<long> { using type = long; };
template <> struct whole<long long> { using type = long long; };

/* The type that two plain numbers are computed in: the wider float; a whole number takes the other's type. */
struct integer {};
template <class T> struct is_integer { static constexpr bool value = false; };
template <> struct is_integer<integer> { static constexpr bool value = true; };
template <class T> struct number : floating<T> {};
template <> struct number<bool> { using type = integer; };
template <> struct number<char> { using type = integer; };
template <> struct number<signed char> { using type = integer; };
template <> struct number<unsigned char> { using type = integer; };
template <> struct number<short> { using type = integer; };
template <> struct number<unsigned short> { using type = integer; };
template <> struct number<int> { using type = integer; };
template <> struct number<unsigned> { using type = integer; };
template <> struct number<long> { using type = integer; };
template <> struct number<unsigned long> { using type = integer; };
template <> struct number<long long> { using type = integer; };
template <> struct number<unsigned long long> { using type = integer; };
template <class A, class B> struct wider {};
template <class A> struct wider<A, A> { using type = A; };
template <> struct wider<float, double> { using type = double; };
template <> struct wider<double, float> { using type = double; };
template <> struct wider<float, integer> { using type = float; };
template <> struct wider<double, integer> { using type = double; };
template <> struct wider<integer, float> { using type = float; };
template <> struct wider<integer, double> { using type = double; };
template <class A, class B>
using wider_number = typename wider<typename number<A>::type, typename number<B>::type>::type;
template <class A, class B, class... None>
using float_of_two = float_of<wider_number<A, B>, None...>;
template <class A, class B, class C, class... None>
using float_of_three = float_of<typename wider<wider_number<A, B>, typename number<C>::type>::type, None...>;

/* The same with dual numbers: what a function that is written once for plain and dual numbers computes in. */
template <class T> struct scalar : number<T> {};
template <class S, int N> struct scalar<Dual<S, N>> { using type = Dual<S, N>; };
template <class S, int N> struct wider<Dual<S, N>, float> { using type = Dual<S, N>; };
template <class S, int N> struct wider<Dual<S, N>, double> { using type = Dual<S, N>; };
template <class S, int N> struct wider<Dual<S, N>, integer> { using type = Dual<S, N>; };
template <class S, int N> struct wider<float, Dual<S, N>> { using type = Dual<S, N>; };
template <class S, int N> struct wider<double, Dual<S, N>> { using type = Dual<S, N>; };
template <class S, int N> struct wider<integer, Dual<S, N>> { using type = Dual<S, N>; };
template <class T, class... None> struct real_scalar : floating<T, None...> {};
template <class S, int N> struct real_scalar<Dual<S, N>> { using type = Dual<S, N>; };
template <class A, class B>
using wider_scalar = typename wider<typename scalar<A>::type, typename scalar<B>::type>::type;
template <class T, class... None> using real = typename real_scalar<T, None...>::type;
template <class A, class B, class... None> using real_of_two = real<wider_scalar<A, B>, None...>;
template <class A, class B, class C, class... None>
using real_of_three = real<typename wider<wider_scalar<A, B>, typename scalar<C>::type>::type, None...>;

/* The same where the result is a dual number; otherwise nothing. */
template <class R, class... None> struct only_dual {};
template <class S, int N> struct only_dual<Dual<S, N>> { using type = Dual<S, N>; };
template <class T, class... None> using dual_of = typename only_dual<T, None...>::type;
template <class A, class B, class... None> using dual_of_two = dual_of<wider_scalar<A, B>, None...>;
template <class A, class B, class C, class... None>
using dual_of_three = dual_of<typename wider<wider_scalar<A, B>, typename scalar<C>::type>::type, None...>;

template <class T> struct is_dual { static constexpr bool value = false; };
template <class S, int N> struct is_dual<Dual<S, N>> { static constexpr bool value = true; };

/* The plain type at the bottom: float of Dual<Dual<float, 1>, 2>. */
template <class T> struct bottom { using type = T; };
template <class S, int N> struct bottom<Dual<S, N>> : bottom<S> {};
template <class T> using base = typename bottom<T>::type;

/* What a comparison gives: bool; of numbers that are several at once (lanes.h), as many. */
template <class T> struct comparison { using type = bool; };
template <class S, int N> struct comparison<Dual<S, N>> : comparison<S> {};
template <class T> using truth = typename comparison<T>::type;

/* Whether A is a plain number: what becomes a double without being asked. */
template <class A> OPWRIGHT_HOST_DEVICE A made();
OPWRIGHT_HOST_DEVICE void takes(double);
template <class A> using if_number = decltype(takes(made<A>()));

/* T, but not deduced: an argument that converts. */
template <class T> struct not_deduced { using type = T; };
template <class T> using same = typename not_deduced<T>::type;

/* Of two candidates, with no branch: a dual number's components are selected one by one (dual_number.h). */
template <class T, class = if_number<T>>
OPWRIGHT_INLINE T select(bool first, T a, T b) {
  return first ? a : b;
}

}  // namespace detail

/* A plain number as it is. What a dual number's parts are for: dual_number.h, dual_select.h. */
template <class T, class = detail::if_number<T>>
OPWRIGHT_INLINE T value_of(T x) {
  return x;
}
template <class T, class = detail::if_number<T>>
OPWRIGHT_INLINE T stop_gradient(T x) {
  return x;
}
template <class T, class = detail::if_number<T>>
OPWRIGHT_INLINE T custom_derivative(T, detail::same<T> value, detail::same<T>) {
  return value;
}
template <class A, class B>
OPWRIGHT_HOST_DEVICE A custom_derivative(const A &value, const B &) {
  static_assert(sizeof(A) == 0,
                "custom_derivative(x, value, slope) wants the variable first: a slope is by something; "
                "straight_through(value, expression) takes the derivatives of an expression");
  return value;
}
template <class T, class = detail::if_number<T>>
OPWRIGHT_INLINE T straight_through(detail::same<T> value, T) {
  return value;
}
template <class A, class B, class... None>
OPWRIGHT_INLINE detail::float_of_two<A, B, None...> where(bool condition, A a, B b, None...) {
  using R = detail::float_of_two<A, B>;
  return detail::select(condition, R(a), R(b));
}

}  // namespace opwright
#endif
