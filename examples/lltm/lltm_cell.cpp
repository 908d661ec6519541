#include "lltm_cell.h"

OPWRIGHT(
    "lltm_cell(gates: T[B, 3*S], old_cell: T[B, S]) -> (new_h: T[B, S], new_cell: T[B, S]; saved: T[B, 4*S]) "
    "independent B")
template <class T>
void lltm_cell(Tensor<const T, 2> gates, Tensor<const T, 2> old_cell, Tensor<T, 2> new_h, Tensor<T, 2> new_cell,
               Tensor<T, 2> saved) {
  const int64_t B = old_cell.size(0), S = old_cell.size(1);
  Workspace<T> unsaved(saved ? 0 : B * 4 * S);
  T *const s = saved ? saved.data() : unsaved.data();
  parallel_for(B, cell::rows(1024, S), [&](int64_t b) {
    cell::forward(S, gates[b].data(), old_cell[b].data(), new_h[b].data(), new_cell[b].data(), s + b * 4 * S);
  });
}

// grad_saved is given in a second derivative only: then lltm_cell_backward_backward sends one to what was saved.
OPWRIGHT("lltm_cell_backward(grad_new_h: T[B, S], grad_new_cell: T[B, S], grad_saved: T[B, 4*S]?, saved: T[B, 4*S])"
         " -> (grad_gates: T[B, 3*S], grad_old_cell: T[B, S]) independent B")
template <class T>
void lltm_cell_backward(Tensor<const T, 2> grad_new_h, Tensor<const T, 2> grad_new_cell, Tensor<const T, 2> grad_saved,
                        Tensor<const T, 2> saved, Tensor<T, 2> grad_gates, Tensor<T, 2> grad_old_cell) {
  const int64_t B = saved.size(0), S = grad_new_h.size(1);
  parallel_for(B, cell::rows(default_grain, S), [&](int64_t b) {
    cell::backward<T>({b, saved, grad_new_h, grad_new_cell, grad_saved}, grad_gates[b].data(), grad_old_cell[b].data());
  });
}

OPWRIGHT("lltm_cell_backward_backward(grad_grad_gates: T[B, 3*S], grad_grad_old_cell: T[B, S], grad_new_h: T[B, S],"
         " grad_new_cell: T[B, S], grad_saved: T[B, 4*S]?, saved: T[B, 4*S])"
         " -> (grad_grad_new_h: T[B, S], grad_grad_new_cell: T[B, S], grad_grad_saved: T[B, 4*S], grad_saved: T[B, 4*S]) "
         "independent B")
template <class T>
void lltm_cell_backward_backward(Tensor<const T, 2> grad_grad_gates, Tensor<const T, 2> grad_grad_old_cell,
                                 Tensor<const T, 2> grad_new_h, Tensor<const T, 2> grad_new_cell,
                                 Tensor<const T, 2> grad_saved, Tensor<const T, 2> saved, Tensor<T, 2> grad_grad_new_h,
                                 Tensor<T, 2> grad_grad_new_cell, Tensor<T, 2> grad_grad_saved, Tensor<T, 2> grad_of_saved) {
  const int64_t B = saved.size(0), S = grad_new_h.size(1);
  parallel_for(B, cell::rows(default_grain, S), [&](int64_t b) {
    cell::backward_backward<T>({b, saved, grad_new_h, grad_new_cell, grad_saved}, grad_grad_gates[b].data(),
                               grad_grad_old_cell[b].data(),
                               {grad_grad_new_h[b].data(), grad_grad_new_cell[b].data(), grad_grad_saved[b].data(),
                                grad_of_saved[b].data()});
  });
}
