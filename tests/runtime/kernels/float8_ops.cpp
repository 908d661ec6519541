// Operators of 8-bit and 4-bit floats.
#include <opwright.h>

// Each row with a scale of its own. `like` tells the type.
OPWRIGHT(
    "quantise_rows(x: T[M, N], like: Q[0]) -> (y: Q[M, N], scale: f32[M])"
    " where T in (f32, bf16), Q in (f8e4m3fn, f8e5m2)")
template <class T, class Q>
void quantise_rows(Tensor<const T, 2> x, Tensor<const Q, 1>, Tensor<Q, 2> y, Tensor<float, 1> scale) {
  parallel_for(x.size(0), 64, [&](int64_t i) {
    float most = 0;
    for (int64_t j = 0; j < x.size(1); ++j) most = max(most, abs(float(x(i, j))));
    scale[i] = most > 0 ? most / 448 : 1;
    for (int64_t j = 0; j < x.size(1); ++j) y(i, j) = float(x(i, j)) / scale[i];
  });
}

OPWRIGHT(
    "scaled_matmul(a: Q[M, K], b: W[K, N], scale: f32[M]) -> (c: W[M, N])"
    " where Q in (f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f32), W in (f32, f64, bf16)")
template <class Q, class W>
void scaled_matmul(Tensor<const Q, 2> a, Tensor<const W, 2> b, Tensor<const float, 1> scale, Tensor<W, 2> c) {
  for (int64_t i = 0; i < c.size(0); ++i)
    for (int64_t j = 0; j < c.size(1); ++j) {
      acc<W> sum = 0;
      for (int64_t k = 0; k < a.size(1); ++k) sum += acc<W>(acc<Q>(a(i, k))) * acc<W>(b(k, j));
      c(i, j) = W(sum * acc<W>(scale[i]));
    }
}
OPWRIGHT(
    "scaled_matmul_backward(grad_c: W[M, N], a: Q[M, K], b: W[K, N], scale: f32[M])"
    " -> (grad_a: Q[M, K], grad_b: W[K, N], grad_scale: f32[M])")
template <class W, class Q>
void scaled_matmul_backward(Tensor<const W, 2> g, Tensor<const Q, 2> a, Tensor<const W, 2> b,
                            Tensor<const float, 1> scale, Tensor<Q, 2> grad_a, Tensor<W, 2> grad_b,
                            Tensor<float, 1> grad_scale) {
  using S = acc<W>;
  const int64_t M = a.size(0), K = a.size(1), N = b.size(1);
  if (grad_a)
    for (int64_t i = 0; i < M; ++i)
      for (int64_t k = 0; k < K; ++k) {
        S sum = 0;
        for (int64_t j = 0; j < N; ++j) sum += S(g(i, j)) * S(b(k, j)) * S(scale[i]);
        grad_a(i, k) = Q(float(sum));
      }
  if (grad_b)
    for (int64_t k = 0; k < K; ++k)
      for (int64_t j = 0; j < N; ++j) {
        S sum = 0;
        for (int64_t i = 0; i < M; ++i) sum += S(acc<Q>(a(i, k))) * S(scale[i]) * S(g(i, j));
        grad_b(k, j) = W(sum);
      }
  if (grad_scale)
    for (int64_t i = 0; i < M; ++i) {
      S sum = 0;
      for (int64_t k = 0; k < K; ++k)
        for (int64_t j = 0; j < N; ++j) sum += S(acc<Q>(a(i, k))) * S(b(k, j)) * S(g(i, j));
      grad_scale[i] = float(sum);
    }
}

// A batch of rows with one scale each, of blocks: the microscaling formats.
OPWRIGHT("unpacked(x: f4x2[N], scale: f8e8m0[]) -> (y: f32[N, 2]) batched")
void unpacked(Tensor<const float4_e2m1fn_x2, 1> x, Tensor<const float8_e8m0fnu, 0> scale, Tensor<float, 2> y) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    y(i, 0) = x[i].first() * float(scale());
    y(i, 1) = x[i].second() * float(scale());
  }
}
OPWRIGHT("packed(x: f32[N, 2]) -> (y: f4x2[N])")
void packed(Tensor<const float, 2> x, Tensor<float4_e2m1fn_x2, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = float4_e2m1fn_x2(x(i, 0), x(i, 1));
}

// Pointwise: computed in float, rounded once; with derivatives by what has them.
OPWRIGHT("relu8(x: T) -> (y: T) where T in (f8e4m3fn, f8e5m2, f8e8m0, f32)")
template <class T>
T relu8(T x) {
  return x < 0 ? T(0) : x;
}
OPWRIGHT("widened(x: Q, by: T) -> (y: T) where Q in (f8e4m3fn, f8e5m2fnuz), T in (f32, bf16, f64)")
template <class Q, class T>
T widened(Q x, T by) {
  return T(x) * by;
}
OPWRIGHT("narrowed(x: T, by: T) -> (y: f8e4m3fn, product: T) where T in (f32, bf16)")
template <class T>
void narrowed(T x, T by, float8_e4m3fn &y, T &product) {
  product = x * by;
  y = product;
}
OPWRIGHT("put(x: T[N], y: T[N]!) where T in (f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f8e8m0, f4x2)")
template <class T>
void put(Strided<const T, 1> x, Strided<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i];
}
