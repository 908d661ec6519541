"""nanobind: a module of functions on its arrays, which check type and device, in an autograd.Function."""

import importlib.util
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nanobind
import torch

SOURCE = """
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <cmath>

namespace nb = nanobind;
using In = nb::ndarray<const float, nb::device::cpu, nb::c_contig>;
using Out = nb::ndarray<float, nb::device::cpu, nb::c_contig>;

void forward(In x_, Out y_) {
  const float *x = x_.data();
  float *y = y_.data();
  for (size_t i = 0; i < x_.size(); ++i) y[i] = 1.25f * x[i] / (1 + std::exp(-x[i]));
}

void backward(In grad_, In x_, Out out_) {
  const float *grad = grad_.data(), *x = x_.data();
  float *out = out_.data();
  for (size_t i = 0; i < x_.size(); ++i) {
    const float s = 1 / (1 + std::exp(-x[i]));
    out[i] = grad[i] * 1.25f * s * (1 + x[i] * (1 - s));
  }
}

NB_MODULE(alternative_nanobind, m) {
  m.def("forward", &forward, nb::call_guard<nb::gil_scoped_release>());
  m.def("backward", &backward, nb::call_guard<nb::gil_scoped_release>());
}
"""


def load(folder: Path) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the operator."""
    source, core, library = folder / "module.cpp", folder / "core.o", folder / "alternative_nanobind.so"
    root = Path(nanobind.include_dir()).parent
    folders = [f"-I{root / 'include'}", f"-I{root / 'ext/robin_map/include'}", f"-I{sysconfig.get_path('include')}"]
    flags = ["-O3", "-march=native", "-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", *folders]
    if not core.exists():
        subprocess.run(["g++", *flags, "-c", str(root / "src/nb_combined.cpp"), "-o", str(core)], check=True)
    if not library.exists() or source.read_text() != SOURCE:
        source.write_text(SOURCE)
        subprocess.run(["g++", *flags, "-shared", str(source), str(core), "-o", str(library)], check=True)
    spec = importlib.util.spec_from_file_location("alternative_nanobind", library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    class Silu(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            x = x.contiguous()
            ctx.save_for_backward(x)
            y = torch.empty_like(x)
            module.forward(x.detach(), y)
            return y

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,), grad = ctx.saved_tensors, grad.contiguous()
            grad_x = torch.empty_like(x)
            module.backward(grad.detach(), x.detach(), grad_x)
            return grad_x

    return Silu.apply
