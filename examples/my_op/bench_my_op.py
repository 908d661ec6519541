"""my_op against the same expression in PyTorch; the median of each form."""

from __future__ import annotations

from collections.abc import Callable

import torch
from my_op import my_op
from torch import Tensor
from torch.utils.benchmark import Compare, Measurement, Timer


def python(x: Tensor, y: Tensor) -> Tensor:
    """Compute the same with two PyTorch operators."""
    return 3 * x - y


def measure(step: Callable[[Tensor, Tensor], Tensor], size: int) -> Measurement:
    """Time forward and backward of `step` on `size` elements."""
    x, y = torch.randn(size, requires_grad=True), torch.randn(size, requires_grad=True)
    timer = Timer(
        "torch.autograd.grad(step(x, y), (x, y), g)",
        globals={"torch": torch, "step": step, "x": x, "y": y, "g": torch.ones(size)},
        label="my_op, forward and backward",
        sub_label=f"{size} elements",
        description=step.__name__,
        num_threads=torch.get_num_threads(),
    )
    return timer.blocked_autorange(min_run_time=0.5)


if __name__ == "__main__":
    Compare([measure(step, size) for size in (4, 1_000, 1_000_000) for step in (python, my_op)]).print()
