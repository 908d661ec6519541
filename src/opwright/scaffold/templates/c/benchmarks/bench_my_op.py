"""Is it fast? Against PyTorch's operators, column by column: `make bench`."""

from __future__ import annotations

import opwright
import torch
from torch import Tensor

from my_op.ops import my_op


def eager(x: Tensor, alpha: float) -> Tensor:
    """What one writes without a kernel."""
    columns = [x[:, 0]]
    for column in x.unbind(1)[1:]:
        columns.append(torch.lerp(columns[-1], column, alpha))
    return torch.stack(columns, 1)


if __name__ == "__main__":
    report = opwright.bench(
        my_op,
        against={"PyTorch": eager},
        axes={"B": 64, "N": (16, 256), "alpha": 0.1},
        phases=("forward", "both"),
    )
    print(report)
