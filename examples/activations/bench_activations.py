"""Activations with derived gradients against PyTorch's own; the median of each form."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from activations import gelu, hard_swish, mish, softplus
from torch import Tensor
from torch.utils.benchmark import Compare, Measurement, Timer

FORMS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "mish": (F.mish, mish),
    "hard_swish": (F.hardswish, hard_swish),
    "gelu": (F.gelu, gelu),
    "softplus": (F.softplus, softplus),
}


def measure(name: str, label: str, step: Callable[[Tensor], Tensor], size: int) -> Measurement:
    """Time forward and backward of `step` on `size` elements."""
    timer = Timer(
        "torch.autograd.grad(step(x), x, g)",
        globals={"torch": torch, "step": step, "x": torch.randn(size, requires_grad=True), "g": torch.ones(size)},
        label="forward and backward",
        sub_label=f"{label}, {size} elements",
        description=name,
        num_threads=torch.get_num_threads(),
    )
    return timer.blocked_autorange(min_run_time=0.3)


if __name__ == "__main__":
    rows = [
        measure(name, label, step, size)
        for label, pair in FORMS.items()
        for size in (1_000, 1_000_000)
        for name, step in zip(("PyTorch", "ours"), pair, strict=True)
    ]
    Compare(rows).print()
