"""JAX's FFI: C++ handlers, a custom_vjp, and DLPack to PyTorch's tensors, in an autograd.Function."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import torch

SOURCE = """
#include <cmath>
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using In = ffi::Buffer<ffi::F32>;
using Out = ffi::ResultBuffer<ffi::F32>;

ffi::Error forward_of(In x_, Out y_) {
  const float *x = x_.typed_data();
  float *y = y_->typed_data();
  for (size_t i = 0; i < x_.element_count(); ++i) y[i] = 1.25f * x[i] / (1 + std::exp(-x[i]));
  return ffi::Error::Success();
}

ffi::Error backward_of(In grad_, In x_, Out out_) {
  const float *grad = grad_.typed_data(), *x = x_.typed_data();
  float *out = out_->typed_data();
  for (size_t i = 0; i < x_.element_count(); ++i) {
    const float s = 1 / (1 + std::exp(-x[i]));
    out[i] = grad[i] * 1.25f * s * (1 + x[i] * (1 - s));
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(forward, forward_of, ffi::Ffi::Bind().Arg<In>().Ret<In>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(backward, backward_of, ffi::Ffi::Bind().Arg<In>().Arg<In>().Ret<In>());
"""


def load(folder: Path) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the operator."""
    source, path = folder / "library.cpp", folder / "library.so"
    if not path.exists() or source.read_text() != SOURCE:
        source.write_text(SOURCE)
        flags = ["-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", f"-I{jax.ffi.include_dir()}"]
        subprocess.run(["g++", *flags, str(source), "-o", str(path)], check=True)
    library = ctypes.CDLL(str(path))
    for name in ("forward", "backward"):
        jax.ffi.register_ffi_target(f"alternative_{name}", jax.ffi.pycapsule(getattr(library, name)), platform="cpu")

    def call(name: str, *arguments: jax.Array) -> jax.Array:
        result = jax.ShapeDtypeStruct(arguments[0].shape, arguments[0].dtype)
        return jax.ffi.ffi_call(f"alternative_{name}", result)(*arguments)

    @jax.custom_vjp
    def silu(x: jax.Array) -> jax.Array:
        return call("forward", x)

    silu.defvjp(lambda x: (silu(x), x), lambda x, grad: (call("backward", grad, x),))
    forward = jax.jit(silu)
    backward = jax.jit(lambda x, grad: jax.vjp(silu, x)[1](grad)[0])

    class Silu(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.x = jax.dlpack.from_dlpack(x.detach().contiguous())
            return torch.from_dlpack(forward(ctx.x))

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return torch.from_dlpack(backward(ctx.x, jax.dlpack.from_dlpack(grad.contiguous())))

    return Silu.apply
