#include "lltm_cell.h"

// [old_h, input] and weights, without putting the two side by side in memory: each product is two, on columns of weights.
template <class T>
struct Linear {
  int64_t B, I, S;
  Linear(Tensor<const T, 2> input, Tensor<const T, 2> old_h) : B(input.size(0)), I(input.size(1)), S(old_h.size(1)) {}

  // gates += [h, x] w^T, in rows of `ld` elements
  void gates(const T *h, const T *x, const T *w, T *gates, int64_t ld) const {
    if (h) gemm<T>(false, true, B, 3 * S, S, 1, h, S, w, I + S, 1, gates, ld);
    if (x) gemm<T>(false, true, B, 3 * S, I, 1, x, I, w + S, I + S, 1, gates, ld);
  }
  // [h, x] = beta [h, x] + p w
  void inputs(const T *p, const T *w, T *h, T *x, double beta = 0) const {
    if (h) gemm<T>(false, false, B, S, 3 * S, 1, p, 3 * S, w, I + S, beta, h, S);
    if (x) gemm<T>(false, false, B, I, 3 * S, 1, p, 3 * S, w + S, I + S, beta, x, I);
  }
  // w = p^T [h, x]
  void weights(const T *p, const T *h, const T *x, T *w) const {
    if (h) gemm<T>(true, false, 3 * S, S, B, 1, p, 3 * S, h, S, 0, w, I + S);
    if (x) gemm<T>(true, false, 3 * S, I, B, 1, p, 3 * S, x, I, 0, w + S, I + S);
  }
};

OPWRIGHT("lltm(input: T[B, I], weights: T[3*S, I+S], bias: T[3*S], old_h: T[B, S], old_cell: T[B, S])"
         " -> (new_h: T[B, S], new_cell: T[B, S]; gates: T[B, 4*S])")
template <class T>
void lltm(Tensor<const T, 2> input, Tensor<const T, 2> weights, Tensor<const T, 1> bias, Tensor<const T, 2> old_h,
          Tensor<const T, 2> old_cell, Tensor<T, 2> new_h, Tensor<T, 2> new_cell, Tensor<T, 2> gates) {
  const Linear<T> linear(input, old_h);
  const int64_t S = linear.S, ld = gates ? 4 * S : 3 * S;
  Workspace<T> unsaved(gates ? 0 : linear.B * ld);
  T *const g = gates ? gates.data() : unsaved.data();
  for (int64_t b = 0; b < linear.B; ++b)
    for (int64_t j = 0; j < 3 * S; ++j) g[b * ld + j] = bias[j];
  linear.gates(old_h.data(), input.data(), weights.data(), g, ld);
  parallel_for(linear.B, cell::rows(1024, S), [&](int64_t b) {
    cell::forward(S, g + b * ld, old_cell[b].data(), new_h[b].data(), new_cell[b].data(), gates[b].data());
  });
}

template <class T>
void add_rows(int64_t B, int64_t n, const T *p, T *sum) {
  Workspace<acc<T>> total(n);
  for (int64_t j = 0; j < n; ++j) total[j] = 0;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t j = 0; j < n; ++j) total[j] += p[b * n + j];
  for (int64_t j = 0; j < n; ++j) sum[j] = total[j];
}

// grad_gates is given in a second derivative only: then lltm_backward_backward sends one to the residual.
OPWRIGHT("lltm_backward(grad_new_h: T[B, S], grad_new_cell: T[B, S], grad_gates: T[B, 4*S]?, input: T[B, I],"
         " weights: T[3*S, I+S], old_h: T[B, S], gates: T[B, 4*S])"
         " -> (grad_input: T[B, I], grad_weights: T[3*S, I+S], grad_bias: T[3*S], grad_old_h: T[B, S], grad_old_cell: T[B, S])")
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
  if (grad_weights) linear.weights(p.data(), old_h.data(), input.data(), grad_weights.data());
  if (grad_bias) add_rows(B, 3 * S, p.data(), grad_bias.data());
}
