"""Rounding with a straight-through gradient against the usual form in Python; the median of each form."""

from __future__ import annotations

from collections.abc import Callable

import torch
from round import straight_round
from torch import Tensor
from torch.utils.benchmark import Compare, Measurement, Timer

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def python(x: Tensor) -> Tensor:
    """Compute the same with PyTorch operators."""
    return x + ((x >= 0.5).to(x.dtype) - x).detach()


def measure(name: str, step: Callable[[Tensor], Tensor], size: int) -> Measurement:
    """Time forward and backward of `step` on `size` elements."""
    x = torch.rand(size, device=DEVICE, requires_grad=True)
    timer = Timer(
        "torch.autograd.grad(step(x), x, g)",
        globals={"torch": torch, "step": step, "x": x, "g": torch.ones_like(x)},
        label=f"straight-through round, forward and backward, {DEVICE}",
        sub_label=f"{size} elements",
        description=name,
        num_threads=torch.get_num_threads(),
    )
    return timer.blocked_autorange(min_run_time=0.5)


if __name__ == "__main__":
    forms = {"in Python": python, "ours": straight_round}
    Compare([measure(name, step, size) for size in (4, 1_000, 1_000_000) for name, step in forms.items()]).print()
