// The pointwise half of LLTM: one thread for each element of the state. Forward by packed accessors, backward by pointers.
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <cuda_runtime.h>

#include <vector>

using at::Tensor;

namespace {

template <class T>
__device__ T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }
template <class T>
__device__ T elu(T x) { return x > T(0) ? x : expm1(x); }

template <class T>
using Matrix = at::PackedTensorAccessor32<T, 2, at::RestrictPtrTraits>;
template <class T>
using Gates = at::PackedTensorAccessor32<T, 3, at::RestrictPtrTraits>;

/* gates: (batch, 3, state); saved: (batch, 4, state), the gates' values and tanh of the new cell. */
template <class T>
__global__ void forward_kernel(const Gates<T> gates, const Matrix<T> old_cell, Matrix<T> new_h, Matrix<T> new_cell,
                               Gates<T> saved) {
  const int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= gates.size(2)) return;
  const T i = sigmoid(gates[row][0][column]), o = sigmoid(gates[row][1][column]), c = elu(gates[row][2][column]);
  const T cell = old_cell[row][column] + c * i, t = tanh(cell);
  saved[row][0][column] = i, saved[row][1][column] = o, saved[row][2][column] = c, saved[row][3][column] = t;
  new_cell[row][column] = cell, new_h[row][column] = t * o;
}

template <class T>
__global__ void backward_kernel(int state, const T *__restrict__ grad_h, const T *__restrict__ grad_cell,
                                const T *__restrict__ saved, T *__restrict__ grad_gates, T *__restrict__ grad_old_cell) {
  const int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= state) return;
  const T *const values = saved + row * 4 * state + column;
  const T i = values[0], o = values[state], c = values[2 * state], t = values[3 * state];
  const int index = row * state + column;
  const T d_cell = grad_cell[index] + grad_h[index] * o * (1 - t * t);
  T *const out = grad_gates + row * 3 * state + column;
  out[0] = d_cell * c * i * (1 - i);
  out[state] = grad_h[index] * t * o * (1 - o);
  out[2 * state] = d_cell * i * (c > T(0) ? T(1) : c + 1);
  grad_old_cell[index] = d_cell;
}

cudaStream_t current_stream(const Tensor &x) {
  const auto stream = c10::impl::VirtualGuardImpl(x.device().type()).getStream(x.device());
  return static_cast<cudaStream_t>(stream.native_handle());
}

void check_launch() {
  const cudaError_t error = cudaGetLastError();
  TORCH_CHECK(error == cudaSuccess, cudaGetErrorString(error));
}

constexpr int threads = 256;
dim3 blocks(int64_t batch, int64_t state) { return dim3(unsigned((state + threads - 1) / threads), unsigned(batch)); }

}  // namespace

std::vector<Tensor> cell_forward(Tensor gates, Tensor old_cell) {
  const c10::DeviceGuard guard(gates.device());
  auto new_h = at::empty_like(old_cell), new_cell = at::empty_like(old_cell);
  auto saved = at::empty({gates.size(0), 4, gates.size(2)}, gates.options());
  if (old_cell.numel() == 0) return {new_h, new_cell, saved};
  AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lltm_forward", [&] {
    forward_kernel<scalar_t><<<blocks(gates.size(0), gates.size(2)), threads, 0, current_stream(gates)>>>(
        gates.packed_accessor32<scalar_t, 3, at::RestrictPtrTraits>(),
        old_cell.packed_accessor32<scalar_t, 2, at::RestrictPtrTraits>(),
        new_h.packed_accessor32<scalar_t, 2, at::RestrictPtrTraits>(),
        new_cell.packed_accessor32<scalar_t, 2, at::RestrictPtrTraits>(),
        saved.packed_accessor32<scalar_t, 3, at::RestrictPtrTraits>());
  });
  check_launch();
  return {new_h, new_cell, saved};
}

std::vector<Tensor> cell_backward(Tensor grad_h, Tensor grad_cell, Tensor saved) {
  const c10::DeviceGuard guard(saved.device());
  auto grad_gates = at::empty({saved.size(0), 3, saved.size(2)}, saved.options());
  auto grad_old_cell = at::empty_like(grad_cell);
  if (grad_h.numel() == 0) return {grad_gates, grad_old_cell};
  AT_DISPATCH_FLOATING_TYPES(saved.scalar_type(), "lltm_backward", [&] {
    backward_kernel<scalar_t><<<blocks(saved.size(0), saved.size(2)), threads, 0, current_stream(saved)>>>(
        int(saved.size(2)), grad_h.data_ptr<scalar_t>(), grad_cell.data_ptr<scalar_t>(), saved.data_ptr<scalar_t>(),
        grad_gates.data_ptr<scalar_t>(), grad_old_cell.data_ptr<scalar_t>());
  });
  check_launch();
  return {grad_gates, grad_old_cell};
}
