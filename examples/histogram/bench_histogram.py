"""A histogram against torch.histc; medians. Without a GPU, ours is emulated, so times mean little."""

from __future__ import annotations

from collections.abc import Callable

import torch
from histogram import histogram
from torch import Tensor
from torch.utils.benchmark import Compare, Measurement, Timer

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIZES = (10_000, 10_000_000) if DEVICE == "cuda" else (1_000, 10_000)
FORMS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "torch.histc": lambda x, bins: torch.histc(x, bins, -4.0, 4.0),
    "ours": lambda x, bins: histogram(x, bins, -4.0, 4.0),
}


def measure(name: str, size: int, bins: int) -> Measurement:
    """Time the histogram of `size` elements with `bins` bins."""
    timer = Timer(
        "step(x, bins)",
        globals={"step": FORMS[name], "x": torch.randn(size, device=DEVICE), "bins": bins},
        label=f"histogram, {'on CUDA' if DEVICE == 'cuda' else 'ours emulated'}",
        sub_label=f"{size} elements, {bins} bins",
        description=name,
        num_threads=torch.get_num_threads(),
    )
    return timer.blocked_autorange(min_run_time=0.5)


if __name__ == "__main__":
    Compare([measure(name, size, bins) for size in SIZES for bins in (1, 256, 10_000) for name in FORMS]).print()
