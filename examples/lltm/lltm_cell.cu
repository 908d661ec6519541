// lltm_cell.cpp's operators on a GPU, by raw pointers: one thread for each element of the state.
#include "lltm_cell.h"

namespace {

constexpr int threads = 256;
int blocks(int64_t n) { return int((n + threads - 1) / threads); }

template <class T>
__global__ void forward_kernel(int64_t n, int64_t S, const T *__restrict__ gates, const T *__restrict__ old_cell,
                               T *__restrict__ new_h, T *__restrict__ new_cell, T *__restrict__ saved) {
  const int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, b = at / S, j = at % S;
  if (at >= n) return;
  const T *const gate = gates + b * 3 * S + j;
  const acc<T> i = sigmoid(gate[0]), o = sigmoid(gate[S]), c = elu(gate[2 * S]);
  const acc<T> cell = old_cell[at] + c * i, t = tanh(cell);
  new_cell[at] = cell, new_h[at] = t * o;
  if (!saved) return;  // no gradient will be needed
  T *const s = saved + b * 4 * S + j;
  s[0] = i, s[S] = o, s[2 * S] = c, s[3 * S] = t;
}

template <class T>
__global__ void backward_kernel(int64_t n, int64_t S, const T *grad_h, const T *grad_cell, const T *more, const T *saved,
                                T *grad_gates, T *grad_old_cell) {
  const int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, b = at / S, j = at % S;
  if (at >= n) return;
  const auto x = cell::Row<T>(b, S, saved, grad_h, grad_cell, more).at(j);
  if (grad_old_cell) grad_old_cell[at] = x.grad_cell;
  if (!grad_gates) return;
  T *const out = grad_gates + b * 3 * S + j;
  out[0] = x.grad_i * x.slope_i, out[S] = x.grad_o * x.slope_o, out[2 * S] = x.grad_c * x.slope_c;
}

// q and u: the gradients of grad_gates and of grad_old_cell.
template <class T>
__global__ void second_kernel(int64_t n, int64_t S, const T *q, const T *u, const T *grad_h, const T *grad_cell,
                              const T *more, const T *saved, cell::Second<T> out) {
  const int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, b = at / S, j = at % S;
  if (at >= n) return;
  const auto x = cell::Row<T>(b, S, saved, grad_h, grad_cell, more).at(j);
  q += b * 3 * S + j;
  const cell::Back<acc<T>> back(x, q[0], q[S], q[2 * S], u[at]);
  if (out.grad_h) out.grad_h[at] = back.grad_h(x);
  if (out.grad_cell) out.grad_cell[at] = back.cell;
  if (out.more) back.more(j, S, out.more + b * 4 * S);
  if (out.saved) back.saved(j, S, x, out.saved + b * 4 * S);
}

}  // namespace

OPWRIGHT(
    "lltm_cell(gates: T[B, 3*S], old_cell: T[B, S]) -> (new_h: T[B, S], new_cell: T[B, S]; saved: T[B, 4*S]) "
    "independent B")
template <class T>
void lltm_cell(Tensor<const T, 2> gates, Tensor<const T, 2> old_cell, Tensor<T, 2> new_h, Tensor<T, 2> new_cell,
               Tensor<T, 2> saved, cudaStream_t stream) {
  const int64_t n = old_cell.numel();
  if (n == 0) return;
  forward_kernel<T><<<blocks(n), threads, 0, stream>>>(n, old_cell.size(1), gates.data(), old_cell.data(), new_h.data(),
                                                       new_cell.data(), saved.data());
}

OPWRIGHT("lltm_cell_backward(grad_new_h: T[B, S], grad_new_cell: T[B, S], grad_saved: T[B, 4*S]?, saved: T[B, 4*S])"
         " -> (grad_gates: T[B, 3*S], grad_old_cell: T[B, S]) independent B")
template <class T>
void lltm_cell_backward(Tensor<const T, 2> grad_new_h, Tensor<const T, 2> grad_new_cell, Tensor<const T, 2> grad_saved,
                        Tensor<const T, 2> saved, Tensor<T, 2> grad_gates, Tensor<T, 2> grad_old_cell,
                        cudaStream_t stream) {
  const int64_t n = grad_new_h.numel();
  if (n == 0) return;
  backward_kernel<T><<<blocks(n), threads, 0, stream>>>(n, grad_new_h.size(1), grad_new_h.data(), grad_new_cell.data(),
                                                        grad_saved.data(), saved.data(), grad_gates.data(),
                                                        grad_old_cell.data());
}

OPWRIGHT("lltm_cell_backward_backward(grad_grad_gates: T[B, 3*S], grad_grad_old_cell: T[B, S], grad_new_h: T[B, S],"
         " grad_new_cell: T[B, S], grad_saved: T[B, 4*S]?, saved: T[B, 4*S])"
         " -> (grad_grad_new_h: T[B, S], grad_grad_new_cell: T[B, S], grad_grad_saved: T[B, 4*S], grad_saved: T[B, 4*S]) "
         "independent B")
template <class T>
void lltm_cell_backward_backward(Tensor<const T, 2> grad_grad_gates, Tensor<const T, 2> grad_grad_old_cell,
                                 Tensor<const T, 2> grad_new_h, Tensor<const T, 2> grad_new_cell,
                                 Tensor<const T, 2> grad_saved, Tensor<const T, 2> saved, Tensor<T, 2> grad_grad_new_h,
                                 Tensor<T, 2> grad_grad_new_cell, Tensor<T, 2> grad_grad_saved, Tensor<T, 2> grad_of_saved,
                                 cudaStream_t stream) {
  const int64_t n = grad_new_h.numel();
  if (n == 0) return;
  second_kernel<T><<<blocks(n), threads, 0, stream>>>(
      n, grad_new_h.size(1), grad_grad_gates.data(), grad_grad_old_cell.data(), grad_new_h.data(), grad_new_cell.data(),
      grad_saved.data(), saved.data(),
      cell::Second<T>{grad_grad_new_h.data(), grad_grad_new_cell.data(), grad_grad_saved.data(), grad_of_saved.data()});
}
