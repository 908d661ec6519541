// THCNumerics<T> and ScalarConvert: arithmetic by name, for numbers and halves.
#pragma once

#include <c10/macros/Macros.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

template <class In, class Out>
struct ScalarConvert {
  static C10_HOST_DEVICE inline Out to(const In value) { return static_cast<Out>(value); }
};

template <class T, class U>
C10_HOST_DEVICE inline T scalar_cast(U value) {
  return static_cast<T>(value);
}

namespace opwright_compat {

// What arithmetic is done in: halves are computed as float.
template <class T>
using Computed = std::conditional_t<std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>, float, T>;

}  // namespace opwright_compat

template <class T>
struct THCNumerics {
 private:
  using C = opwright_compat::Computed<T>;
  static C10_HOST_DEVICE inline C up(T a) { return static_cast<C>(a); }
  static C10_HOST_DEVICE inline T down(C a) { return static_cast<T>(a); }

 public:
  static C10_HOST_DEVICE inline constexpr T min() { return std::numeric_limits<T>::lowest(); }
  static C10_HOST_DEVICE inline constexpr T max() { return std::numeric_limits<T>::max(); }
  static C10_HOST_DEVICE inline constexpr T lower_bound() {
    if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
    return min();
  }
  static C10_HOST_DEVICE inline constexpr T upper_bound() {
    if constexpr (std::numeric_limits<T>::has_infinity) return std::numeric_limits<T>::infinity();
    return max();
  }

  static C10_HOST_DEVICE inline bool lt(T a, T b) { return up(a) < up(b); }
  static C10_HOST_DEVICE inline bool le(T a, T b) { return up(a) <= up(b); }
  static C10_HOST_DEVICE inline bool gt(T a, T b) { return up(a) > up(b); }
  static C10_HOST_DEVICE inline bool ge(T a, T b) { return up(a) >= up(b); }
  static C10_HOST_DEVICE inline bool eq(T a, T b) { return up(a) == up(b); }
  static C10_HOST_DEVICE inline bool ne(T a, T b) { return up(a) != up(b); }
  static C10_HOST_DEVICE inline bool isnan(T a) { return up(a) != up(a); }
  static C10_HOST_DEVICE inline bool isinf(T a) {
    if constexpr (std::is_floating_point_v<C>) return up(a) - up(a) != C(0) && up(a) == up(a);
    return false;
  }

  static C10_HOST_DEVICE inline T add(T a, T b) { return down(up(a) + up(b)); }
  static C10_HOST_DEVICE inline T sub(T a, T b) { return down(up(a) - up(b)); }
  static C10_HOST_DEVICE inline T mul(T a, T b) { return down(up(a) * up(b)); }
  static C10_HOST_DEVICE inline T div(T a, T b) { return down(up(a) / up(b)); }
  static C10_HOST_DEVICE inline T neg(T a) { return down(-up(a)); }
  static C10_HOST_DEVICE inline T abs(T a) { return down(up(a) < C(0) ? -up(a) : up(a)); }
  static C10_HOST_DEVICE inline T cinv(T a) { return down(C(1) / up(a)); }
  static C10_HOST_DEVICE inline T frac(T a) { return down(up(a) - std::trunc(up(a))); }
  static C10_HOST_DEVICE inline T sigmoid(T a) { return down(C(1) / (C(1) + std::exp(-up(a)))); }
  static C10_HOST_DEVICE inline T rsqrt(T a) { return down(C(1) / std::sqrt(up(a))); }
  static C10_HOST_DEVICE inline T pow(T a, T b) { return down(std::pow(up(a), up(b))); }
  static C10_HOST_DEVICE inline T atan2(T a, T b) { return down(std::atan2(up(a), up(b))); }

#define OPWRIGHT_COMPAT_FUNCTION(name) \
  static C10_HOST_DEVICE inline T name(T a) { return down(std::name(up(a))); }
  OPWRIGHT_COMPAT_FUNCTION(exp)
  OPWRIGHT_COMPAT_FUNCTION(exp2)
  OPWRIGHT_COMPAT_FUNCTION(expm1)
  OPWRIGHT_COMPAT_FUNCTION(log)
  OPWRIGHT_COMPAT_FUNCTION(log2)
  OPWRIGHT_COMPAT_FUNCTION(log10)
  OPWRIGHT_COMPAT_FUNCTION(log1p)
  OPWRIGHT_COMPAT_FUNCTION(lgamma)
  OPWRIGHT_COMPAT_FUNCTION(sqrt)
  OPWRIGHT_COMPAT_FUNCTION(ceil)
  OPWRIGHT_COMPAT_FUNCTION(floor)
  OPWRIGHT_COMPAT_FUNCTION(trunc)
  OPWRIGHT_COMPAT_FUNCTION(round)
  OPWRIGHT_COMPAT_FUNCTION(cos)
  OPWRIGHT_COMPAT_FUNCTION(sin)
  OPWRIGHT_COMPAT_FUNCTION(tan)
  OPWRIGHT_COMPAT_FUNCTION(acos)
  OPWRIGHT_COMPAT_FUNCTION(asin)
  OPWRIGHT_COMPAT_FUNCTION(atan)
  OPWRIGHT_COMPAT_FUNCTION(cosh)
  OPWRIGHT_COMPAT_FUNCTION(sinh)
  OPWRIGHT_COMPAT_FUNCTION(tanh)
  OPWRIGHT_COMPAT_FUNCTION(erf)
  OPWRIGHT_COMPAT_FUNCTION(erfc)
#undef OPWRIGHT_COMPAT_FUNCTION
};
