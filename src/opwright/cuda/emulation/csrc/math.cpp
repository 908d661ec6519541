// Mathematics that is rarely asked for, so that no kernel has to compile it.
#include <opwright/emulation/math.h>

#include <cfenv>
#include <cmath>

namespace opwright {
namespace emulation {
namespace {

constexpr double pi = 3.14159265358979323846, sqrt_pi = 1.77245385090551602730;

/// While it lives, this OS thread rounds in one direction.
class Rounding {
 public:
  explicit Rounding(char mode) : before_(std::fegetround()) {
    std::fesetround(mode == 'd' ? FE_DOWNWARD : mode == 'u' ? FE_UPWARD : mode == 'z' ? FE_TOWARDZERO : FE_TONEAREST);
  }
  ~Rounding() { std::fesetround(before_); }
  Rounding(const Rounding &) = delete;
  Rounding &operator=(const Rounding &) = delete;

 private:
  int before_;
};

// Through volatile variables: the compiler takes the rounding for granted.
template <class T>
T computed(char what, char mode, T first, T second, T third) {
  volatile T a = first, b = second, c = third, result;
  {
    const Rounding rounding(mode);
    switch (what) {
      case '+': result = a + b; break;
      case '-': result = a - b; break;
      case '*': result = a * b; break;
      case '/': result = a / b; break;
      case 's': result = std::sqrt(a); break;
      default: result = std::fma(a, b, c);
    }
  }
  return result;
}

template <class To, class From>
To converted(char mode, From from, bool negative) {
  volatile From value = from;
  volatile To result;
  {
    const Rounding rounding(negative && mode == 'd' ? 'u' : negative && mode == 'u' ? 'd' : mode);
    result = static_cast<To>(value);
  }
  return negative ? -result : result;
}

/// The rest of x / 2, in [-1, 1]: exact.
double turn(double x) { return std::remainder(x, 2.0); }

}  // namespace

float rounded(char what, char mode, float a, float b, float c) { return computed(what, mode, a, b, c); }
double rounded(char what, char mode, double a, double b, double c) { return computed(what, mode, a, b, c); }
float narrowed(char mode, double x) { return converted<float>(mode, x, false); }
float to_float(char mode, unsigned long long magnitude, bool negative) {
  return converted<float>(mode, magnitude, negative);
}
double to_double(char mode, unsigned long long magnitude, bool negative) {
  return converted<double>(mode, magnitude, negative);
}

double sinpi(double x) {
  const double t = turn(x), size = std::fabs(t);
  if (size == 0 || size == 1) return std::copysign(0.0, x);
  if (size > 0.25 && size < 0.75) return std::copysign(std::cos(pi * (0.5 - size)), t);
  return std::copysign(std::sin(pi * (size > 0.5 ? 1 - size : size)), t);
}

double cospi(double x) {
  const double size = std::fabs(turn(x));
  if (size == 0.5) return 0;
  if (size > 0.25 && size < 0.75) return std::sin(pi * (0.5 - size));
  return size < 0.5 ? std::cos(pi * size) : -std::cos(pi * (1 - size));
}

// Newton's and Halley's method on erfc(y) = x, from the tail's asymptotic form or Winitzki's approximation; each step cubes
// the error.
double erfcinv(double x) {
  if (!(x >= 0 && x <= 2)) return NAN;
  if (x == 0 || x == 2) return x == 0 ? HUGE_VAL : -HUGE_VAL;
  if (x > 1) return -erfcinv(2 - x);
  const double a = 0.147, l = std::log(x) + std::log(2 - x), h = 2 / (pi * a) + l / 2;
  double y = std::sqrt(-l / a / (h + std::sqrt(h * h - l / a)));
  if (x < 1e-10) {
    const double t = -std::log(x * sqrt_pi);
    y = std::sqrt(t - 0.5 * std::log(t));
  }
  for (int i = 0; i < 4; ++i) {
    const double step = (std::erfc(y) - x) * std::exp(y * y) * sqrt_pi / 2;
    y += step / (1 - y * step);
  }
  return y;
}

double erfinv(double x) {
  const double size = std::fabs(x);
  if (!(size <= 1)) return NAN;
  if (size > 0.5) return std::copysign(erfcinv(1 - size), x);
  double y = size * sqrt_pi / 2;
  for (int i = 0; i < 6; ++i) {
    const double step = (std::erf(y) - size) * std::exp(y * y) * sqrt_pi / 2;
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

// exp(x^2) erfc(x): the product while neither factor leaves the range, beyond that the continued fraction.
double erfcx(double x) {
  if (x < 10) return x < -26.7 ? HUGE_VAL : std::exp(x * x) * std::erfc(x);
  double tail = x;
  for (int k = 60; k >= 1; --k) tail = x + 0.5 * k / tail;
  return 1 / (sqrt_pi * tail);
}

// The power series, whose terms are all positive; beyond 25 the asymptotic one.
static double bessel_i(int order, double size) {
  if (size <= 25) {
    const double quarter = size * size / 4;
    double term = order ? size / 2 : 1, sum = term;
    for (int k = 1; term > sum * 1e-17; ++k) sum += term *= quarter / (double(k) * (k + order));
    return sum;
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 40 && std::fabs(term) > 1e-17; ++k) {
    const double odd = 2 * k - 1;
    sum += term *= (odd * odd - 4 * order) / (8 * size * k);
  }
  return std::exp(size / 2) / std::sqrt(2 * pi * size) * sum * std::exp(size / 2);
}
double cyl_bessel_i0(double x) { return bessel_i(0, std::fabs(x)); }
double cyl_bessel_i1(double x) { return std::copysign(bessel_i(1, std::fabs(x)), x); }

}  // namespace emulation
}  // namespace opwright
