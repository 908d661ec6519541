"""Is it fast? Against PyTorch's operators, and those compiled: `make bench`."""

from __future__ import annotations

import opwright

from my_op.ops import my_op

EAGER = "x * torch.sigmoid(beta * x)"

if __name__ == "__main__":
    report = opwright.bench(
        my_op,
        against={"PyTorch": EAGER, "torch.compile": f"compile:{EAGER}"},
        axes={"...": (1_000, 1_000_000)},
        phases=("forward", "both"),
    )
    print(report)
