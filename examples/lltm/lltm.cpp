#include <opwright.h>

#include "lltm_cell.h"

OPWRIGHT("lltm(input: T[B, I], weights: T[3*S, I+S], bias: T[3*S], old_h: T[B, S], old_cell: T[B, S])"
         " -> (new_h: T[B, S], new_cell: T[B, S]; gates: T[B, 4*S])")
template <class T>
void lltm(Tensor<const T, 2> input, Tensor<const T, 2> weights, Tensor<const T, 1> bias, Tensor<const T, 2> old_h,
          Tensor<const T, 2> old_cell, Tensor<T, 2> new_h, Tensor<T, 2> new_cell, Tensor<T, 2> gates) {}
