// An operator with overloads: two named ones with handwritten backwards, one with residuals, and pointwise ones.
#include <opwright.h>

/// Scales by a number.
OPWRIGHT("scale.number(x: T[N], by: float = 2.0) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void scale(Tensor<const T, 1> x, double by, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] * T(by);
}

OPWRIGHT("scale_backward.number(grad_y: T[N], by: float) -> (grad_x: T[N])")
template <class T>
void scale_backward(Tensor<const T, 1> grad_y, double by, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_y.size(0); ++i) grad_x[i] = grad_y[i] * T(by);
}

/// Scales by a tensor; the residual is their sum.
OPWRIGHT("scale.tensor(x: T[N], by: T[N]) -> (y: T[N]; total: T[N]) where T in (f32, f64) flops: 2*N")
template <class T>
void scale(Tensor<const T, 1> x, Tensor<const T, 1> by, Tensor<T, 1> y, Tensor<T, 1> total) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    y[i] = x[i] * by[i];
    if (total) total[i] = x[i] + by[i];
  }
}

OPWRIGHT("scale_backward.tensor(grad_y: T[N], x: T[N], total: T[N], grad_total: T[N]?) -> (grad_x: T[N], grad_by: T[N])"
         " flops: 3*N")
template <class T>
void scale_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<const T, 1> total,
                    Tensor<const T, 1> grad_total, Tensor<T, 1> grad_x, Tensor<T, 1> grad_by) {
  for (int64_t i = 0; i < grad_y.size(0); ++i) {
    const T more = grad_total ? grad_total[i] : T(0);
    if (grad_x) grad_x[i] = grad_y[i] * (total[i] - x[i]) + more;
    if (grad_by) grad_by[i] = grad_y[i] * x[i] + more;
  }
}

OPWRIGHT("mix.one(x: T) -> (y: T) where T in (f32, f64)")
template <class T>
T mix(T x) { return x * tanh(x); }

OPWRIGHT("mix(x: T, w: T) -> (y: T) where T in (f32, f64)")
template <class T>
T mix(T x, T w) { return x * exp(w); }

OPWRIGHT("fill.value(x: f32[N]!, by: float)")
void fill(Tensor<float, 1> x, double by) {
  for (int64_t i = 0; i < x.size(0); ++i) x[i] = float(by);
}
