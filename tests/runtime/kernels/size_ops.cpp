// Sizes with a name, and kernels with parameters for them and for other axes.
#include <opwright.h>

#include <algorithm>

OPWRIGHT("every(x: T[M, N], k: int in [1, 100], w: T[L]?) -> (y: T[M], sizes: i64[4])")
template <class T>
void every(int64_t M, Tensor<const T, 2> x, int64_t k, Tensor<const T, 1>, const int N, Tensor<T, 1> y,
           Tensor<int64_t, 1> sizes, long L) {
  for (int64_t i = 0; i < M; ++i) {
    y[i] = 0;
    for (int64_t j = 0; j < N; j += k) y[i] = y[i] + x(i, j);
  }
  sizes[0] = M, sizes[1] = N, sizes[2] = L, sizes[3] = k;
}

OPWRIGHT("weigh(x: T[M, 2*N], w: T[M]) -> (y: T[])")
template <class T>
void weigh(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 0> y, int64_t M, int64_t N) {
  y() = 0;
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < 2 * N; ++j) y() += w[i] * x(i, j) * x(i, j);
}

OPWRIGHT("weigh_backward(grad_y: T[], x: T[M, 2*N], w: T[M]) -> (grad_x: T[M, 2*N], grad_w: T[M])")
template <class T>
void weigh_backward(Tensor<const T, 0> grad_y, Tensor<const T, 2> x, Tensor<const T, 1> w, int64_t M, int64_t N,
                    Tensor<T, 2> grad_x, Tensor<T, 1> grad_w) {
  for (int64_t i = 0; i < M; ++i) {
    if (grad_w) grad_w[i] = 0;
    for (int64_t j = 0; j < 2 * N; ++j) {
      if (grad_x) grad_x(i, j) = 2 * grad_y() * w[i] * x(i, j);
      if (grad_w) grad_w[i] += grad_y() * x(i, j) * x(i, j);
    }
  }
}

OPWRIGHT("total(x: T[M, N]) -> (y: T[])")
template <class T>
void total(Tensor<const T, 2> x, Tensor<T, 0> y) {
  y() = 0;
  for (int64_t i = 0; i < x.numel(); ++i) y() += x.flat(i);
}

OPWRIGHT("total_backward(grad_y: T[]) -> (grad_x: T[M, N])")  // M and N are the forward's
template <class T>
void total_backward(Tensor<const T, 0> grad_y, int64_t M, int64_t N, Tensor<T, 2> grad_x) {
  for (int64_t i = 0; i < M * N; ++i) grad_x.flat(i) = grad_y();
}

OPWRIGHT("mean(x: T[N]) -> (y: T[]) batched")
template <class T>
void mean(Tensor<const T, 1> x, Tensor<T, 0> y, int64_t N) {
  acc<T> sum = 0;
  for (int64_t i = 0; i < N; ++i) sum += x[i];
  y() = T(sum / N);
}

OPWRIGHT("narrow(x: T[N]) -> (n: i64[])")
template <class T>
void narrow(Strided<const T, 1>, Tensor<int64_t, 0> n, int N) {
  n() = N;
}

// A convolution without a bias. The sizes of its result have names, which the backward uses, too.
OPWRIGHT("conv(x: T[B, C, H, W], w: T[O, C, K, L], stride: int = 1, pad: int = 0, dilation: int = 1)"
         " -> (y: T[B, O, OH, OW]) where T in (f32, f64), OH = (H + 2*pad - dilation*(K - 1) - 1)//stride + 1,"
         " OW = (W + 2*pad - dilation*(L - 1) - 1)//stride + 1")
template <class T>
void conv(Tensor<const T, 4> x, Tensor<const T, 4> w, int64_t stride, int64_t pad, int64_t dilation, Tensor<T, 4> y,
          int64_t B, int64_t C, int64_t H, int64_t W, int64_t O, int64_t K, int64_t L, int64_t OH, int64_t OW) {
  parallel_for(B * O, [&](int64_t plane) {
    const int64_t b = plane / O, o = plane % O;
    for (int64_t i = 0; i < OH; ++i)
      for (int64_t j = 0; j < OW; ++j) {
        T sum = 0;
        for (int64_t c = 0; c < C; ++c)
          for (int64_t k = 0; k < K; ++k)
            for (int64_t l = 0; l < L; ++l) {
              const int64_t r = i * stride - pad + k * dilation, s = j * stride - pad + l * dilation;
              if (0 <= r && r < H && 0 <= s && s < W) sum += x(b, c, r, s) * w(o, c, k, l);
            }
        y(b, o, i, j) = sum;
      }
  });
}

OPWRIGHT("conv_backward(grad_y: T[B, O, OH, OW], x: T[B, C, H, W], w: T[O, C, K, L], stride: int, pad: int,"
         " dilation: int) -> (grad_x: T[B, C, H, W], grad_w: T[O, C, K, L])")
template <class T>
void conv_backward(Tensor<const T, 4> grad_y, Tensor<const T, 4> x, Tensor<const T, 4> w, int64_t stride, int64_t pad,
                   int64_t dilation, Tensor<T, 4> grad_x, Tensor<T, 4> grad_w, int64_t B, int64_t C, int64_t H,
                   int64_t W, int64_t O, int64_t K, int64_t L, int64_t OH, int64_t OW) {
  if (grad_x) std::fill_n(grad_x.data(), grad_x.numel(), T(0));
  if (grad_w) std::fill_n(grad_w.data(), grad_w.numel(), T(0));
  for (int64_t b = 0; b < B; ++b)
    for (int64_t o = 0; o < O; ++o)
      for (int64_t i = 0; i < OH; ++i)
        for (int64_t j = 0; j < OW; ++j)
          for (int64_t c = 0; c < C; ++c)
            for (int64_t k = 0; k < K; ++k)
              for (int64_t l = 0; l < L; ++l) {
                const int64_t r = i * stride - pad + k * dilation, s = j * stride - pad + l * dilation;
                if (r < 0 || r >= H || s < 0 || s >= W) continue;
                if (grad_x) grad_x(b, c, r, s) += grad_y(b, o, i, j) * w(o, c, k, l);
                if (grad_w) grad_w(o, c, k, l) += grad_y(b, o, i, j) * x(b, c, r, s);
              }
}

// Nothing that the backward is given has M: it is the forward's. A residual and a domain have it, too.
OPWRIGHT("windows(x: T[N], k: int, first: int in [0, M] = 0) -> (y: T[]; sums: T[M]) where M = N - k + 1")
template <class T>
void windows(Tensor<const T, 1> x, int64_t k, int64_t first, Tensor<T, 0> y, Tensor<T, 1> sums, int64_t M) {
  y() = 0;
  for (int64_t i = 0; i < M; ++i) {
    acc<T> sum = 0;
    for (int64_t j = i; j < i + k; ++j) sum += x[j];
    if (sums) sums[i] = T(sum);
    if (i >= first) y() += T(sum * sum);
  }
}

OPWRIGHT("windows_backward(grad_y: T[], sums: T[M], k: int, first: int) -> (grad_x: T[N])")
template <class T>
void windows_backward(Tensor<const T, 0> grad_y, Tensor<const T, 1> sums, int64_t k, int64_t first, Tensor<T, 1> grad_x,
                      int64_t N, int64_t M) {
  OPWRIGHT_CHECK(first >= 0 && k >= 0 && k <= N + 1 && M == N - k + 1, "these aren't of one call of windows");
  for (int64_t j = 0; j < N; ++j) grad_x[j] = 0;
  for (int64_t i = first; i < M; ++i)
    for (int64_t j = i; j < i + k; ++j) grad_x[j] += 2 * grad_y() * sums[i];
}

// The backward has a size of its own, and says one of the forward's again.
OPWRIGHT("thinned(x: T[N], by: int) -> (y: T[]) where M = (N - 1)//by + 1")
template <class T>
void thinned(Tensor<const T, 1> x, int64_t by, Tensor<T, 0> y, int64_t M) {
  y() = 0;
  for (int64_t i = 0; i < M; ++i) y() += x[i * by];
}

OPWRIGHT("thinned_backward(grad_y: T[], by: int) -> (grad_x: T[N]) where M = (N - 1)//by + 1, rest = N - M")
template <class T>
void thinned_backward(Tensor<const T, 0> grad_y, int64_t by, Tensor<T, 1> grad_x, int64_t M, int64_t rest) {
  OPWRIGHT_CHECK(M + rest == grad_x.size(0), M, " and ", rest);
  for (int64_t j = 0; j < M + rest; ++j) grad_x[j] = j % by ? T(0) : grad_y();
}

// A named size as an axis of an input is a check; with another axis in it, that is solved for.
OPWRIGHT("paired(x: T[N], y: T[M], z: T[M*S], at: i64[S] in [0, M)) -> (sizes: i64[4], w: T[?R<=M])"
         " where M = N//2, quarter = M//2")
template <class T>
void paired(Tensor<const T, 1>, Tensor<const T, 1> y, Tensor<const T, 1>, Tensor<const int64_t, 1> at,
            Tensor<int64_t, 1> sizes, Resizable<T, 1> w, int64_t N, int64_t M, int64_t S, int32_t quarter) {
  sizes[0] = N, sizes[1] = M, sizes[2] = S, sizes[3] = quarter;
  for (int64_t i = 0; i < min(M, S); ++i) w[i] = y[at[i]];
  w.resize(min(M, S));
}

OPWRIGHT("steps(n: int, by: int) -> (y: f32[M], whole: f32[n]) where M = n//by")
void steps(int64_t n, int64_t by, Tensor<float, 1> y, Tensor<float, 1> whole, int64_t M) {
  for (int64_t i = 0; i < M; ++i) y[i] = float(i * by);
  for (int64_t i = 0; i < n; ++i) whole[i] = float(i);
}

OPWRIGHT("pooled(x: T[N], k: int in [1, inf)) -> (y: T[M]) where M = N//k batched")
template <class T>
void pooled(Tensor<const T, 1> x, int64_t k, Tensor<T, 1> y, int64_t M) {
  for (int64_t i = 0; i < M; ++i) {
    y[i] = x[i * k];
    for (int64_t j = i * k; j < (i + 1) * k; ++j) y[i] = max(y[i], x[j]);
  }
}
