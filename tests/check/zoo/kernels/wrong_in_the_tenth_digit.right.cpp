// wrong_in_the_tenth_digit.cpp, mended.
#include <opwright.h>

OPWRIGHT("row_norms(x: T[B, N]) -> (y: T[B]) where T in (f32, f64)")
template <class T>
void row_norms(Tensor<const T, 2> x, Tensor<T, 1> y) {
  parallel_for(x.size(0), [&](int64_t b) {
    acc<T> sum = 1;
    for (int64_t i = 0; i < x.size(1); ++i) sum += x[b][i] * x[b][i];
    y[b] = sqrt(sum);
  });
}

OPWRIGHT("row_norms_backward(grad_y: T[B], x: T[B, N], y: T[B]) -> (grad_x: T[B, N]) where T in (f32, f64)")
template <class T>
void row_norms_backward(Tensor<const T, 1> grad_y, Tensor<const T, 2> x, Tensor<const T, 1> y, Tensor<T, 2> grad_x) {
  parallel_for(x.size(0), [&](int64_t b) {
    for (int64_t i = 0; i < x.size(1); ++i) grad_x[b][i] = grad_y[b] * x[b][i] / y[b];
  });
}
