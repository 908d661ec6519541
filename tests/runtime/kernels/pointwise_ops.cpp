// Pointwise operators: functions of one element.
#include <opwright.h>

// An optional argument and a scalar.
OPWRIGHT("blend(x: T, y: T, w: T?, alpha: float = 2.0) -> (z: T)")
template <class T>
T blend(T x, T y, Optional<T> w, double alpha) {
  return x * y + T(alpha) * (w ? *w : T(0));
}

// Promotes integers among themselves.
OPWRIGHT("total(x: T, y: T, z: T) -> (s: T) where T in (f32, f64, f16, bf16, i32, i64)")
template <class T>
T total(T x, T y, T z) {
  return x + y + z;
}

// Several results, one of a concrete type.
OPWRIGHT("polar(x: T, y: T) -> (r: T, angle: T, quadrant: i64)")
template <class T>
void polar(T x, T y, T &r, T &angle, int64_t &quadrant) {
  r = sqrt(x * x + y * y);
  angle = atan2(y, x);
  quadrant = (x < T(0) ? 1 : 0) + (y < T(0) ? 2 : 0);
}

// A concrete input type with a range, which is broadcast but never cast.
OPWRIGHT("digit(x: T, i: i64 in [0, 4)) -> (y: T)")
template <class T>
T digit(T x, int64_t i) {
  T power = 1;
  for (int64_t k = 0; k < 4; ++k) power = k < i ? power * x : power;
  return power;
}

OPWRIGHT("accumulate(y: T!, x: T, a: float = 1.0)")
template <class T>
void accumulate(T &y, T x, double a) {
  y = y + T(a) * x;
}

// Overwrites two, and returns something.
OPWRIGHT("rotate(x: T!, y: T!, angle: T) -> (norm: T)")
template <class T>
void rotate(T &x, T &y, T angle, T &norm) {
  const T c = cos(angle), s = sin(angle), a = c * x - s * y, b = s * x + c * y;
  x = a, y = b;
  norm = x * x + y * y;
}

// Element types that autocast is told.
OPWRIGHT("precise(x: T, y: T) -> (z: T) autocast: f32")
template <class T>
T precise(T x, T y) {
  return x - y;
}
