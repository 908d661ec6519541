/* The pointwise half of an LLTM cell, one row of the batch at a time: what lltm_cell.cpp and lltm.cpp share.
 *
 *   i = sigmoid(gate 0)   o = sigmoid(gate 1)   c = elu(gate 2)   new_cell = old_cell + c i   t = tanh(new_cell)   new_h = t o
 *
 * A row of gates is three runs of S elements. A row of what is saved is four: i, o, c, t. The derivatives need nothing
 * else, and none of them takes another exp, so that their loops are vectorised. Halves are computed as float.
 */
#pragma once
#include <opwright.h>

namespace cell {

/* One exp, where libm's tanh is four times slower. Exact to one ulp of 1, which is what counts for a factor of new_h. */
template <class A>
inline A tanh_by_exp(A x) {
  return 2 / (1 + exp(-2 * x)) - 1;
}

/* `saved` is null where nobody will ask for it; it may lie where `gates` lies. */
template <class T>
void forward(int64_t S, const T *gates, const T *old_cell, T *new_h, T *new_cell, T *saved) {
  for (int64_t j = 0; j < S; ++j) {
    const acc<T> i = sigmoid(gates[j]), o = sigmoid(gates[S + j]), c = elu(gates[2 * S + j]);
    const acc<T> cell = old_cell[j] + c * i, t = tanh_by_exp(cell);
    new_cell[j] = cell, new_h[j] = t * o;
    if (saved) saved[j] = i, saved[S + j] = o, saved[2 * S + j] = c, saved[3 * S + j] = t;
  }
}

/* One element of what was saved, and the gradients that arrive there. */
template <class T>
struct Element {
  using A = acc<T>;
  A i, o, c, t;
  A slope_i, slope_o, slope_c, slope_t;      /* of sigmoid, sigmoid, elu, tanh, in terms of their values */
  A grad_i, grad_o, grad_c, grad_t, grad_cell; /* of the values i, o, c, t, and of new_cell */

  /* `grad_saved` is null but when a second derivative sends gradients to what was saved. */
  Element(int64_t S, int64_t j, const T *saved, const T *grad_h, const T *grad_new_cell, const T *grad_saved)
      : i(saved[j]), o(saved[S + j]), c(saved[2 * S + j]), t(saved[3 * S + j]) {
    slope_i = i * (1 - i), slope_o = o * (1 - o), slope_c = c > 0 ? A(1) : 1 + c, slope_t = 1 - t * t;
    grad_t = grad_h[j] * o + (grad_saved ? A(grad_saved[3 * S + j]) : 0);
    grad_cell = grad_new_cell[j] + grad_t * slope_t;
    grad_i = grad_cell * c + (grad_saved ? A(grad_saved[j]) : 0);
    grad_o = grad_h[j] * t + (grad_saved ? A(grad_saved[S + j]) : 0);
    grad_c = grad_cell * i + (grad_saved ? A(grad_saved[2 * S + j]) : 0);
  }
};

/* What `backward` reads of one row of the batch; null pointers stand for what was not given. */
template <class T>
struct Row {
  int64_t S;
  const T *saved, *grad_h, *grad_cell, *grad_saved;

  Row(int64_t b, Tensor<const T, 2> saved, Tensor<const T, 2> grad_h, Tensor<const T, 2> grad_cell, Tensor<const T, 2> grad_saved)
      : S(grad_h.size(1)), saved(saved[b].data()), grad_h(grad_h[b].data()), grad_cell(grad_cell[b].data()),
        grad_saved(grad_saved[b].data()) {}
  Element<T> operator[](int64_t j) const { return {S, j, saved, grad_h, grad_cell, grad_saved}; }
};

/* Rows of which a thread has enough to do, where `n` elements would be enough. */
inline int64_t rows(int64_t n, int64_t S) { return n / (S + 1) + 1; }

/* grad_gates: three runs; grad_old_cell: one run, or null. */
template <class T>
void backward(const Row<T> &row, T *grad_gates, T *grad_old_cell) {
  const int64_t S = row.S;
#pragma GCC ivdep
  for (int64_t j = 0; j < S; ++j) {
    const auto x = row[j];
    grad_gates[j] = x.grad_i * x.slope_i;
    grad_gates[S + j] = x.grad_o * x.slope_o;
    grad_gates[2 * S + j] = x.grad_c * x.slope_c;
    if (grad_old_cell) grad_old_cell[j] = x.grad_cell;
  }
}

/* The gradients of backward's inputs, from q (three runs), the gradient of its grad_gates, and u, that of grad_old_cell. */
template <class T>
void backward_backward(const Row<T> &row, const T *q, const T *u, T *grad_grad_h, T *grad_grad_cell, T *grad_grad_saved,
                       T *grad_saved) {
  using A = acc<T>;
  const int64_t S = row.S;
#pragma GCC ivdep
  for (int64_t j = 0; j < S; ++j) {
    const auto x = row[j];
    const A qi = q[j], qo = q[S + j], qc = q[2 * S + j];
    const A di = qi * x.slope_i, d_o = qo * x.slope_o, dc = qc * x.slope_c;
    const A cell = (u ? A(u[j]) : 0) + di * x.c + dc * x.i, dt = cell * x.slope_t;
    if (grad_grad_h) grad_grad_h[j] = dt * x.o + d_o * x.t;
    if (grad_grad_cell) grad_grad_cell[j] = cell;
    if (grad_grad_saved)
      grad_grad_saved[j] = di, grad_grad_saved[S + j] = d_o, grad_grad_saved[2 * S + j] = dc, grad_grad_saved[3 * S + j] = dt;
    if (!grad_saved) continue;
    grad_saved[j] = qi * x.grad_i * (1 - 2 * x.i) + dc * x.grad_cell;
    grad_saved[S + j] = qo * x.grad_o * (1 - 2 * x.o) + dt * row.grad_h[j];
    grad_saved[2 * S + j] = (x.c > 0 ? A(0) : qc * x.grad_c) + di * x.grad_cell;
    grad_saved[3 * S + j] = d_o * row.grad_h[j] - 2 * x.t * cell * x.grad_t;
  }
}

}  // namespace cell
