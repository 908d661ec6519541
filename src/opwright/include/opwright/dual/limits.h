/* std::numeric_limits of the numbers that bodies are run on: those of float or double below. Included behind the author's text,
 * where that knows std::numeric_limits: the general one is all zeros, in silence. */
#ifndef OPWRIGHT_LIMITS_H
#define OPWRIGHT_LIMITS_H

#include "dual_number.h"

/* The guards of libstdc++ and libc++. */
#if defined(_GLIBCXX_NUMERIC_LIMITS) || defined(_LIBCPP_LIMITS)
template <class S, int N>
struct std::numeric_limits<opwright::Dual<S, N>> : std::numeric_limits<opwright::detail::base<S>> {};
#endif
#endif
