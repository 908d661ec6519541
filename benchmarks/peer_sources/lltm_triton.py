"""LLTM with its pointwise part as two Triton kernels, forward and backward; each lane computes one state element."""

# ruff: noqa: ANN001, ANN202 - the arguments of kernels have Triton's types

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def _forward(gates, old_cell, new_h, new_cell, saved, n, state, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    there = at < n
    row, column = at // state, at % state
    gate = row * 3 * state + column
    i = tl.sigmoid(tl.load(gates + gate, mask=there))
    o = tl.sigmoid(tl.load(gates + gate + state, mask=there))
    z = tl.load(gates + gate + 2 * state, mask=there)
    c = tl.where(z > 0, z, tl.exp(tl.minimum(z, 0.0)) - 1)
    cell = tl.load(old_cell + at, mask=there) + c * i
    t = _tanh(cell)
    tl.store(new_cell + at, cell, mask=there)
    tl.store(new_h + at, t * o, mask=there)
    kept = row * 4 * state + column
    tl.store(saved + kept, i, mask=there)
    tl.store(saved + kept + state, o, mask=there)
    tl.store(saved + kept + 2 * state, c, mask=there)
    tl.store(saved + kept + 3 * state, t, mask=there)


@triton.jit
def _backward(grad_h, grad_cell, saved, grad_gates, grad_old_cell, n, state, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    there = at < n
    row, column = at // state, at % state
    kept = row * 4 * state + column
    i = tl.load(saved + kept, mask=there)
    o = tl.load(saved + kept + state, mask=there)
    c = tl.load(saved + kept + 2 * state, mask=there)
    t = tl.load(saved + kept + 3 * state, mask=there)
    g = tl.load(grad_h + at, mask=there)
    d = tl.load(grad_cell + at, mask=there) + g * o * (1 - t * t)
    gate = row * 3 * state + column
    tl.store(grad_gates + gate, d * c * i * (1 - i), mask=there)
    tl.store(grad_gates + gate + state, g * t * o * (1 - o), mask=there)
    tl.store(grad_gates + gate + 2 * state, d * i * tl.where(c > 0, 1.0, c + 1), mask=there)
    tl.store(grad_old_cell + at, d, mask=there)


class _Cell(torch.autograd.Function):
    """The pointwise part: gates (batch, 3 * state), old_cell (batch, state) -> new_h, new_cell."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, old_cell: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the results, and save the gates' values and tanh of the new cell."""
        (batch, state), n = old_cell.shape, old_cell.numel()
        new_h, new_cell = torch.empty_like(old_cell), torch.empty_like(old_cell)
        saved = gates.new_empty(batch, 4, state)
        _forward[(triton.cdiv(n, 128),)](gates, old_cell, new_h, new_cell, saved, n, state, block=128)
        ctx.save_for_backward(saved)
        return new_h, new_cell

    @staticmethod
    def backward(ctx: Any, grad_h: Tensor, grad_cell: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of gates and old_cell."""
        (saved,) = ctx.saved_tensors
        (batch, state), n = grad_h.shape, grad_h.numel()
        grad_h, grad_cell = grad_h.contiguous(), grad_cell.contiguous()
        grad_gates, grad_old_cell = saved.new_empty(batch, 3 * state), torch.empty_like(grad_h)
        _backward[(triton.cdiv(n, 128),)](grad_h, grad_cell, saved, grad_gates, grad_old_cell, n, state, block=128)
        return grad_gates, grad_old_cell


def lltm_triton(x: Tensor, weights: Tensor, bias: Tensor, old_h: Tensor, old_cell: Tensor) -> tuple[Tensor, Tensor]:
    """Compute one step of LLTM, as in the other forms."""
    gates = torch.addmm(bias, torch.cat([old_h, x], dim=1), weights.t())
    new_h, new_cell = _Cell.apply(gates, old_cell)
    return new_h, new_cell
