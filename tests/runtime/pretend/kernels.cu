#include <opwright.h>

typedef void *cudaStream_t;  // there are no headers of CUDA where this is compiled

OPWRIGHT("twice(x: T[N]) -> (y: T[N])")
template <class T>
void twice(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = 2 * x[i];
}

OPWRIGHT("twice_backward(grad_y: T[N]) -> (grad_x: T[N])")
template <class T>
void twice_backward(Tensor<const T, 1> g, Tensor<T, 1> out) {
  for (int64_t i = 0; i < g.numel(); ++i) out[i] = 2 * g[i];
}

OPWRIGHT("current(x: f32[N]) -> (stream: i64[1])")
void current(Tensor<const float, 1>, Tensor<int64_t, 1> stream, cudaStream_t handle) { stream[0] = int64_t(handle); }

OPWRIGHT("sums(x: f32[N], idx: i64[K] in [0, N)) -> (y: f32[?L])")
void sums(Tensor<const float, 1> x, Tensor<const int64_t, 1> idx, Resizable<float, 1> y) {
  Workspace<float> held(x.numel());
  for (int64_t i = 0; i < x.numel(); ++i) held[i] = x[i] + (i ? held[i - 1] : 0);
  auto out = y.resize(1);
  out[0] = held[x.numel() - 1] + float(idx.numel());
}

OPWRIGHT("product(a: T[M, K], b: T[K, N]) -> (c: T[M, N])")
template <class T>
void product(Tensor<const T, 2> a, Tensor<const T, 2> b, Tensor<T, 2> c) {
  gemm(false, false, a.size(0), b.size(1), a.size(1), 1, a.data(), a.size(1), b.data(), b.size(1), 0, c.data(), b.size(1));
}

OPWRIGHT("noise(x: f32[N], rng: generator(1)) -> (y: i64[N])")
void noise(Tensor<const float, 1> x, Tensor<int64_t, 1> y, Generator rng) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = rng[i].bits();
}

OPWRIGHT("counted(x: f32[N]!) -> (old: f32[N])")
void counted(Tensor<float, 1> x, Tensor<float, 1> old) {
  for (int64_t i = 0; i < x.numel(); ++i) old[i] = x[i]++;
}

OPWRIGHT("made(n: int) -> (y: f32[n])")
void made(int64_t n, Tensor<float, 1> y) {
  for (int64_t i = 0; i < n; ++i) y[i] = float(i);
}

OPWRIGHT("failing(x: f32[N]) -> (y: f32[N])")
void failing(Tensor<const float, 1>, Tensor<float, 1>) { OPWRIGHT_CHECK(false, "the launch failed"); }
