"""LLTM, an LSTM without a forget gate, in four equivalent forms."""

from __future__ import annotations

import math
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor, nn

import opwright

HERE = Path(__file__).parent
ops = opwright.load(HERE / "lltm.cpp")
cell_ops = opwright.load(HERE / "lltm_cell.cpp", HERE / "lltm_cell.cu")
derived_ops = opwright.load(HERE / "lltm_derived.cpp")

State = tuple[Tensor, Tensor]


def lltm_python(x: Tensor, weights: Tensor, bias: Tensor, old_h: Tensor, old_cell: Tensor) -> State:
    """Compute one step of LLTM with PyTorch's operators.

    Args:
        x: the input, (batch, features).
        weights: (3 * state, state + features); the columns of `old_h` precede those of `x`.
        bias: (3 * state,): input gate, output gate, candidate.
        old_h: (batch, state).
        old_cell: (batch, state).

    Returns:
        new_h and new_cell, each (batch, state).
    """
    return cell_python(F.linear(torch.cat([old_h, x], dim=1), weights, bias), old_cell)


def cell_python(gates: Tensor, old_cell: Tensor) -> State:
    """Compute the pointwise part of a step: gates (batch, 3 * state), old_cell (batch, state) -> new_h, new_cell."""
    input_gate, output_gate, candidate = gates.chunk(3, dim=1)
    new_cell = old_cell + F.elu(candidate) * torch.sigmoid(input_gate)
    return torch.tanh(new_cell) * torch.sigmoid(output_gate), new_cell


def lltm_cell(x: Tensor, weights: Tensor, bias: Tensor, old_h: Tensor, old_cell: Tensor) -> State:
    """Compute `lltm_python` with `torch.addmm` and one kernel for the pointwise part."""
    gates = torch.addmm(bias, torch.cat([old_h, x], dim=1), weights.t())
    new_h, new_cell = cell_ops.lltm_cell(gates, old_cell)
    return new_h, new_cell


def lltm_derived(x: Tensor, weights: Tensor, bias: Tensor, old_h: Tensor, old_cell: Tensor) -> State:
    """Compute `lltm_cell` with a pointwise kernel, whose derivatives Opwright derives."""
    gates = torch.addmm(bias, torch.cat([old_h, x], dim=1), weights.t())
    new_h, new_cell = derived_ops.lltm_derived(*gates.chunk(3, dim=1), old_cell)
    return new_h, new_cell


def lltm(x: Tensor, weights: Tensor, bias: Tensor, old_h: Tensor, old_cell: Tensor) -> State:
    """Compute `lltm_python` as one operator, including the matrix products.

    Raises:
        opwright.ArgumentError: shapes or element types don't match.
    """
    new_h, new_cell = ops.lltm(x, weights, bias, old_h, old_cell)
    return new_h, new_cell


class LLTM(nn.Module):
    """A layer with LLTM's parameters; `step` is one of the functions above."""

    step = staticmethod(lltm_python)

    def __init__(self, features: int, state: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.empty(3 * state, state + features))
        self.bias = nn.Parameter(torch.empty(3 * state))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -1 / math.sqrt(state), 1 / math.sqrt(state))

    def forward(self, x: Tensor, state: State) -> State:
        """Return the new state (new_h, new_cell) for `x`, shape (batch, features), and the previous state."""
        return self.step(x, self.weights, self.bias, *state)


class CellLLTM(LLTM):
    """`LLTM` with `lltm_cell`."""

    step = staticmethod(lltm_cell)


class DerivedLLTM(LLTM):
    """`LLTM` with `lltm_derived`."""

    step = staticmethod(lltm_derived)


class WholeLLTM(LLTM):
    """`LLTM` with `lltm`."""

    step = staticmethod(lltm)
