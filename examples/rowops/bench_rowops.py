"""Softmax and layer norm against PyTorch's; medians. Without a GPU, ours is emulated, so times mean little."""

from __future__ import annotations

from collections.abc import Callable

import torch
from rowops import layer_norm, softmax
from torch import Tensor, nn
from torch.utils.benchmark import Compare, Measurement, Timer

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROWS = (100, 10_000) if DEVICE == "cuda" else (10, 100)
COLUMNS = 1024
WEIGHT, BIAS = torch.ones(COLUMNS, device=DEVICE), torch.zeros(COLUMNS, device=DEVICE)
FORMS: dict[str, dict[str, Callable[[Tensor], Tensor]]] = {
    "softmax": {"PyTorch": lambda x: torch.softmax(x, -1), "ours": softmax},
    "layer norm": {
        "PyTorch": lambda x: nn.functional.layer_norm(x, (COLUMNS,), WEIGHT, BIAS),
        "ours": lambda x: layer_norm(x, WEIGHT, BIAS),
    },
}


def measure(what: str, name: str, rows: int) -> Measurement:
    """Time forward and backward on `rows` rows."""
    x = torch.randn(rows, COLUMNS, device=DEVICE, requires_grad=True)
    timer = Timer(
        "torch.autograd.grad(step(x), x, g)",
        globals={"torch": torch, "step": FORMS[what][name], "x": x, "g": torch.ones_like(x)},
        label=f"rows of {COLUMNS}, forward and backward, {'on CUDA' if DEVICE == 'cuda' else 'ours emulated'}",
        sub_label=f"{what}, {rows} rows",
        description=name,
        num_threads=torch.get_num_threads(),
    )
    return timer.blocked_autorange(min_run_time=0.5)


if __name__ == "__main__":
    Compare([measure(what, name, rows) for what, forms in FORMS.items() for rows in ROWS for name in forms]).print()
