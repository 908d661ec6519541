/* What the standard library says of the numbers that bodies are run on: std::numeric_limits and the traits by which a template
 * chooses are those of float or double below, so that the same lines run. Included behind the author's text, for what that
 * knows: the general ones are zeros, or false, in silence. */
#ifndef OPWRIGHT_LIMITS_H
#define OPWRIGHT_LIMITS_H

#include "dual_number.h"

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Winvalid-specialization"
#endif

/* The guards of libstdc++ and libc++. */
#if defined(_GLIBCXX_NUMERIC_LIMITS) || defined(_LIBCPP_LIMITS)
template <class S, int N>
struct std::numeric_limits<opwright::Dual<S, N>> : std::numeric_limits<opwright::detail::base<S>> {};
#endif

#if defined(_GLIBCXX_TYPE_TRAITS) || defined(_LIBCPP_TYPE_TRAITS)
#define OPWRIGHT_TRAIT(name)                                                      \
  template <class S, int N>                                                       \
  struct std::name<opwright::Dual<S, N>> : std::integral_constant<bool, true> {}; \
  template <class S, int N>                                                       \
  inline constexpr bool std::name##_v<opwright::Dual<S, N>> = true;
OPWRIGHT_TRAIT(is_floating_point)
OPWRIGHT_TRAIT(is_arithmetic)
#undef OPWRIGHT_TRAIT
#define OPWRIGHT_SAME(number)                                                                             \
  template <class S, int N>                                                                               \
  struct std::is_same<opwright::Dual<S, N>, number> : std::is_same<opwright::detail::base<S>, number> {}; \
  template <class S, int N>                                                                               \
  struct std::is_same<number, opwright::Dual<S, N>> : std::is_same<opwright::detail::base<S>, number> {}; \
  template <class S, int N>                                                                               \
  inline constexpr bool std::is_same_v<opwright::Dual<S, N>, number> =                                    \
      std::is_same_v<opwright::detail::base<S>, number>;                                                  \
  template <class S, int N>                                                                               \
  inline constexpr bool std::is_same_v<number, opwright::Dual<S, N>> =                                    \
      std::is_same_v<opwright::detail::base<S>, number>;
OPWRIGHT_SAME(float)
OPWRIGHT_SAME(double)
#undef OPWRIGHT_SAME
#endif

#ifdef __clang__
#pragma clang diagnostic pop
#endif
#endif
