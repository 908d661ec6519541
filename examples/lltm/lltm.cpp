#include "lltm_cell.h"

// [h, x] times weights. A null h or x is zeros, or an output that isn't wanted; so are null weights.
template <class T>
struct Linear {
  int64_t B, I, S;
  Linear(Tensor<const T, 2> input, Tensor<const T, 2> old_h) : B(input.size(0)), I(input.size(1)), S(old_h.size(1)) {}

  // h and x side by side
  void join(const T *h, const T *x, T *hx) const {
    for (int64_t b = 0; b < B; ++b, hx += S + I) {
      for (int64_t j = 0; j < S; ++j) hx[j] = h ? h[b * S + j] : T(0);
      for (int64_t j = 0; j < I; ++j) hx[S + j] = x ? x[b * I + j] : T(0);
    }
  }
  // gates += [h, x] w^T; a row of gates every `ld` elements
  void gates(const T *h, const T *x, const T *w, T *gates, int64_t ld) const {
    Workspace<T> hx(B * (S + I));
    join(h, x, hx.data());
    gemm<T>(false, true, B, 3 * S, S + I, 1, hx.data(), S + I, w, S + I, 1, gates, ld);
  }
  // [h, x] = p w
  void inputs(const T *p, const T *w, T *h, T *x) const {
    const int64_t K = w ? 3 * S : 0;
    if (h) gemm<T>(false, false, B, S, K, 1, p, 3 * S, w, S + I, 0, h, S);
    if (x) gemm<T>(false, false, B, I, K, 1, p, 3 * S, w + S, S + I, 0, x, I);
  }
  // w = p^T [h, x]
  void weights(const T *p, const T *h, const T *x, T *w) const {
    if (!w) return;
    Workspace<T> hx(B * (S + I));
    join(h, x, hx.data());
    gemm<T>(true, false, 3 * S, S + I, B, 1, p, 3 * S, hx.data(), S + I, 0, w, S + I);
  }
};

// The same row `B` times, one every `ld` elements.
template <class T>
void repeat(int64_t B, Tensor<const T, 1> row, T *out, int64_t ld) {
  for (int64_t b = 0; b < B; ++b)
    for (int64_t j = 0; j < row.size(0); ++j) out[b * ld + j] = row[j];
}

// The sum of `B` rows.
template <class T>
void add_rows(int64_t B, const T *rows, Tensor<T, 1> sum) {
  const int64_t n = sum.size(0);
  Workspace<acc<T>> total(n);
  for (int64_t j = 0; j < n; ++j) total[j] = 0;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t j = 0; j < n; ++j) total[j] += rows[b * n + j];
  for (int64_t j = 0; j < n; ++j) sum[j] = total[j];
}

OPWRIGHT("lltm(input: T[B, I], weights: T[3*S, I+S], bias: T[3*S], old_h: T[B, S], old_cell: T[B, S])"
         " -> (new_h: T[B, S], new_cell: T[B, S]; gates: T[B, 4*S]) independent B")
template <class T>
void lltm(Tensor<const T, 2> input, Tensor<const T, 2> weights, Tensor<const T, 1> bias, Tensor<const T, 2> old_h,
          Tensor<const T, 2> old_cell, Tensor<T, 2> new_h, Tensor<T, 2> new_cell, Tensor<T, 2> gates) {
  const Linear<T> linear(input, old_h);
  const int64_t B = linear.B, S = linear.S;
  Workspace<T> unsaved(gates ? 0 : B * 4 * S);
  T *const g = gates ? gates.data() : unsaved.data();
  repeat(B, bias, g, 4 * S);
  linear.gates(old_h.data(), input.data(), weights.data(), g, 4 * S);
  parallel_for(B, cell::rows(1024, S), [&](int64_t b) {
    T *const row = g + b * 4 * S;
    cell::forward(S, row, old_cell[b].data(), new_h[b].data(), new_cell[b].data(), row);
  });
}

// grad_gates is given in a second derivative only: then lltm_backward_backward sends one to the residual.
OPWRIGHT("lltm_backward(grad_new_h: T[B, S], grad_new_cell: T[B, S], grad_gates: T[B, 4*S]?, input: T[B, I],"
         " weights: T[3*S, I+S], old_h: T[B, S], gates: T[B, 4*S])"
         " -> (grad_input: T[B, I], grad_weights: T[3*S, I+S], grad_bias: T[3*S], grad_old_h: T[B, S],"
         " grad_old_cell: T[B, S]) independent B")
template <class T>
void lltm_backward(Tensor<const T, 2> grad_new_h, Tensor<const T, 2> grad_new_cell, Tensor<const T, 2> grad_gates,
                   Tensor<const T, 2> input, Tensor<const T, 2> weights, Tensor<const T, 2> old_h, Tensor<const T, 2> gates,
                   Tensor<T, 2> grad_input, Tensor<T, 2> grad_weights, Tensor<T, 1> grad_bias, Tensor<T, 2> grad_old_h,
                   Tensor<T, 2> grad_old_cell) {
  const Linear<T> linear(input, old_h);
  const int64_t B = linear.B, S = linear.S;
  Workspace<T> p(B * 3 * S);
  for (int64_t b = 0; b < B; ++b)
    cell::backward<T>({b, gates, grad_new_h, grad_new_cell, grad_gates}, p.data() + b * 3 * S, grad_old_cell[b].data());
  linear.inputs(p.data(), weights.data(), grad_old_h.data(), grad_input.data());
  linear.weights(p.data(), old_h.data(), input.data(), grad_weights.data());
  if (grad_bias) add_rows(B, p.data(), grad_bias);
}

// Every gradient is linear in p, which isn't saved: computed again. q is the gradient of p.
OPWRIGHT("lltm_backward_backward(grad_grad_input: T[B, I]?, grad_grad_weights: T[3*S, I+S]?, grad_grad_bias: T[3*S],"
         " grad_grad_old_h: T[B, S]?, grad_grad_old_cell: T[B, S], grad_new_h: T[B, S], grad_new_cell: T[B, S],"
         " grad_gates: T[B, 4*S]?, input: T[B, I], weights: T[3*S, I+S], old_h: T[B, S], gates: T[B, 4*S])"
         " -> (grad_grad_new_h: T[B, S], grad_grad_new_cell: T[B, S], grad_grad_gates: T[B, 4*S], grad_input: T[B, I],"
         " grad_weights: T[3*S, I+S], grad_old_h: T[B, S], grad_gates: T[B, 4*S]) independent B")
template <class T>
void lltm_backward_backward(Tensor<const T, 2> grad_grad_input, Tensor<const T, 2> grad_grad_weights,
                            Tensor<const T, 1> grad_grad_bias, Tensor<const T, 2> grad_grad_old_h,
                            Tensor<const T, 2> grad_grad_old_cell, Tensor<const T, 2> grad_new_h,
                            Tensor<const T, 2> grad_new_cell, Tensor<const T, 2> grad_gates, Tensor<const T, 2> input,
                            Tensor<const T, 2> weights, Tensor<const T, 2> old_h, Tensor<const T, 2> gates,
                            Tensor<T, 2> grad_grad_new_h, Tensor<T, 2> grad_grad_new_cell, Tensor<T, 2> grad_grad_gates,
                            Tensor<T, 2> grad_input, Tensor<T, 2> grad_weights, Tensor<T, 2> grad_old_h,
                            Tensor<T, 2> grad_of_gates) {
  const Linear<T> linear(input, old_h);
  const int64_t B = linear.B, S = linear.S;
  const T *const ggw = grad_grad_weights.data();
  Workspace<T> p(B * 3 * S), q(B * 3 * S);
  repeat(B, grad_grad_bias, q.data(), 3 * S);
  linear.gates(grad_grad_old_h.data(), grad_grad_input.data(), weights.data(), q.data(), 3 * S);
  if (ggw) linear.gates(old_h.data(), input.data(), ggw, q.data(), 3 * S);
  for (int64_t b = 0; b < B; ++b) {
    const cell::Row<T> row(b, gates, grad_new_h, grad_new_cell, grad_gates);
    cell::backward<T>(row, p.data() + b * 3 * S, nullptr);
    cell::backward_backward<T>(row, q.data() + b * 3 * S, grad_grad_old_cell[b].data(),
                               {grad_grad_new_h[b].data(), grad_grad_new_cell[b].data(), grad_grad_gates[b].data(),
                                grad_of_gates[b].data()});
  }
  linear.inputs(p.data(), ggw, grad_old_h.data(), grad_input.data());
  linear.weights(p.data(), grad_grad_old_h.data(), grad_grad_input.data(), grad_weights.data());
}
