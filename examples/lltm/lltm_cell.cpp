#include <opwright.h>

#include "lltm_cell.h"

// Rows of which one thread has enough to do: `each` elements of work, S in a row.
static int64_t rows(int64_t each, int64_t S) { return each / (S + 1) + 1; }

template <class T>
static T *at(Tensor<T, 2> x, int64_t b) {
  return x ? &x(b, 0) : nullptr;
}

OPWRIGHT("lltm_cell(gates: T[B, 3*S], old_cell: T[B, S]) -> (new_h: T[B, S], new_cell: T[B, S]; saved: T[B, 4*S])")
template <class T>
void lltm_cell(Tensor<const T, 2> gates, Tensor<const T, 2> old_cell, Tensor<T, 2> new_h, Tensor<T, 2> new_cell,
               Tensor<T, 2> saved) {
  const int64_t S = old_cell.size(1);
  parallel_for(old_cell.size(0), rows(1024, S), [&](int64_t b) {
    lltm::forward<T>(S, at(gates, b), at(old_cell, b), at(new_h, b), at(new_cell, b), at(saved, b));
  });
}

OPWRIGHT("lltm_cell_backward(grad_new_h: T[B, S], grad_new_cell: T[B, S], grad_saved: T[B, 4*S]?, saved: T[B, 4*S])"
         " -> (grad_gates: T[B, 3*S], grad_old_cell: T[B, S])")
template <class T>
void lltm_cell_backward(Tensor<const T, 2> grad_new_h, Tensor<const T, 2> grad_new_cell, Tensor<const T, 2> grad_saved,
                        Tensor<const T, 2> saved, Tensor<T, 2> grad_gates, Tensor<T, 2> grad_old_cell) {
  const int64_t S = grad_new_h.size(1);
  parallel_for(grad_new_h.size(0), rows(default_grain, S), [&](int64_t b) {
    lltm::backward<T>(row(b, saved, grad_new_h, grad_new_cell, grad_saved), at(grad_gates, b), at(grad_old_cell, b));
  });
}
