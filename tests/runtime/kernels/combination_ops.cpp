// Operators whose element types are chosen together.
#include <opwright.h>

// What is added up has a type that the inputs' type determines.
OPWRIGHT(
    "mixed_matmul(a: T[M, K], b: T[K, N]) -> (c: W[M, N])"
    " where (T, W) in ((f16, f32), (bf16, f32), (f32, f32), (f64, f64), (f8e4m3fn, bf16))")
template <class T, class W>
void mixed_matmul(Tensor<const T, 2> a, Tensor<const T, 2> b, Tensor<W, 2> c) {
  for (int64_t i = 0; i < c.size(0); ++i)
    for (int64_t j = 0; j < c.size(1); ++j) {
      acc<W> sum = 0;
      for (int64_t k = 0; k < a.size(1); ++k) sum += acc<W>(acc<T>(a(i, k))) * acc<W>(acc<T>(b(k, j)));
      c(i, j) = W(sum);
    }
}
OPWRIGHT("mixed_matmul_backward(grad_c: W[M, N], a: T[M, K], b: T[K, N]) -> (grad_a: T[M, K], grad_b: T[K, N])")
template <class W, class T>
void mixed_matmul_backward(Tensor<const W, 2> g, Tensor<const T, 2> a, Tensor<const T, 2> b, Tensor<T, 2> grad_a,
                           Tensor<T, 2> grad_b) {
  using S = acc<W>;
  const int64_t M = a.size(0), K = a.size(1), N = b.size(1);
  if (grad_a)
    for (int64_t i = 0; i < M; ++i)
      for (int64_t k = 0; k < K; ++k) {
        S sum = 0;
        for (int64_t j = 0; j < N; ++j) sum += S(g(i, j)) * S(acc<T>(b(k, j)));
        grad_a(i, k) = T(sum);
      }
  if (grad_b)
    for (int64_t k = 0; k < K; ++k)
      for (int64_t j = 0; j < N; ++j) {
        S sum = 0;
        for (int64_t i = 0; i < M; ++i) sum += S(acc<T>(a(i, k))) * S(g(i, j));
        grad_b(k, j) = T(sum);
      }
}

// Two inputs, of which either tells something; and a variable that isn't among the combinations.
OPWRIGHT(
    "gathered(x: T[N], w: W[N], at: I[M] in [0, N)) -> (y: R[M])"
    " where (T, W, R) in ((f32, f32, f32), (f16, f32, f32), (f32, f64, f64)), I in (i32, i64)")
template <class T, class W, class I, class R>
void gathered(Tensor<const T, 1> x, Tensor<const W, 1> w, Tensor<const I, 1> at, Tensor<R, 1> y) {
  for (int64_t i = 0; i < at.size(0); ++i) y[i] = R(acc<T>(x[at[i]])) * R(w[at[i]]);
}

// Pointwise: the first promotes its arguments, the other variable follows.
OPWRIGHT("widen_product(x: T, y: T) -> (z: W) where (T, W) in ((f32, f64), (f16, f32), (i32, f64))")
template <class T, class W>
void widen_product(T x, T y, W &z) {
  z = W(x) * W(y);
}
