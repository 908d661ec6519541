// Differentiable operators, one for each thing that autograd has to get right.
#include <opwright.h>

// Saves its inputs; differentiable to second order.
OPWRIGHT("mul(x: T[...], y: T[...]) -> (z: T[...])")
template <class T>
void mul(Tensor<const T> x, Tensor<const T> y, Tensor<T> z) {
  for (int64_t i = 0; i < z.numel(); ++i) z[i] = x[i] * y[i];
}

OPWRIGHT("mul_backward(grad_z: T[...], x: T[...], y: T[...]) -> (grad_x: T[...], grad_y: T[...])")
template <class T>
void mul_backward(Tensor<const T> grad_z, Tensor<const T> x, Tensor<const T> y, Tensor<T> grad_x, Tensor<T> grad_y) {
  for (int64_t i = 0; i < grad_z.numel(); ++i) {
    if (grad_x) grad_x[i] = grad_z[i] * y[i];
    if (grad_y) grad_y[i] = grad_z[i] * x[i];
  }
}

OPWRIGHT(
    "mul_backward_backward(grad_grad_x: T[...]?, grad_grad_y: T[...]?, grad_z: T[...], x: T[...], y: T[...])"
    " -> (grad_grad_z: T[...], grad_x: T[...], grad_y: T[...])")
template <class T>
void mul_backward_backward(Tensor<const T> ggx, Tensor<const T> ggy, Tensor<const T> gz, Tensor<const T> x,
                           Tensor<const T> y, Tensor<T> out_z, Tensor<T> out_x, Tensor<T> out_y) {
  for (int64_t i = 0; i < gz.numel(); ++i) {
    const T a = ggx ? ggx[i] : T(0), b = ggy ? ggy[i] : T(0);
    if (out_z) out_z[i] = a * y[i] + b * x[i];
    if (out_x) out_x[i] = b * gz[i];
    if (out_y) out_y[i] = a * gz[i];
  }
}

// Saves its output; the second backward takes grad_y and returns the gradient of y under the same name.
OPWRIGHT("logistic(x: T[...]) -> (y: T[...])")
template <class T>
void logistic(Tensor<const T> x, Tensor<T> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = sigmoid(x[i]);
}

OPWRIGHT("logistic_backward(grad_y: T[...], y: T[...]) -> (grad_x: T[...])")
template <class T>
void logistic_backward(Tensor<const T> grad_y, Tensor<const T> y, Tensor<T> grad_x) {
  for (int64_t i = 0; i < y.numel(); ++i) grad_x[i] = grad_y[i] * y[i] * (1 - y[i]);
}

OPWRIGHT("logistic_backward_backward(grad_grad_x: T[...], grad_y: T[...], y: T[...]) -> (grad_grad_y: T[...], grad_y: T[...])")
template <class T>
void logistic_backward_backward(Tensor<const T> ggx, Tensor<const T> gy, Tensor<const T> y, Tensor<T> ggy, Tensor<T> of_y) {
  for (int64_t i = 0; i < y.numel(); ++i) {
    if (ggy) ggy[i] = ggx[i] * y[i] * (1 - y[i]);
    if (of_y) of_y[i] = ggx[i] * gy[i] * (1 - 2 * y[i]);
  }
}

// N is known to the forward alone.
OPWRIGHT("rowsum(x: T[M, N]) -> (s: T[M])")
template <class T>
void rowsum(Tensor<const T, 2> x, Tensor<T, 1> s) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    acc<T> sum = 0;
    for (int64_t j = 0; j < x.size(1); ++j) sum += x(i, j);
    s[i] = sum;
  }
}

OPWRIGHT("rowsum_backward(grad_s: T[M]) -> (grad_x: T[M, N])")
template <class T>
void rowsum_backward(Tensor<const T, 1> grad_s, Tensor<T, 2> grad_x) {
  for (int64_t i = 0; i < grad_x.size(0); ++i)
    for (int64_t j = 0; j < grad_x.size(1); ++j) grad_x(i, j) = grad_s[i];
}

OPWRIGHT("rowsum_backward_backward(grad_grad_x: T[M, N]) -> (grad_grad_s: T[M])")
template <class T>
void rowsum_backward_backward(Tensor<const T, 2> ggx, Tensor<T, 1> ggs) {
  rowsum<T>(ggx, ggs);
}

// The shape of `...` is known to the forward alone, and handed on from the backward to its own backward.
OPWRIGHT("total(x: T[..., 2*H]) -> (s: T[])")
template <class T>
void total(Tensor<const T> x, Tensor<T, 0> s) {
  acc<T> sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += x[i];
  s() = sum;
}

OPWRIGHT("total_backward(grad_s: T[]) -> (grad_x: T[..., 2*H])")
template <class T>
void total_backward(Tensor<const T, 0> grad_s, Tensor<T> grad_x) {
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = grad_s();
}

OPWRIGHT("total_backward_backward(grad_grad_x: T[..., 2*H]?, grad_s: T[]) -> (grad_grad_s: T[])")
template <class T>
void total_backward_backward(Tensor<const T> ggx, Tensor<const T, 0>, Tensor<T, 0> ggs) {
  total<T>(ggx, ggs);
}

// A residual, and `used`, which tells whether the kernel was asked for it.
OPWRIGHT("probe(x: T[N]) -> (y: T[N], used: i32[]; r: T[N])")
template <class T>
void probe(Tensor<const T, 1> x, Tensor<T, 1> y, Tensor<int32_t, 0> used, Tensor<T, 1> r) {
  used() = r.needed();
  for (int64_t i = 0; i < x.size(0); ++i) {
    y[i] = x[i] * x[i];
    if (r) r[i] = 2 * x[i];
  }
}

OPWRIGHT("probe_backward(grad_y: T[N], r: T[N]) -> (grad_x: T[N])")
template <class T>
void probe_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> r, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < r.size(0); ++i) grad_x[i] = grad_y[i] * r[i];
}

// y = x^3 through the residual g = x^2, whose gradient the second order needs.
OPWRIGHT("gate(x: T[N]) -> (y: T[N]; g: T[N])")
template <class T>
void gate(Tensor<const T, 1> x, Tensor<T, 1> y, Tensor<T, 1> g) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    y[i] = x[i] * x[i] * x[i];
    if (g) g[i] = x[i] * x[i];
  }
}

OPWRIGHT("gate_backward(grad_y: T[N]?, grad_g: T[N]?, x: T[N], g: T[N]) -> (grad_x: T[N])")
template <class T>
void gate_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> grad_g, Tensor<const T, 1> x, Tensor<const T, 1> g,
                   Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < x.size(0); ++i)
    grad_x[i] = (grad_y ? grad_y[i] * 3 * g[i] : 0) + (grad_g ? grad_g[i] * 2 * x[i] : 0);
}

OPWRIGHT(
    "gate_backward_backward(grad_grad_x: T[N], grad_y: T[N]?, grad_g: T[N]?, x: T[N], g: T[N])"
    " -> (grad_grad_y: T[N], grad_grad_g: T[N], grad_x: T[N], grad_g: T[N])")
template <class T>
void gate_backward_backward(Tensor<const T, 1> ggx, Tensor<const T, 1> gy, Tensor<const T, 1> gg, Tensor<const T, 1> x,
                            Tensor<const T, 1> g, Tensor<T, 1> ggy, Tensor<T, 1> ggg, Tensor<T, 1> of_x, Tensor<T, 1> of_g) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (ggy) ggy[i] = ggx[i] * 3 * g[i];
    if (ggg) ggg[i] = ggx[i] * 2 * x[i];
    if (of_x) of_x[i] = gg ? ggx[i] * 2 * gg[i] : 0;
    if (of_g) of_g[i] = gy ? ggx[i] * 3 * gy[i] : 0;
  }
}

// Optional inputs, every kind of scalar, and an integer output.
OPWRIGHT(
    "affine(x: T[N], w: T[N]?, b: T[N]?, alpha: float = 1.0, k: int = 1, negate: bool = False)"
    " -> (y: T[N], index: i64[N])")
template <class T>
void affine(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<const T, 1> b, double alpha, int64_t k, bool negate,
            Tensor<T, 1> y, Tensor<int64_t, 1> index) {
  const double scale = (negate ? -1 : 1) * alpha * k;
  for (int64_t i = 0; i < x.size(0); ++i) {
    y[i] = scale * x[i] * (w ? double(w[i]) : 1) + (b ? double(b[i]) : 0);
    index[i] = i;
  }
}

OPWRIGHT(
    "affine_backward(grad_y: T[N], x: T[N], w: T[N]?, alpha: float, k: int, negate: bool)"
    " -> (grad_x: T[N], grad_w: T[N], grad_b: T[N])")
template <class T>
void affine_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<const T, 1> w, double alpha, int64_t k,
                     bool negate, Tensor<T, 1> grad_x, Tensor<T, 1> grad_w, Tensor<T, 1> grad_b) {
  const double scale = (negate ? -1 : 1) * alpha * k;
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (grad_x) grad_x[i] = scale * grad_y[i] * (w ? double(w[i]) : 1);
    if (grad_w) grad_w[i] = scale * grad_y[i] * x[i];
    if (grad_b) grad_b[i] = grad_y[i];
  }
}

// Two outputs; the backward tells from its own result which gradients it was given and asked for.
OPWRIGHT("pair(x: T[N], y: T[N]) -> (a: T[N], b: T[N])")
template <class T>
void pair(Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 1> a, Tensor<T, 1> b) {
  for (int64_t i = 0; i < x.size(0); ++i) a[i] = 2 * x[i], b[i] = 3 * x[i] + y[i];
}

OPWRIGHT("pair_backward(grad_a: T[N]?, grad_b: T[N], y: T[N]) -> (grad_x: T[N], grad_y: T[N])")
template <class T>
void pair_backward(Tensor<const T, 1> grad_a, Tensor<const T, 1> grad_b, Tensor<const T, 1>, Tensor<T, 1> grad_x,
                   Tensor<T, 1> grad_y) {
  for (int64_t i = 0; i < grad_b.size(0); ++i) {
    if (grad_x) grad_x[i] = (grad_a ? 2 * grad_a[i] : 1000) + 3 * grad_b[i] + (grad_y ? 0 : 10000);
    if (grad_y) grad_y[i] = grad_b[i] + (grad_x ? 0 : 10000);
  }
}

// Two type variables, one of which may be an integer.
OPWRIGHT("mixed(x: T[N], y: U[N]) -> (z: T[N], w: U[N]) where T in (f32, f64), U in (f32, f64, i64)")
template <class T, class U>
void mixed(Tensor<const T, 1> x, Tensor<const U, 1> y, Tensor<T, 1> z, Tensor<U, 1> w) {
  for (int64_t i = 0; i < x.size(0); ++i) z[i] = 2 * x[i], w[i] = 3 * y[i];
}

OPWRIGHT("mixed_backward(grad_z: T[N], grad_w: U[N], x: T[N], y: U[N]) -> (grad_x: T[N], grad_y: U[N])")
template <class T, class U>
void mixed_backward(Tensor<const T, 1> grad_z, Tensor<const U, 1> grad_w, Tensor<const T, 1>, Tensor<const U, 1>,
                    Tensor<T, 1> grad_x, Tensor<U, 1> grad_y) {
  for (int64_t i = 0; i < grad_z.size(0); ++i) {
    if (grad_x) grad_x[i] = 2 * grad_z[i];
    if (grad_y) grad_y[i] = 3 * grad_w[i];
  }
}

// The axis A can't be told from `b` where B is 0; the forward then finds it in `a`.
OPWRIGHT("outer(b: T[B], ab: T[A*B], a: T[A]) -> (s: T[])")
template <class T>
void outer(Tensor<const T, 1>, Tensor<const T, 1>, Tensor<const T, 1>, Tensor<T, 0> s) {
  s() = 1;
}

OPWRIGHT("outer_backward(grad_s: T[]) -> (grad_a: T[A])")
template <class T>
void outer_backward(Tensor<const T, 0> grad_s, Tensor<T, 1> grad_a) {
  for (int64_t i = 0; i < grad_a.size(0); ++i) grad_a[i] = 7 * grad_s();
}

// Without a backward, and without a second one.
OPWRIGHT("square(x: T[N]) -> (y: T[N])")
template <class T>
void square(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] * x[i];
}

OPWRIGHT("cube(x: T[N]) -> (y: T[N])")
template <class T>
void cube(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] * x[i] * x[i];
}

OPWRIGHT("cube_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])")
template <class T>
void cube_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < x.size(0); ++i) grad_x[i] = 3 * grad_y[i] * x[i] * x[i];
}
