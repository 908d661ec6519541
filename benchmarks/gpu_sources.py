"""The CUDA sources and the worker processes of gpu.py, with FACTOR, SOURCE, BACKEND and DEVICE as placeholders."""

from __future__ import annotations

from edit_sources import WRAPPED

_FORWARD = """
template <class T>
__global__ void forward_kernel(int64_t n, const T *x, const T *y, T *z) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) z[i] = FACTOR * x[i] - y[i];
}
"""

OPWRIGHT = (
    "#include <opwright.h>\n"
    + _FORWARD
    + r"""
template <class T>
__global__ void backward_kernel(int64_t n, const T *grad_z, T *grad_x, T *grad_y) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (grad_x) grad_x[i] = FACTOR * grad_z[i];
  if (grad_y) grad_y[i] = -grad_z[i];
}

OPWRIGHT("my_op(x: T[...], y: T[...]) -> (z: T[...])")
template <class T>
void my_op(Tensor<const T> x, Tensor<const T> y, Tensor<T> z, cudaStream_t stream) {
  forward_kernel<<<(z.numel() + 255) / 256, 256, 0, stream>>>(z.numel(), x.data(), y.data(), z.data());
}

OPWRIGHT("my_op_backward(grad_z: T[...]) -> (grad_x: T[...], grad_y: T[...])")
template <class T>
void my_op_backward(Tensor<const T> grad_z, Tensor<T> grad_x, Tensor<T> grad_y, cudaStream_t stream) {
  const int64_t n = grad_z.numel();
  backward_kernel<<<(n + 255) / 256, 256, 0, stream>>>(n, grad_z.data(), grad_x.data(), grad_y.data());
}
"""
)

_CHECK = """
x, y = (torch.randn(5, device=DEVICE, requires_grad=True) for _ in range(2))
z = my_op(x, y)
z.sum().backward()
given, factor = x.grad.tolist(), FACTOR
took = time.perf_counter() - started
assert given == [factor] * 5 and y.grad.tolist() == [-1.0] * 5
torch.testing.assert_close(z, factor * x - y)
print(took)
"""

_BEGIN = """
import time
import torch
IMPORT
torch.ones(1, device=DEVICE).sum().item()
started = time.perf_counter()
"""

_OPWRIGHT = """
my_op = load(SOURCE, backend=BACKEND).my_op
"""

_LOAD_INLINE = """
declared = '''
std::vector<torch::Tensor> backward(torch::Tensor grad_z);
torch::Tensor forward(torch::Tensor x, torch::Tensor y);
'''
code = '''
#include <c10/cuda/CUDAStream.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

FORWARD_KERNEL
template <class T>
__global__ void backward_kernel(int64_t n, const T *grad_z, T *grad_x, T *grad_y) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) grad_x[i] = FACTOR * grad_z[i], grad_y[i] = -grad_z[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  TORCH_CHECK(x.sizes() == y.sizes() && x.is_contiguous() && y.is_contiguous() && x.scalar_type() == torch::kFloat);
  const c10::cuda::CUDAGuard guard(x.device());
  auto z = torch::empty_like(x);
  const int64_t n = z.numel();
  forward_kernel<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
      n, x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return z;
}
std::vector<torch::Tensor> backward(torch::Tensor grad_z) {
  const c10::cuda::CUDAGuard guard(grad_z.device());
  auto g = grad_z.contiguous();
  auto grad_x = torch::empty_like(g), grad_y = torch::empty_like(g);
  const int64_t n = g.numel();
  backward_kernel<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
      n, g.data_ptr<float>(), grad_x.data_ptr<float>(), grad_y.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {grad_x, grad_y};
}
'''
module = load_inline("my_op_FACTOR", declared, code, functions=["forward", "backward"])
"""

WORKERS = {
    "opwright": _BEGIN.replace("IMPORT", "from opwright import load") + _OPWRIGHT + _CHECK,
    "load_inline": _BEGIN.replace("IMPORT", "from torch.utils.cpp_extension import load_inline")
    + _LOAD_INLINE.replace("FORWARD_KERNEL", _FORWARD)
    + WRAPPED
    + _CHECK,
}
"""Each prints the seconds from the end of the imports, with the device initialized, to the correct results."""

SCALED = """
OPWRIGHT("scaled(x: T) -> (y: T)")
template <class T>
T scaled(T x) {
  return T(1.5) * x + T(0.5);
}
"""
