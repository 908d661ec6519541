"""PyTorch's stable ABI: a library of operators that serves several versions of PyTorch, with register_autograd."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.cpp_extension import load as load_extension

SOURCE = """
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/Exception.h>
#include <cmath>

using torch::stable::Tensor;

Tensor forward(const Tensor& x_) {
  STD_TORCH_CHECK(x_.scalar_type() == torch::headeronly::ScalarType::Float, "expected float32");
  const Tensor x = torch::stable::contiguous(x_);
  Tensor y = torch::stable::empty_like(x);
  const float* px = static_cast<const float*>(x.data_ptr());
  float* py = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i) py[i] = 1.25f * px[i] / (1 + std::exp(-px[i]));
  return y;
}

Tensor backward(const Tensor& grad_, const Tensor& x_) {
  const Tensor grad = torch::stable::contiguous(grad_), x = torch::stable::contiguous(x_);
  Tensor grad_x = torch::stable::empty_like(x);
  const float *pg = static_cast<const float*>(grad.data_ptr()), *px = static_cast<const float*>(x.data_ptr());
  float* out = static_cast<float*>(grad_x.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i) {
    const float s = 1 / (1 + std::exp(-px[i]));
    out[i] = pg[i] * 1.25f * s * (1 + px[i] * (1 - s));
  }
  return grad_x;
}

STABLE_TORCH_LIBRARY(alternative_stable, m) {
  m.def("silu(Tensor x) -> Tensor");
  m.def("silu_backward(Tensor grad, Tensor x) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(alternative_stable, CPU, m) {
  m.impl("silu", TORCH_BOX(&forward));
  m.impl("silu_backward", TORCH_BOX(&backward));
}
"""


def load(folder: Path) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the operator."""
    path = folder / "alternative_stable.cpp"
    path.write_text(SOURCE)
    load_extension(
        "alternative_stable",
        [str(path)],
        extra_cflags=["-O3", "-march=native"],
        build_directory=str(folder),
        is_python_module=False,
    )
    ops = torch.ops.alternative_stable

    def save(ctx: Any, inputs: Any, output: torch.Tensor) -> None:
        ctx.save_for_backward(*inputs)

    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return ops.silu_backward(grad, *ctx.saved_tensors)

    torch.library.register_fake("alternative_stable::silu", torch.empty_like)
    torch.library.register_fake("alternative_stable::silu_backward", lambda grad, x: torch.empty_like(x))
    torch.library.register_autograd("alternative_stable::silu", backward, setup_context=save)
    return ops.silu.default
