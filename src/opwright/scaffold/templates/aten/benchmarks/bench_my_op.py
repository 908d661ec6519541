"""Is it fast? Against PyTorch's own form of it, and that form compiled: `make bench`."""

from __future__ import annotations

import opwright

from my_op.layer import op

EAGER = "torch.nn.functional.glu(x @ weight.t())"

if __name__ == "__main__":
    report = opwright.bench(
        op,
        against={"PyTorch": EAGER, "torch.compile": f"compile:{EAGER}"},
        axes={"N": (16, 256), "K": 128, "M": 128},
        phases=("forward", "both"),
    )
    print(report)
