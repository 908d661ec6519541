"""The tiled product against torch.matmul; medians. Without a GPU, ours is emulated, so times mean little."""

from __future__ import annotations

from collections.abc import Callable

import torch
from matmul_tiled import matmul
from torch import Tensor
from torch.utils.benchmark import Compare, Measurement, Timer

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIDES = (100, 1024, 4096) if DEVICE == "cuda" else (16, 100)
FORMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"torch.matmul": torch.matmul, "ours": matmul}


def measure(name: str, side: int) -> Measurement:
    """Time forward and backward for two square matrices."""
    a, b = (torch.randn(side, side, device=DEVICE, requires_grad=True) for _ in range(2))
    timer = Timer(
        "torch.autograd.grad(step(a, b), (a, b), g)",
        globals={"torch": torch, "step": FORMS[name], "a": a, "b": b, "g": torch.ones_like(a)},
        label=f"square products, forward and backward, {'on CUDA' if DEVICE == 'cuda' else 'ours emulated'}",
        sub_label=f"{side}",
        description=name,
        num_threads=torch.get_num_threads(),
    )
    return timer.blocked_autorange(min_run_time=0.5)


if __name__ == "__main__":
    Compare([measure(name, side) for side in SIDES for name in FORMS]).print()
