#include <opwright.h>

// To the nearest whole number, halves to the even one. Its derivative is zero wherever it has one, so that nothing could
// be learned through it.
OPWRIGHT("round(x: T) -> (y: T)")
template <class T>
T round_to_even(T x) {
  return round(x);
}

// The straight-through estimate of Bengio, Léonard and Courville (2013): the gradient as if nothing had been rounded.
OPWRIGHT("round_backward(grad_y: T) -> (grad_x: T)")
template <class T>
T round_backward(T grad_y) {
  return grad_y;
}
