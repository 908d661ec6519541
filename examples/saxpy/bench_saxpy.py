"""saxpy.c, in place, against PyTorch's own add_; the median of each form."""

from __future__ import annotations

from collections.abc import Callable

import torch
from saxpy import ops
from torch import Tensor
from torch.utils.benchmark import Compare, Measurement, Timer


def python(alpha: float, x: Tensor, y: Tensor) -> None:
    """Call PyTorch's own operator."""
    y.add_(x, alpha=alpha)


def measure(name: str, step: Callable[[float, Tensor, Tensor], None], size: int) -> Measurement:
    """Time one call of `step` on `size` elements."""
    timer = Timer(
        "step(0.5, x, y)",
        globals={"step": step, "x": torch.randn(size), "y": torch.zeros(size)},
        label="y += alpha x, in place",
        sub_label=f"{size} elements",
        description=name,
        num_threads=1,  # a plain C loop runs on one
    )
    return timer.blocked_autorange(min_run_time=0.5)


if __name__ == "__main__":
    forms = {"add_": python, "saxpy.c": ops.saxpy}
    Compare([measure(name, step, size) for size in (4, 1_000, 1_000_000) for name, step in forms.items()]).print()
