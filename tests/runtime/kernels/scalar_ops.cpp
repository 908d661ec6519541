// Operators with optional scalars, strings and choices, in every form that a kernel can take them.
#include <opwright.h>

#include <array>
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
  OPWRIGHT_CHECK(text != "bad", "text is ", text, ", more is ", more.value_or("none"), "!");
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

OPWRIGHT("padded(x: T[H, W], by: list[int, 2] in [0, 9] = 0, scale: list[float, 2] = 1.0, flip: list[bool, 2] = False)"
         " -> (y: T[H + 2*by[0], W + 2*by[1]])")
template <class T>
void padded(Tensor<const T, 2> x, std::array<int64_t, 2> by, std::array<double, 2> scale, std::array<bool, 2> flip,
            Tensor<T, 2> y) {
  const int64_t H = x.size(0), W = x.size(1);
  for (int64_t i = 0; i < y.size(0); ++i)
    for (int64_t j = 0; j < y.size(1); ++j) {
      const int64_t a = i - by[0], b = j - by[1];
      const bool inside = 0 <= a && a < H && 0 <= b && b < W;
      const T value = inside ? x(flip[0] ? H - 1 - a : a, flip[1] ? W - 1 - b : b) : T(0);
      y(i, j) = value * T(scale[0] * scale[1]);
    }
}

OPWRIGHT("padded_backward(grad_y: T[H + 2*by[0], W + 2*by[1]], by: list[int, 2], scale: list[float, 2],"
         " flip: list[bool, 2]) -> (grad_x: T[H, W])")
template <class T>
void padded_backward(Tensor<const T, 2> grad_y, std::array<int64_t, 2> by, std::array<double, 2> scale,
                     std::array<bool, 2> flip, Tensor<T, 2> grad_x, int64_t H, int64_t W) {
  for (int64_t i = 0; i < H; ++i)
    for (int64_t j = 0; j < W; ++j)
      grad_x(flip[0] ? H - 1 - i : i, flip[1] ? W - 1 - j : j) = grad_y(i + by[0], j + by[1]) * T(scale[0] * scale[1]);
}

OPWRIGHT("cut(x: T[N], by: list[int, 2] in [0, 9]) -> (y: T[M]) where M = N - by[0] - by[1]")
template <class T>
void cut(Tensor<const T, 1> x, std::array<int32_t, 2> by, Tensor<T, 1> y) {
  for (int64_t i = 0; i < y.size(0); ++i) y[i] = x[i + by[0]];
}

OPWRIGHT("cut_backward(grad_y: T[M], by: list[int, 2]) -> (grad_x: T[N])")
template <class T>
void cut_backward(Tensor<const T, 1> grad_y, std::array<int32_t, 2> by, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_x.size(0); ++i) {
    const int64_t j = i - by[0];
    grad_x[i] = 0 <= j && j < grad_y.size(0) ? grad_y[j] : T(0);
  }
}

// The backward takes no list: the elements are axes that only the forward knows.
OPWRIGHT("tiled(x: T[1], n: list[int, 2] in [0, 9]) -> (y: T[n[0]*n[1]])")
template <class T>
void tiled(Tensor<const T, 1> x, std::array<int64_t, 2>, Tensor<T, 1> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = x[0];
}

OPWRIGHT("tiled_backward(grad_y: T[n[0]*n[1]]) -> (grad_x: T[1])")
template <class T>
void tiled_backward(Tensor<const T, 1> grad_y, Tensor<T, 1> grad_x) {
  grad_x[0] = 0;
  for (int64_t i = 0; i < grad_y.numel(); ++i) grad_x[0] += grad_y[i];
}

OPWRIGHT("counted(x: T[N], at: list[int] in [0, N), by: list[float] in (-9, 9), on: list[bool]) -> (y: f64[6])")
template <class T>
void counted(Tensor<const T, 1> x, Tensor<const int64_t, 1> at, Tensor<const double> by, Tensor<const bool, 1> on,
             Tensor<double, 1> y) {
  y[0] = double(at.size(0)), y[1] = double(by.numel()), y[2] = double(on.size(0)), y[3] = y[4] = y[5] = 0;
  for (int64_t i = 0; i < at.size(0); ++i) y[3] += double(x[at[i]]);
  for (int64_t i = 0; i < by.numel(); ++i) y[4] += by[i];
  for (int64_t i = 0; i < on.size(0); ++i) y[5] += on[i] ? 1 : 0;
}

OPWRIGHT("polynomial(x: T, c: list[float, 3] = 1.0) -> (y: T)")
template <class T>
T polynomial(T x, std::array<float, 3> c) {
  return T(c[0]) + x * (T(c[1]) + x * T(c[2]));
}
