"""pybind11 without PyTorch's headers: a module of functions on addresses, in an autograd.Function."""

import importlib.util
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pybind11
import torch

SOURCE = """
#include <pybind11/pybind11.h>
#include <cmath>
#include <cstdint>

void forward(uintptr_t x_, uintptr_t y_, int64_t n) {
  auto *x = reinterpret_cast<const float *>(x_);
  auto *y = reinterpret_cast<float *>(y_);
  for (int64_t i = 0; i < n; ++i) y[i] = 1.25f * x[i] / (1 + std::exp(-x[i]));
}

void backward(uintptr_t grad_, uintptr_t x_, uintptr_t out_, int64_t n) {
  auto *grad = reinterpret_cast<const float *>(grad_), *x = reinterpret_cast<const float *>(x_);
  auto *out = reinterpret_cast<float *>(out_);
  for (int64_t i = 0; i < n; ++i) {
    const float s = 1 / (1 + std::exp(-x[i]));
    out[i] = grad[i] * 1.25f * s * (1 + x[i] * (1 - s));
  }
}

PYBIND11_MODULE(alternative_pybind11, m) {
  m.def("forward", &forward, pybind11::call_guard<pybind11::gil_scoped_release>());
  m.def("backward", &backward, pybind11::call_guard<pybind11::gil_scoped_release>());
}
"""


def load(folder: Path) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the operator."""
    source, library = folder / "module.cpp", folder / "alternative_pybind11.so"
    if not library.exists() or source.read_text() != SOURCE:
        source.write_text(SOURCE)
        folders = [f"-I{pybind11.get_include()}", f"-I{sysconfig.get_path('include')}"]
        flags = ["-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", *folders]
        subprocess.run(["g++", *flags, str(source), "-o", str(library)], check=True)
    spec = importlib.util.spec_from_file_location("alternative_pybind11", library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    class Silu(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            x = x.contiguous()
            ctx.save_for_backward(x)
            y = torch.empty_like(x)
            module.forward(x.data_ptr(), y.data_ptr(), x.numel())
            return y

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,), grad = ctx.saved_tensors, grad.contiguous()
            grad_x = torch.empty_like(x)
            module.backward(grad.data_ptr(), x.data_ptr(), grad_x.data_ptr(), x.numel())
            return grad_x

    return Silu.apply
