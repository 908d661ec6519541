// What call_overhead.py calls, each beside the operator of PyTorch's that is nearest.
#include <opwright.h>

OPWRIGHT("product(x: T[N], y: T[N]) -> (z: T[N])")
template <class T>
void product(Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 1> z) {
  for (int64_t i = 0; i < z.size(0); ++i) z[i] = x[i] * y[i];
}

OPWRIGHT("product_backward(grad_z: T[N], x: T[N], y: T[N]) -> (grad_x: T[N], grad_y: T[N])")
template <class T>
void product_backward(Tensor<const T, 1> grad_z, Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 1> grad_x,
                      Tensor<T, 1> grad_y) {
  for (int64_t i = 0; i < grad_z.size(0); ++i) {
    if (grad_x) grad_x[i] = grad_z[i] * y[i];
    if (grad_y) grad_y[i] = grad_z[i] * x[i];
  }
}

OPWRIGHT("scaled_sum(x: T[N], y: T[N], by: float) -> (z: T[N])")
template <class T>
void scaled_sum(Tensor<const T, 1> x, Tensor<const T, 1> y, double by, Tensor<T, 1> z) {
  for (int64_t i = 0; i < z.size(0); ++i) z[i] = x[i] + T(by) * y[i];
}

OPWRIGHT("pointwise_product(x: T, y: T) -> (z: T)")
template <class T>
T pointwise_product(T x, T y) {
  return x * y;
}

OPWRIGHT("add_to(x: T[N]!, y: T[N])")
template <class T>
void add_to(Tensor<T, 1> x, Tensor<const T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) x[i] += y[i];
}

OPWRIGHT("stacked(a: T[N], b: T[N], c: T[N], d: T[N], e: T[N], f: T[N], g: T[N], h: T[N]) -> (z: T[8, N])")
template <class T>
void stacked(Tensor<const T, 1> a, Tensor<const T, 1> b, Tensor<const T, 1> c, Tensor<const T, 1> d,
             Tensor<const T, 1> e, Tensor<const T, 1> f, Tensor<const T, 1> g, Tensor<const T, 1> h, Tensor<T, 2> z) {
  const Tensor<const T, 1> rows[] = {a, b, c, d, e, f, g, h};
  for (int r = 0; r < 8; ++r)
    for (int64_t i = 0; i < z.size(1); ++i) z(r, i) = rows[r][i];
}

OPWRIGHT("normalised(x: T[N], eps: float) -> (y: T[N], mean: T[1], rstd: T[1])")
template <class T>
void normalised(Tensor<const T, 1> x, double eps, Tensor<T, 1> y, Tensor<T, 1> mean, Tensor<T, 1> rstd) {
  const int64_t n = x.size(0);
  acc<T> sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  const acc<T> m = sum / n;
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - m) * (x[i] - m);
  const acc<T> r = 1 / sqrt(squares / n + acc<T>(eps));
  mean[0] = m, rstd[0] = r;
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r;
}
