"""gather_rows against PyTorch's embedding; the median of each form."""

from __future__ import annotations

from collections.abc import Callable

import torch
from gather import gather_rows
from torch import Tensor
from torch.nn.functional import embedding
from torch.utils.benchmark import Compare, Measurement, Timer


def python(x: Tensor, idx: Tensor) -> Tensor:
    """Call PyTorch's own operator."""
    return embedding(idx, x)


def measure(name: str, step: Callable[[Tensor, Tensor], Tensor], count: int, columns: int = 64) -> Measurement:
    """Time forward and backward of `step`: `count` rows, drawn with repetition from as many rows."""
    timer = Timer(
        "torch.autograd.grad(step(x, idx), x, g)",
        globals={
            "torch": torch,
            "step": step,
            "x": torch.randn(count, columns, requires_grad=True),
            "idx": torch.randint(count, (count,)),
            "g": torch.ones(count, columns),
        },
        label=f"rows of {columns}, forward and backward",
        sub_label=f"{count} rows",
        description=name,
        num_threads=torch.get_num_threads(),
    )
    return timer.blocked_autorange(min_run_time=0.5)


if __name__ == "__main__":
    forms = {"torch embedding": python, "ours": gather_rows}
    Compare([measure(name, step, count) for count in (4, 100, 10_000) for name, step in forms.items()]).print()
