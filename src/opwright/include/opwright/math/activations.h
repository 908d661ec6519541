/* Functions that are made of others, by PyTorch's names and definitions, its conventions at kinks included.
 *
 * Each is written once for plain and dual numbers, and so differentiated by being run. What isn't smooth is a
 * selection, whose derivative is that of what it takes; all candidates are computed first, because a selection is
 * vectorised, a branch isn't. B(...) keeps a constant in the numbers' own precision.
 */
#ifndef OPWRIGHT_ACTIVATIONS_H
#define OPWRIGHT_ACTIVATIONS_H

#include "math.h"

namespace opwright {

namespace detail {
template <class T, class B> struct largest {
  OPWRIGHT_HOST_DEVICE static B value() {
    return sizeof(B) == 4 ? B(3.40282346638528859812e+38) : B(1.79769313486231570815e+308);
  }
};
template <class B> struct largest<float16, B> {
  OPWRIGHT_HOST_DEVICE static B value() { return B(65504); }
};
template <class B> struct largest<bfloat16, B> {
  OPWRIGHT_HOST_DEVICE static B value() { return B(3.38953138925153547591e+38); }
};
}  // namespace detail

#define OPWRIGHT_OF_ONE(name)                                                                      \
  template <class T, class... None, class R = detail::real<T, None...>, class B = detail::base<R>> \
  OPWRIGHT_INLINE R name(T number, None...)
/* With parameters, which may be dual numbers themselves. */
#define OPWRIGHT_OF_TWO(name, parameter)                                                                              \
  template <class T, class A, class... None, class R = detail::real_of_two<T, A, None...>, class B = detail::base<R>> \
  OPWRIGHT_INLINE R name(T number, A parameter, None...)
#define OPWRIGHT_OF_THREE(name, first, second)                                                           \
  template <class T, class L, class H, class... None, class R = detail::real_of_three<T, L, H, None...>, \
            class B = detail::base<R>>                                                                   \
  OPWRIGHT_INLINE R name(T number, L first, H second, None...)

OPWRIGHT_OF_ONE(square) {
  const R x = number;
  return x * x;
}
OPWRIGHT_OF_ONE(reciprocal) { return B(1) / R(number); }
OPWRIGHT_OF_ONE(deg2rad) { return R(number) * B(0.017453292519943295769); }
OPWRIGHT_OF_ONE(rad2deg) { return R(number) * B(57.295779513082320877); }
OPWRIGHT_OF_ONE(frac) {
  const R x = number;
  return x - trunc(x);
}
/* relu, relu6, hardtanh, hardsigmoid and hardshrink are flat at their kinks, clamp isn't. Of NaN the derivative is 0
 * but for relu. */
OPWRIGHT_OF_ONE(relu) {
  const R x = number;
  return where(x <= 0, R(0), x);
}
OPWRIGHT_OF_THREE(hardtanh, low, high) {
  const R x = number, lower = low, upper = high;
  return where(x > lower && x < upper, x, where(x <= lower, lower, where(x >= upper, upper, stop_gradient(x))));
}
OPWRIGHT_OF_ONE(hardtanh) { return hardtanh(R(number), B(-1), B(1)); }
OPWRIGHT_OF_ONE(relu6) { return hardtanh(R(number), B(0), B(6)); }
OPWRIGHT_OF_ONE(hardsigmoid) { return (hardtanh(R(number), B(-3), B(3)) + B(3)) / B(6); }
OPWRIGHT_OF_ONE(hardswish) {
  const R x = number, inside = x * (x + B(3)) / B(6);
  return where(x <= -3, x * B(0), where(x >= 3, x, inside));
}
namespace detail {

template <class R>
OPWRIGHT_INLINE R clamped(const R &x, const R &lower, const R &upper) {
  const R raised = where(x < lower, lower, x), result = where(x > upper || lower > upper, upper, raised);
  return where(x != x || lower != lower || upper != upper, stop_gradient(x + lower + upper), result);
}

}  // namespace detail

/* At a bound the derivative by x is 1; beyond it the bound has it. NaN if one of the three is, without derivatives. */
OPWRIGHT_OF_THREE(clamp, low, high) { return detail::clamped(R(number), R(low), R(high)); }
OPWRIGHT_OF_TWO(leaky_relu, slope) {
  const R x = number, below = x * R(slope);
  return where(x > 0, x, below);
}
OPWRIGHT_OF_ONE(leaky_relu) { return leaky_relu(R(number), B(0.01)); }
OPWRIGHT_OF_TWO(hardshrink, lambda) {
  const R x = number, bound = lambda;
  return where(x > bound || x < -bound, x, where(x == x, R(0), stop_gradient(x)));
}
OPWRIGHT_OF_ONE(hardshrink) { return hardshrink(R(number), B(0.5)); }
OPWRIGHT_OF_TWO(softshrink, lambda) {
  const R x = number, bound = lambda, above = x - bound, below = x + bound;
  return where(x > bound, above, where(x < -bound, below, where(x == x, R(0), stop_gradient(x))));
}
OPWRIGHT_OF_ONE(softshrink) { return softshrink(R(number), B(0.5)); }

/* At 0 the first derivative of elu, celu and selu is that of the left side, the second one 0. */
OPWRIGHT_OF_TWO(elu, alpha) {
  const R x = number, curve = expm1(x), below = R(alpha) * where(x < 0, curve, x);
  return where(x > 0, x, below);
}
OPWRIGHT_OF_TWO(celu, alpha) {
  const R x = number, scale = alpha, scaled = x / scale, curve = expm1(scaled);
  const R below = scale * where(x < 0, curve, scaled);
  return where(x > 0, x, below);
}
OPWRIGHT_OF_ONE(elu) { return elu(R(number), B(1)); }
OPWRIGHT_OF_ONE(celu) { return elu(R(number), B(1)); }
OPWRIGHT_OF_ONE(selu) { return elu(R(number), B(1.67326324235437728481704)) * B(1.05070098735548049341933); }

OPWRIGHT_OF_ONE(silu) {
  const R x = number;
  return x * sigmoid(x);
}
/* log(1 + exp(beta * x)) / beta, and x itself where beta * x is above the threshold. */
OPWRIGHT_OF_THREE(softplus, beta, threshold) {
  const R x = number, scale = beta, scaled = x * scale, smooth = (B(0) - logsigmoid(-scaled)) / scale;
  return where(scaled > threshold, x, smooth);
}
OPWRIGHT_OF_TWO(softplus, beta) { return softplus(R(number), beta, B(20)); }
OPWRIGHT_OF_ONE(softplus) { return softplus(R(number), B(1), B(20)); }
/* x * tanh(softplus(x)); with e = exp(x) the hyperbolic tangent is (e^2 + 2e) / (e^2 + 2e + 2), which is 1 above 20. */
OPWRIGHT_OF_ONE(mish) {
  const R x = number, e = exp(where(x > 20, R(20), x)), square = e * (e + B(2));
  return x * (square / (square + B(2)));
}
/* x * (1 + erf(x / sqrt(2))) / 2, by the complement, which has the left tail's precision. */
OPWRIGHT_OF_ONE(gelu) {
  const R x = number;
  return B(0.5) * x * erfc(x * B(-0.70710678118654752440));
}
/* gelu(approximate="tanh"): (1 + tanh(u)) / 2 is sigmoid(2 * u). */
OPWRIGHT_OF_ONE(gelu_tanh) {
  const R x = number, u = x * (x * x * B(0.044715 * 1.5957691216057307712) + B(1.5957691216057307712));
  return x * sigmoid(u);
}
OPWRIGHT_OF_ONE(softsign) {
  const R x = number;
  return x / (abs(x) + B(1));
}
/* a + weight * (b - a) */
OPWRIGHT_OF_THREE(lerp, end, weight) {
  const R a = number, b = end, w = weight, difference = b - a;
  const R from_start = a + w * difference, from_end = b - difference * (B(1) - w);
  return where(abs(w) < 0.5, from_start, from_end);
}
/* NaN becomes 0, the infinities the largest finite numbers of the argument's type. */
OPWRIGHT_OF_ONE(nan_to_num) {
  const R x = number;
  const B largest = detail::largest<T, B>::value();
  return where(isnan(x), R(0), where(isinf(x), where(x > 0, R(largest), R(-largest)), x));
}

#undef OPWRIGHT_OF_ONE
#undef OPWRIGHT_OF_TWO
#undef OPWRIGHT_OF_THREE

}  // namespace opwright
#endif
