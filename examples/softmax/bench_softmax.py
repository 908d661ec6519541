"""Our softmax against PyTorch's own; the median of each form."""

from __future__ import annotations

from collections.abc import Callable

import torch
from softmax import softmax
from torch import Tensor
from torch.utils.benchmark import Compare, Measurement, Timer


def python(x: Tensor) -> Tensor:
    """Call PyTorch's own operator."""
    return torch.softmax(x, -1)


def measure(name: str, step: Callable[[Tensor], Tensor], rows: int, columns: int = 64) -> Measurement:
    """Time forward and backward of `step` on `rows` rows."""
    x, g = torch.randn(rows, columns, requires_grad=True), torch.ones(rows, columns)
    timer = Timer(
        "torch.autograd.grad(step(x), x, g)",
        globals={"torch": torch, "step": step, "x": x, "g": g},
        label=f"softmax of rows of {columns}, forward and backward",
        sub_label=f"{rows} rows",
        description=name,
        num_threads=torch.get_num_threads(),
    )
    return timer.blocked_autorange(min_run_time=0.5)


if __name__ == "__main__":
    forms = {"torch.softmax": python, "ours": softmax}
    Compare([measure(name, step, rows) for rows in (4, 100, 10_000) for name, step in forms.items()]).print()
