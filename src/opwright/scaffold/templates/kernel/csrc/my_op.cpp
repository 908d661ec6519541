// Root mean square normalisation over the last axis (Zhang and Sennrich, 2019): y = weight x / sqrt(mean(x^2) + eps).
#include <opwright.h>

// Elements that are worth a thread of their own.
constexpr int64_t grain = 8192;

// How many rows there are: all axes but the last.
template <class T>
int64_t rows_of(Tensor<const T> x) {
  int64_t rows = 1;
  for (int d = 0; d + 1 < x.ndim(); ++d) rows *= x.size(d);
  return rows;
}

// After the ";" stands what the backward needs: it is computed only when a gradient will be asked for. acc<T> is float for
// half and bfloat16, else T.
OPWRIGHT("my_op(x: T[..., C], weight: T[C], eps: float = 1e-6) -> (y: T[..., C]; scale: acc(T)[...])")
template <class T>
void my_op(Tensor<const T> x, Tensor<const T, 1> weight, double eps, Tensor<T> y, Tensor<acc<T>> scale) {
  OPWRIGHT_CHECK(eps >= 0, "eps is ", eps, ", expected 0 or more");
  const int64_t C = weight.size(0);
  parallel_for(rows_of(x), grain / (C + 1) + 1, [&](int64_t row) {
    const T *const from = x.data() + row * C;
    T *const to = y.data() + row * C;
    acc<T> squares = 0;
    for (int64_t c = 0; c < C; ++c) squares += acc<T>(from[c]) * acc<T>(from[c]);
    const acc<T> by = 1 / sqrt(squares / acc<T>(C > 0 ? C : 1) + acc<T>(eps));
    for (int64_t c = 0; c < C; ++c) to[c] = acc<T>(from[c]) * by * acc<T>(weight[c]);
    if (scale) scale[row] = by;
  });
}

// The gradient of x, a row at a time.
template <class T>
void grad_of_x(Tensor<const T> grad_y, Tensor<const T> x, Tensor<const T, 1> weight, Tensor<const acc<T>> scale,
               Tensor<T> grad_x) {
  const int64_t C = weight.size(0);
  parallel_for(scale.numel(), grain / (C + 1) + 1, [&](int64_t row) {
    const T *const g = grad_y.data() + row * C, *const from = x.data() + row * C;
    T *const to = grad_x.data() + row * C;
    const acc<T> by = scale[row];
    acc<T> along = 0;
    for (int64_t c = 0; c < C; ++c) along += acc<T>(g[c]) * acc<T>(weight[c]) * acc<T>(from[c]);
    along *= by * by / acc<T>(C > 0 ? C : 1);
    for (int64_t c = 0; c < C; ++c) to[c] = by * (acc<T>(g[c]) * acc<T>(weight[c]) - along * acc<T>(from[c]));
  });
}

// The gradient of weight: a sum over all rows. Threads share the columns, so that none waits for another.
template <class T>
void grad_of_weight(Tensor<const T> grad_y, Tensor<const T> x, Tensor<const acc<T>> scale, Tensor<T, 1> grad_weight) {
  const int64_t C = grad_weight.size(0), rows = scale.numel();
  parallel_for(C, grain / (rows + 1) + 1, [&](int64_t begin, int64_t end) {
    Workspace<acc<T>> sums(end - begin);
    for (int64_t c = begin; c < end; ++c) sums[c - begin] = 0;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t c = begin; c < end; ++c)
        sums[c - begin] += acc<T>(grad_y[row * C + c]) * acc<T>(x[row * C + c]) * scale[row];
    for (int64_t c = begin; c < end; ++c) grad_weight[c] = sums[c - begin];
  });
}

// By its name this is the gradient of my_op. A gradient that nobody wants is a view that tests false.
OPWRIGHT("my_op_backward(grad_y: T[..., C], x: T[..., C], weight: T[C], scale: acc(T)[...])"
         " -> (grad_x: T[..., C], grad_weight: T[C])")
template <class T>
void my_op_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<const T, 1> weight, Tensor<const acc<T>> scale,
                    Tensor<T> grad_x, Tensor<T, 1> grad_weight) {
  if (grad_x) grad_of_x(grad_y, x, weight, scale, grad_x);
  if (grad_weight) grad_of_weight(grad_y, x, scale, grad_weight);
}
