#include <opwright.h>

OPWRIGHT("lltm_derived(input_gate: T, output_gate: T, candidate: T, old_cell: T) -> (new_h: T, new_cell: T)")
template <class T>
void lltm_derived(T input_gate, T output_gate, T candidate, T old_cell, T &new_h, T &new_cell) {
  new_cell = old_cell + elu(candidate) * sigmoid(input_gate);
  new_h = tanh(new_cell) * sigmoid(output_gate);
}
