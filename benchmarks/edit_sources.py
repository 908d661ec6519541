"""The sources and the worker processes of edit_to_call.py, with FACTOR and SOURCE as placeholders."""

from __future__ import annotations

OPWRIGHT = r"""
#include <opwright.h>

OPWRIGHT("my_op(x: T[...], y: T[...]) -> (z: T[...])")
template <class T>
void my_op(Tensor<const T> x, Tensor<const T> y, Tensor<T> z) {
  parallel_for(z.numel(), [&](int64_t i) { z[i] = FACTOR * x[i] - y[i]; });
}

OPWRIGHT("my_op_backward(grad_z: T[...]) -> (grad_x: T[...], grad_y: T[...])")
template <class T>
void my_op_backward(Tensor<const T> grad_z, Tensor<T> grad_x, Tensor<T> grad_y) {
  if (grad_x) parallel_for(grad_x.numel(), [&](int64_t i) { grad_x[i] = FACTOR * grad_z[i]; });
  if (grad_y) parallel_for(grad_y.numel(), [&](int64_t i) { grad_y[i] = -grad_z[i]; });
}
"""

BARE = r"""
#include <cmath>
#include <cstddef>
#include <cstdint>

extern "C" void my_op(int64_t n, const float *x, const float *y, float *z) {
  for (int64_t i = 0; i < n; ++i) z[i] = FACTOR * x[i] - y[i];
}

extern "C" void my_op_backward(int64_t n, const float *grad_z, float *grad_x, float *grad_y) {
  if (grad_x) for (int64_t i = 0; i < n; ++i) grad_x[i] = FACTOR * grad_z[i];
  if (grad_y) for (int64_t i = 0; i < n; ++i) grad_y[i] = -grad_z[i];
}
"""

_CHECK = """
x, y = torch.randn(5, requires_grad=True), torch.randn(5, requires_grad=True)
z = my_op(x, y)
z.sum().backward()
took = time.perf_counter() - started
torch.testing.assert_close(z, FACTOR * x - y)
torch.testing.assert_close(x.grad, torch.full((5,), float(FACTOR)))
torch.testing.assert_close(y.grad, torch.full((5,), -1.0))
print(took)
"""

_OPWRIGHT = """
import time
import torch
from opwright import load
started = time.perf_counter()
my_op = load(SOURCE).my_op
"""

WRAPPED = """class MyOp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return module.forward(x, y)
    @staticmethod
    def backward(ctx, grad_z):
        return tuple(module.backward(grad_z))
my_op = MyOp.apply
"""
"""Two functions of a `module` as a differentiable one."""

_LOAD_INLINE = """
import time
import torch
from torch.utils.cpp_extension import load_inline
started = time.perf_counter()
code = '''
torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  TORCH_CHECK(x.sizes() == y.sizes() && x.is_contiguous() && y.is_contiguous() && x.scalar_type() == torch::kFloat);
  auto z = torch::empty_like(x);
  const float *a = x.data_ptr<float>(), *b = y.data_ptr<float>();
  float *c = z.data_ptr<float>();
  for (int64_t i = 0; i < z.numel(); ++i) c[i] = FACTOR * a[i] - b[i];
  return z;
}
std::vector<torch::Tensor> backward(torch::Tensor grad_z) {
  auto g = grad_z.contiguous();
  auto grad_x = torch::empty_like(g), grad_y = torch::empty_like(g);
  for (int64_t i = 0; i < g.numel(); ++i) {
    grad_x.data_ptr<float>()[i] = FACTOR * g.data_ptr<float>()[i];
    grad_y.data_ptr<float>()[i] = -g.data_ptr<float>()[i];
  }
  return {grad_x, grad_y};
}
'''
module = load_inline("my_op_FACTOR", code, functions=["forward", "backward"])
"""

_IMPORT = """
import time
import torch
started = time.perf_counter()
from opwright import load
print(time.perf_counter() - started)
"""

WORKERS = {
    "opwright": _OPWRIGHT + _CHECK,
    "load_inline": _LOAD_INLINE + WRAPPED + _CHECK,
    "import": _IMPORT,
}
