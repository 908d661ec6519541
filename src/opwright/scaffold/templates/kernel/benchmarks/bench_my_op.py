"""Is it fast? Against PyTorch's own form of it, and that form compiled: `make bench`."""

from __future__ import annotations

import opwright

from my_op.ops import my_op

EAGER = "torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, eps)"

if __name__ == "__main__":
    report = opwright.bench(
        my_op,
        against={"PyTorch": EAGER, "torch.compile": f"compile:{EAGER}"},
        axes={"...": (16, 4096), "C": 512},
        phases=("forward", "both"),
    )
    print(report)
