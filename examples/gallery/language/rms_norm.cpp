#include "../sums.h"

// y = weight * x / sqrt(mean(x * x) + eps), over the last axis.
OPWRIGHT("rms_norm(x: T[..., C], weight: T[C], eps: float in (0, inf) = 1e-6) -> (y: T[..., C]; rstd: acc(T)[...])")
template <class T>
void rms_norm(Tensor<const T> x, Tensor<const T, 1> weight, double eps, Tensor<T> y, Tensor<acc<T>> rstd, int64_t C) {
  parallel_for(C ? x.numel() / C : 0, grain_of(C), [&](int64_t row) {
    const T *const in = x.data() + row * C;
    T *const out = y.data() + row * C;
    const acc<T> squares = dot(C, in, 1, in, 1);
    const acc<T> r = 1 / sqrt(squares / C + acc<T>(eps));
    for (int64_t c = 0; c < C; ++c) out[c] = T(acc<T>(in[c]) * r * acc<T>(weight[c]));
    if (rstd) rstd[row] = r;
  });
}

OPWRIGHT(
    "rms_norm_backward(grad_y: T[..., C], x: T[..., C], weight: T[C], rstd: acc(T)[...]) -> (grad_x: T[..., C], "
    "grad_weight: T[C])")
template <class T>
void rms_norm_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<const T, 1> weight, Tensor<const acc<T>> rstd,
                       Tensor<T> grad_x, Tensor<T, 1> grad_weight, int64_t C) {
  const int64_t rows = C ? x.numel() / C : 0;
  if (grad_x)
    parallel_for(rows, grain_of(C), [&](int64_t row) {
      const T *const g = grad_y.data() + row * C, *const in = x.data() + row * C;
      T *const out = grad_x.data() + row * C;
      const acc<T> r = rstd[row];
      const acc<T> along =
          r * r / C * sum_of<acc<T>>(C, [&](int64_t c) { return acc<T>(g[c]) * acc<T>(weight[c]) * acc<T>(in[c]); });
      for (int64_t c = 0; c < C; ++c) out[c] = T(r * (acc<T>(g[c]) * acc<T>(weight[c]) - acc<T>(in[c]) * along));
    });
  if (!grad_weight) return;
  Workspace<acc<T>> sums(C);  // a column belongs to one thread: the sums are the same however many threads there are
  parallel_for(C, grain_of(rows), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) sums[c] = 0;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t c = begin; c < end; ++c) sums[c] += acc<T>(grad_y[row * C + c]) * acc<T>(x[row * C + c]) * rstd[row];
    for (int64_t c = begin; c < end; ++c) grad_weight[c] = T(sums[c]);
  });
}
