"""LLTM with CUDA kernels, in three forms: on a GPU, or emulated on the CPU.

The matrix products use PyTorch's `addmm`, which calls cuBLAS: the `gemm` available to kernels runs on the CPU only.
"""

from __future__ import annotations

from pathlib import Path

import torch
from lltm import LLTM, State
from torch import Tensor

import opwright
from opwright.codegen.backends import Backend

HERE = Path(__file__).parent


class KernelLLTM(LLTM):
    """`LLTM` with one kernel for the pointwise part; subclasses provide the kernel.

    Args:
        features: elements of the input.
        state: elements of `h`, and of the cell.
        backend: for CPU tensors, ``"emulate"`` or `opwright.emulate(check=True)`; otherwise the kernel is compiled for
            a GPU by nvcc or NVRTC, whichever is installed.
    """

    sources: tuple[str, ...]

    def __init__(self, features: int, state: int, backend: str | Backend | None = None) -> None:
        super().__init__(features, state)
        self.ops = opwright.load(*(HERE / name for name in self.sources), backend=backend)

    def cell(self, gates: Tensor, old_cell: Tensor) -> State:
        """Return new_h and new_cell, each (batch, state), of gates (batch, 3 * state) and old_cell (batch, state)."""
        raise NotImplementedError

    def forward(self, x: Tensor, state: State) -> State:
        """Return the new state (new_h, new_cell) for `x`, shape (batch, features), and the previous state."""
        old_h, old_cell = state
        gates = torch.addmm(self.bias, torch.cat([old_h, x], dim=1), self.weights.t())
        return self.cell(gates, old_cell)


class PointerLLTM(KernelLLTM):
    """Kernels on raw pointers; twice differentiable."""

    sources = "lltm_cell.cpp", "lltm_cell.cu"

    def cell(self, gates: Tensor, old_cell: Tensor) -> State:
        """See `KernelLLTM.cell`."""
        new_h, new_cell = self.ops.lltm_cell(gates, old_cell)
        return new_h, new_cell


class AccessorLLTM(KernelLLTM):
    """Kernels on packed accessors; once differentiable."""

    sources = ("lltm_accessors.cu",)

    def cell(self, gates: Tensor, old_cell: Tensor) -> State:
        """See `KernelLLTM.cell`."""
        batch, state = old_cell.shape
        new_h, new_cell = self.ops.lltm_accessors(gates.view(batch, 3, state), old_cell)
        return new_h, new_cell


class PointwiseLLTM(KernelLLTM):
    """The function of one element, from which Opwright makes kernels and derivatives; twice differentiable."""

    sources = ("lltm_derived.cpp",)

    def cell(self, gates: Tensor, old_cell: Tensor) -> State:
        """See `KernelLLTM.cell`."""
        new_h, new_cell = self.ops.lltm_derived(*gates.chunk(3, dim=1), old_cell)
        return new_h, new_cell
