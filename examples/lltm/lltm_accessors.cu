// LLTM's pointwise half by packed accessors, no host code: the signature says how a kernel is launched. Once differentiable.
#include <opwright.h>

template <class T>
using Matrix = PackedTensorAccessor32<T, 2, RestrictPtrTraits>;
template <class T>
using Gates = PackedTensorAccessor32<T, 3, RestrictPtrTraits>;

OPWRIGHT("lltm_accessors(gates: T[B, 3, S], old_cell: T[B, S]) -> (new_h: T[B, S], new_cell: T[B, S]; saved: T[B, 4, S])"
         " independent B, S launch over S, B, threads 64, 4")
template <class T>
__global__ void lltm_accessors(Gates<const T> gates, Matrix<const T> old_cell, Matrix<T> new_h, Matrix<T> new_cell,
                               Gates<T> saved) {
  const int n = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= gates.size(0) || c >= gates.size(2)) return;
  const acc<T> input_gate = sigmoid(gates[n][0][c]), output_gate = sigmoid(gates[n][1][c]), candidate = elu(gates[n][2][c]);
  const acc<T> cell = old_cell[n][c] + candidate * input_gate, squashed = tanh(cell);
  new_cell[n][c] = cell;
  new_h[n][c] = squashed * output_gate;
  if (!saved.data()) return;  // no gradient will be needed
  saved[n][0][c] = input_gate;
  saved[n][1][c] = output_gate;
  saved[n][2][c] = candidate;
  saved[n][3][c] = squashed;
}

OPWRIGHT("lltm_accessors_backward(grad_new_h: T[B, S], grad_new_cell: T[B, S], saved: T[B, 4, S])"
         " -> (grad_gates: T[B, 3, S], grad_old_cell: T[B, S]) independent B, S launch over S, B, threads 64, 4")
template <class T>
__global__ void lltm_accessors_backward(Matrix<const T> grad_new_h, Matrix<const T> grad_new_cell, Gates<const T> saved,
                                        Gates<T> grad_gates, Matrix<T> grad_old_cell) {
  const int n = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= saved.size(0) || c >= saved.size(2)) return;
  const acc<T> i = saved[n][0][c], o = saved[n][1][c], candidate = saved[n][2][c], squashed = saved[n][3][c];
  const acc<T> grad_h = grad_new_h[n][c], grad_cell = grad_new_cell[n][c] + grad_h * o * (1 - squashed * squashed);
  if (grad_old_cell.data()) grad_old_cell[n][c] = grad_cell;
  if (!grad_gates.data()) return;
  grad_gates[n][0][c] = grad_cell * candidate * i * (1 - i);
  grad_gates[n][1][c] = grad_h * squashed * o * (1 - o);
  grad_gates[n][2][c] = grad_cell * i * (candidate > 0 ? acc<T>(1) : 1 + candidate);
}
