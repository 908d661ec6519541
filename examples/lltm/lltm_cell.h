/* The pointwise half of an LLTM cell, one row of the batch at a time: what lltm_cell.cpp and lltm.cpp share.
 *
 *   i = sigmoid(gate 0)         o = sigmoid(gate 1)   c = elu(gate 2)
 *   new_cell = old_cell + c i   t = tanh(new_cell)    new_h = t o
 *
 * A row of gates is three runs of S elements. A row of what is saved is four: i, o, c, t. The derivatives need nothing
 * else, and none of them takes another exp, so that their loops are vectorised. Halves are computed as float.
 *
 * What is about one element is marked OPWRIGHT_HOST_DEVICE: the CUDA kernels of lltm_cell.cu have it from here, too.
 */
#pragma once
#include <opwright.h>

namespace cell {

/* Rows of which a thread has enough to do, where `n` elements would be enough. */
inline int64_t rows(int64_t n, int64_t S) { return n / (S + 1) + 1; }

/* `saved` may lie where `gates` lies. */
template <class T>
void forward(int64_t S, const T *gates, const T *old_cell, T *new_h, T *new_cell, T *saved) {
#pragma GCC ivdep
  for (int64_t j = 0; j < S; ++j) {
    const acc<T> i = sigmoid(gates[j]), o = sigmoid(gates[S + j]), c = elu(gates[2 * S + j]);
    const acc<T> cell = old_cell[j] + c * i, t = tanh(cell);
    saved[j] = i, saved[S + j] = o, saved[2 * S + j] = c, saved[3 * S + j] = t;
    new_cell[j] = cell, new_h[j] = t * o;
  }
}

/* One element of what was saved, and the gradients that arrive there. */
template <class A>
struct Element {
  A i, o, c, t;
  A slope_i, slope_o, slope_c, slope_t; /* of sigmoid, sigmoid, elu, tanh, in terms of their values */
  A grad_i, grad_o, grad_c, grad_t;     /* of those values */
  A grad_h, grad_cell;                  /* of new_h, and of new_cell with what comes through t */
};

/* What a derivative reads of one row of the batch. */
template <class T>
struct Row {
  using A = acc<T>;
  int64_t S;
  const T *saved, *grad_h, *grad_cell;
  const T *more; /* gradients of what was saved; null but in a second derivative */

  OPWRIGHT_HOST_DEVICE Row(int64_t b, int64_t S, const T *saved, const T *grad_h, const T *grad_cell, const T *more)
      : S(S), saved(saved + b * 4 * S), grad_h(grad_h + b * S), grad_cell(grad_cell + b * S),
        more(more ? more + b * 4 * S : nullptr) {}
  using View = Tensor<const T, 2>;
  Row(int64_t b, View saved, View grad_h, View grad_cell, View more)
      : Row(b, grad_h.size(1), saved.data(), grad_h.data(), grad_cell.data(), more.data()) {}

  OPWRIGHT_HOST_DEVICE Element<A> at(int64_t j) const {
    return more ? at(j, more[j], more[S + j], more[2 * S + j], more[3 * S + j]) : at(j, 0, 0, 0, 0);
  }
  OPWRIGHT_HOST_DEVICE Element<A> at(int64_t j, A more_i, A more_o, A more_c, A more_t) const {
    Element<A> x{saved[j], saved[S + j], saved[2 * S + j], saved[3 * S + j]};
    x.slope_i = x.i * (1 - x.i), x.slope_o = x.o * (1 - x.o);
    x.slope_c = x.c > 0 ? A(1) : 1 + x.c, x.slope_t = 1 - x.t * x.t;
    x.grad_h = grad_h[j], x.grad_t = x.grad_h * x.o + more_t;
    x.grad_cell = grad_cell[j] + x.grad_t * x.slope_t;
    x.grad_i = x.grad_cell * x.c + more_i, x.grad_o = x.grad_h * x.t + more_o, x.grad_c = x.grad_cell * x.i + more_c;
    return x;
  }

  /* body(j, element) for each element. Two loops: a test of `more` within one becomes a masked load from null, which the
   * processor forgives, but which made this loop some twenty times slower (measured). */
  template <class F>
  void each(const F &body) const {
    if (more) {
#pragma GCC ivdep
      for (int64_t j = 0; j < S; ++j) body(j, at(j, more[j], more[S + j], more[2 * S + j], more[3 * S + j]));
    } else {
#pragma GCC ivdep
      for (int64_t j = 0; j < S; ++j) body(j, at(j, 0, 0, 0, 0));
    }
  }
};

/* grad_gates: three runs, or null. grad_old_cell: one, or null. */
template <class T>
void backward(const Row<T> row, T *grad_gates, T *grad_old_cell) {
  const int64_t S = row.S;
  if (grad_gates) row.each([=](int64_t j, const auto &x) {
    grad_gates[j] = x.grad_i * x.slope_i;
    grad_gates[S + j] = x.grad_o * x.slope_o;
    grad_gates[2 * S + j] = x.grad_c * x.slope_c;
  });
  if (grad_old_cell) row.each([=](int64_t j, const auto &x) { grad_old_cell[j] = x.grad_cell; });
}

/* The gradients of backward's arguments, each null where it isn't wanted. */
template <class T>
struct Second {
  T *grad_h, *grad_cell, *more, *saved;
};

/* Of one element, what goes back through backward: the gradients of grad_i, grad_o, grad_c, grad_cell, grad_t, where
 * q_i, q_o, q_c are those of its grad_gates, and u is that of its grad_old_cell. */
template <class A>
struct Back {
  A q_i, q_o, q_c;
  A i, o, c, cell, t;

  OPWRIGHT_HOST_DEVICE Back(const Element<A> &x, A q_i, A q_o, A q_c, A u)
      : q_i(q_i), q_o(q_o), q_c(q_c), i(q_i * x.slope_i), o(q_o * x.slope_o), c(q_c * x.slope_c),
        cell(u + i * x.c + c * x.i), t(cell * x.slope_t) {}

  OPWRIGHT_HOST_DEVICE A grad_h(const Element<A> &x) const { return t * x.o + o * x.t; }
  template <class T>
  OPWRIGHT_HOST_DEVICE void more(int64_t j, int64_t S, T *out) const {
    out[j] = i, out[S + j] = o, out[2 * S + j] = c, out[3 * S + j] = t;
  }
  template <class T>
  OPWRIGHT_HOST_DEVICE void saved(int64_t j, int64_t S, const Element<A> &x, T *out) const {
    out[j] = q_i * x.grad_i * (1 - 2 * x.i) + c * x.grad_cell;
    out[S + j] = q_o * x.grad_o * (1 - 2 * x.o) + t * x.grad_h;
    out[2 * S + j] = (x.c > 0 ? A(0) : q_c * x.grad_c) + i * x.grad_cell;
    out[3 * S + j] = o * x.grad_h - 2 * x.t * cell * x.grad_t;
  }
};

/* q (three runs) is the gradient of backward's grad_gates, u (one run) that of its grad_old_cell. */
template <class T>
void backward_backward(const Row<T> row, const T *q, const T *u, const Second<T> out) {
  using A = acc<T>;
  const int64_t S = row.S;
  const auto at = [=](int64_t j, const Element<A> &x) { return Back<A>(x, q[j], q[S + j], q[2 * S + j], u[j]); };
  if (out.grad_h) row.each([=](int64_t j, const auto &x) { out.grad_h[j] = at(j, x).grad_h(x); });
  if (out.grad_cell) row.each([=](int64_t j, const auto &x) { out.grad_cell[j] = at(j, x).cell; });
  if (out.more) row.each([=](int64_t j, const auto &x) { at(j, x).more(j, S, out.more); });
  if (out.saved) row.each([=](int64_t j, const auto &x) { at(j, x).saved(j, S, x, out.saved); });
}

}  // namespace cell
