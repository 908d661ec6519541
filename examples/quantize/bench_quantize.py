"""Rounding with a straight-through gradient against the usual form in Python; the median of each form."""

from __future__ import annotations

from collections.abc import Callable

import torch
from quantize import round_through
from torch import Tensor
from torch.utils.benchmark import Compare, Measurement, Timer


def python(x: Tensor) -> Tensor:
    """Compute the same with three PyTorch operators."""
    return x + (torch.round(x) - x).detach()


def measure(name: str, step: Callable[[Tensor], Tensor], size: int) -> Measurement:
    """Time forward and backward of `step` on `size` elements."""
    timer = Timer(
        "torch.autograd.grad(step(x), x, g)",
        globals={"torch": torch, "step": step, "x": torch.randn(size, requires_grad=True), "g": torch.ones(size)},
        label="straight-through round, forward and backward",
        sub_label=f"{size} elements",
        description=name,
        num_threads=torch.get_num_threads(),
    )
    return timer.blocked_autorange(min_run_time=0.5)


if __name__ == "__main__":
    forms = {"in Python": python, "ours": round_through}
    Compare([measure(name, step, size) for size in (4, 1_000, 1_000_000) for name, step in forms.items()]).print()
