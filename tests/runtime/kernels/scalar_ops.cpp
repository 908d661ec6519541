// Operators with optional scalars, strings and choices, in every form that a kernel can take them.
#include <opwright.h>

#include <optional>
#include <string>
#include <string_view>

namespace scalar_ops {
enum class Reduction { none, sum, tanh_approx, mean };  // in another order than in the signature, and with one more
}

OPWRIGHT("scaled(x: T[N], mode: mean | sum | 'tanh-approx' = mean, k: int? in [1, N], p: float?, b: bool?) -> (y: T[N])")
template <class T>
void scaled(Tensor<const T> x, scalar_ops::Reduction mode, std::optional<int64_t> k, std::optional<double> p,
            Optional<bool> b, Tensor<T> y) {
  using scalar_ops::Reduction;
  const T factor = mode == Reduction::mean ? 2 : mode == Reduction::sum ? 3 : 5;
  const T offset = T(k ? *k * 10 : 0) + T(p.value_or(0.5)) + T(b ? *b ? 1000 : 2000 : 0);
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] * factor + offset;
}

OPWRIGHT("scaled_backward(grad_y: T[N], mode: mean | sum | 'tanh-approx') -> (grad_x: T[N])")
template <class T>
void scaled_backward(Tensor<const T> grad_y, scalar_ops::Reduction mode, Tensor<T> grad_x) {
  using scalar_ops::Reduction;
  const T factor = mode == Reduction::mean ? 2 : mode == Reduction::sum ? 3 : 5;
  for (int64_t i = 0; i < grad_y.numel(); ++i) grad_x[i] = grad_y[i] * factor;
}

OPWRIGHT("spelled(x: u8[...], text: str = 'plain', more: str?) -> (y: i64[3])")
void spelled(Tensor<const uint8_t>, std::string_view text, std::optional<std::string> more, Tensor<int64_t, 1> y) {
  y[0] = static_cast<int64_t>(text.size());
  y[1] = text.empty() ? -1 : static_cast<unsigned char>(text.back());
  y[2] = more ? static_cast<int64_t>(more->size()) : -1;
}

// A template over a choice and a bool, between its type variables.
OPWRIGHT("chosen(x: T[N], mode: sum | mean, y: U[N], flip: bool = False) -> (z: T[N])"
         " where T in (f32, f64), U in (f32, f64)")
template <class T, scalar_ops::Reduction mode, class U, bool flip>
void chosen(Tensor<const T> x, Tensor<const U> y, Tensor<T> z) {
  const T factor = mode == scalar_ops::Reduction::sum ? 3 : 2;
  for (int64_t i = 0; i < x.numel(); ++i) z[i] = flip ? T(y[i]) * factor - x[i] : x[i] * factor + T(y[i]);
}

OPWRIGHT("rows(x: T[N], mode: sum | mean, k: int?) -> (y: T[N]) batched")
template <class T>
void rows(Tensor<const T> x, scalar_ops::Reduction mode, std::optional<int32_t> k, Tensor<T> y) {
  T total = 0;
  for (int64_t i = 0; i < x.numel(); ++i) total += x[i];
  if (mode == scalar_ops::Reduction::mean && x.numel()) total /= T(x.numel());
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] + total * T(k.value_or(1));
}

OPWRIGHT("bent(x: T, mode: sum | mean, cube: bool = False, slope: float?) -> (y: T)")
template <class T, bool cube>
T bent(T x, scalar_ops::Reduction mode, std::optional<double> slope) {
  const T squared = cube ? x * x * x : x * x;
  return mode == scalar_ops::Reduction::sum ? squared + T(slope.value_or(1)) * x : squared * T(2);
}
