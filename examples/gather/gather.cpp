#include <opwright.h>

// Adds row n of x to row idx[n] of y. A column belongs to one thread, which goes through the rows in their order: the sums
// are the same however many threads there are.
template <class T, class I>
void add(Tensor<T, 2> y, Tensor<const I, 1> idx, Tensor<const T, 2> x) {
  const int64_t rows = idx.size(0), grain = default_grain / (rows + 1) + 1;
  parallel_for(y.size(1), grain, [&](int64_t begin, int64_t end) {
    for (int64_t n = 0; n < rows; ++n)
      for (int64_t c = begin; c < end; ++c) y(idx[n], c) += x(n, c);
  });
}

// Copies row idx[n] of x to row n of y.
template <class T, class I>
void copy(Tensor<const T, 2> x, Tensor<const I, 1> idx, Tensor<T, 2> y) {
  const int64_t columns = y.size(1), grain = default_grain / (columns + 1) + 1;
  parallel_for(y.size(0), grain, [&](int64_t n) {
    for (int64_t c = 0; c < columns; ++c) y(n, c) = x(idx[n], c);
  });
}

OPWRIGHT("gather_rows(x: T[M, C], idx: I[N] in [0, M)) -> (y: T[N, C]) where I in (i64, i32) independent C, N")
template <class T, class I>
void gather_rows(Tensor<const T, 2> x, Tensor<const I, 1> idx, Tensor<T, 2> y) {
  copy(x, idx, y);
}

// M is none of the sizes of grad_y or idx: it is remembered from the forward, like all of its axes.
OPWRIGHT("gather_rows_backward(grad_y: T[N, C], idx: I[N] in [0, M)) -> (grad_x: T[M, C]) independent C, N")
template <class T, class I>
void gather_rows_backward(Tensor<const T, 2> grad_y, Tensor<const I, 1> idx, Tensor<T, 2> grad_x) {
  parallel_for(grad_x.numel(), [&](int64_t i) { grad_x.flat(i) = 0; });
  add(grad_x, idx, grad_y);
}

OPWRIGHT(
    "gather_rows_backward_backward(grad_grad_x: T[M, C], idx: I[N] in [0, M)) -> (grad_grad_y: T[N, C]) "
    "independent C, N")
template <class T, class I>
void gather_rows_backward_backward(Tensor<const T, 2> grad_grad_x, Tensor<const I, 1> idx, Tensor<T, 2> grad_grad_y) {
  copy(grad_grad_x, idx, grad_grad_y);
}

// The ! says that y is overwritten: it comes in with its old value and has its new one afterwards.
OPWRIGHT("add_rows(y: T[M, C]!, idx: I[N] in [0, M), x: T[N, C]) where I in (i64, i32) independent C")
template <class T, class I>
void add_rows(Tensor<T, 2> y, Tensor<const I, 1> idx, Tensor<const T, 2> x) {
  add(y, idx, x);
}

// The input grad_y is the gradient of y's new value, the output grad_y that of its old one: they are the same.
OPWRIGHT("add_rows_backward(grad_y: T[M, C], idx: I[N] in [0, M)) -> (grad_y: T[M, C], grad_x: T[N, C]) independent C")
template <class T, class I>
void add_rows_backward(Tensor<const T, 2> grad_y, Tensor<const I, 1> idx, Tensor<T, 2> grad_old_y, Tensor<T, 2> grad_x) {
  if (grad_old_y) parallel_for(grad_y.numel(), [&](int64_t i) { grad_old_y.flat(i) = grad_y.flat(i); });
  if (grad_x) copy(grad_y, idx, grad_x);
}

// Linear in both: what add_rows does to a copy of the first.
OPWRIGHT("add_rows_backward_backward(grad_grad_y: T[M, C], grad_grad_x: T[N, C], idx: I[N] in [0, M))"
         " -> (grad_grad_y: T[M, C]) independent C")
template <class T, class I>
void add_rows_backward_backward(Tensor<const T, 2> grad_grad_y, Tensor<const T, 2> grad_grad_x, Tensor<const I, 1> idx,
                                Tensor<T, 2> result) {
  parallel_for(result.numel(), [&](int64_t i) { result.flat(i) = grad_grad_y.flat(i); });
  add(result, idx, grad_grad_x);
}
