// Operators over groups of axes, and over an axis that the caller chooses.
#include <opwright.h>

OPWRIGHT("softmax(x: T[*A, D, *B], dim: axis(D) = -1) -> (y: T[*A, D, *B])")
template <class T>
void softmax(Strided<const T, 3> x, Tensor<T, 3> y, int64_t A, int64_t D, int64_t B) {
  for (int64_t a = 0; a < A; ++a)
    for (int64_t b = 0; b < B; ++b) {
      acc<T> most = D ? acc<T>(x(a, 0, b)) : acc<T>(0), sum = 0;
      for (int64_t d = 0; d < D; ++d) most = max(most, acc<T>(x(a, d, b)));
      for (int64_t d = 0; d < D; ++d) sum += exp(acc<T>(x(a, d, b)) - most);
      for (int64_t d = 0; d < D; ++d) y(a, d, b) = T(exp(acc<T>(x(a, d, b)) - most) / sum);
    }
}

OPWRIGHT("softmax_backward(grad_y: T[*A, D, *B], y: T[*A, D, *B], dim: axis(D)) -> (grad_x: T[*A, D, *B])")
template <class T>
void softmax_backward(Tensor<const T, 3> grad_y, Tensor<const T, 3> y, Tensor<T, 3> grad_x) {
  for (int64_t a = 0; a < y.size(0); ++a)
    for (int64_t b = 0; b < y.size(2); ++b) {
      acc<T> sum = 0;
      for (int64_t d = 0; d < y.size(1); ++d) sum += acc<T>(grad_y(a, d, b)) * y(a, d, b);
      for (int64_t d = 0; d < y.size(1); ++d) grad_x(a, d, b) = T((grad_y(a, d, b) - sum) * y(a, d, b));
    }
}

OPWRIGHT("softmax_backward_backward(grad_grad_x: T[*A, D, *B], grad_y: T[*A, D, *B], y: T[*A, D, *B], dim: axis(D))"
         " -> (grad_grad_y: T[*A, D, *B], grad_y: T[*A, D, *B])")
template <class T>
void softmax_backward_backward(Tensor<const T, 3> v, Tensor<const T, 3> g, Tensor<const T, 3> y, Tensor<T, 3> to_g,
                               Tensor<T, 3> to_y) {
  for (int64_t a = 0; a < y.size(0); ++a)
    for (int64_t b = 0; b < y.size(2); ++b) {
      acc<T> gy = 0, vy = 0;
      for (int64_t d = 0; d < y.size(1); ++d) gy += acc<T>(g(a, d, b)) * y(a, d, b);
      for (int64_t d = 0; d < y.size(1); ++d) vy += acc<T>(v(a, d, b)) * y(a, d, b);
      for (int64_t d = 0; d < y.size(1); ++d) {
        if (to_g) to_g(a, d, b) = T((v(a, d, b) - vy) * y(a, d, b));
        if (to_y) to_y(a, d, b) = T(v(a, d, b) * g(a, d, b) - v(a, d, b) * gy - vy * g(a, d, b));
      }
    }
}

OPWRIGHT("sum(x: T[*A, D, *B], dim: axis(D), keepdim: bool = False) -> (y: T[*A, 1 if keepdim, *B])")
template <class T>
void sum(Strided<const T, 3> x, Tensor<T, 2> y) {
  for (int64_t a = 0; a < x.size(0); ++a)
    for (int64_t b = 0; b < x.size(2); ++b) {
      acc<T> sum = 0;
      for (int64_t d = 0; d < x.size(1); ++d) sum += x(a, d, b);
      y(a, b) = T(sum);
    }
}

OPWRIGHT("sum_backward(grad_y: T[*A, 1 if keepdim, *B], dim: axis(D), keepdim: bool) -> (grad_x: T[*A, D, *B])")
template <class T>
void sum_backward(Strided<const T, 2> grad_y, int64_t D, Tensor<T, 3> grad_x) {
  for (int64_t a = 0; a < grad_x.size(0); ++a)
    for (int64_t d = 0; d < D; ++d)
      for (int64_t b = 0; b < grad_x.size(2); ++b) grad_x(a, d, b) = grad_y(a, b);
}

// Its backward takes a tensor that a bool leaves without the axis first, and others beside it.
OPWRIGHT("norm(x: T[*A, D, *B], dim: axis(D), keepdim: bool = False) -> (y: T[*A, 1 if keepdim, *B])")
template <class T>
void norm(Strided<const T, 3> x, Tensor<T, 2> y) {
  for (int64_t a = 0; a < x.size(0); ++a)
    for (int64_t b = 0; b < x.size(2); ++b) {
      acc<T> sum = 0;
      for (int64_t d = 0; d < x.size(1); ++d) sum += acc<T>(x(a, d, b)) * acc<T>(x(a, d, b));
      y(a, b) = T(sqrt(sum));
    }
}

OPWRIGHT(
    "norm_backward(grad_y: T[*A, 1 if keepdim, *B], y: T[*A, 1 if keepdim, *B], x: T[*A, D, *B], dim: axis(D), "
    "keepdim: bool) -> (grad_x: T[*A, D, *B])")
template <class T>
void norm_backward(Strided<const T, 2> grad_y, Strided<const T, 2> y, Strided<const T, 3> x, Tensor<T, 3> grad_x) {
  for (int64_t a = 0; a < grad_x.size(0); ++a)
    for (int64_t d = 0; d < grad_x.size(1); ++d)
      for (int64_t b = 0; b < grad_x.size(2); ++b) grad_x(a, d, b) = grad_y(a, b) * x(a, d, b) / y(a, b);
}

OPWRIGHT("select(x: T[*A, D, *B], at: i64[*A, E, *B] in [0, D), scale: T[E]?, dim: axis(D) = 0) -> (y: T[*A, E, *B])")
template <class T>
void select(Tensor<const T, 3> x, Strided<const int64_t, 3> at, Tensor<const T, 1> scale, Tensor<T, 3> y) {
  for (int64_t a = 0; a < y.size(0); ++a)
    for (int64_t e = 0; e < y.size(1); ++e)
      for (int64_t b = 0; b < y.size(2); ++b) y(a, e, b) = T(x(a, at(a, e, b), b) * (scale ? scale[e] : T(1)));
}

OPWRIGHT("outer(x: T[*A], y: T[*B]) -> (z: T[*A, *B])")
template <class T>
void outer(Strided<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 2> z) {
  for (int64_t a = 0; a < x.size(0); ++a)
    for (int64_t b = 0; b < y.size(0); ++b) z(a, b) = T(x[a] * y[b]);
}

OPWRIGHT("reverse_(x: T[*A, D, *B]!, dim: axis(D) = -1)")
template <class T>
void reverse_(Strided<T, 3> x) {
  for (int64_t a = 0; a < x.size(0); ++a)
    for (int64_t b = 0; b < x.size(2); ++b)
      for (int64_t d = 0; 2 * d + 1 < x.size(1); ++d) {
        const T kept = x(a, d, b);
        x(a, d, b) = x(a, x.size(1) - 1 - d, b);
        x(a, x.size(1) - 1 - d, b) = kept;
      }
}

OPWRIGHT("numbers(x: f32[*A, D, *B], dim: axis(D), keepdim: bool = False) -> (y: i64[6], z: f32[*A, 1 if keepdim, *B])")
void numbers(Strided<const float, 3> x, int64_t B, int dim, bool keepdim, Tensor<int64_t, 1> y, Tensor<float, 2> z,
             int64_t A) {
  const int64_t found[] = {A, B, dim, keepdim, x.stride(0), x.stride(2)};
  for (int i = 0; i < 6; ++i) y[i] = found[i];
  for (int64_t i = 0; i < z.numel(); ++i) z.flat(i) = 0;
}
