"""Is it fast? Against PyTorch's operators: `make bench`. Without a GPU this times the emulator, which tells nothing."""

from __future__ import annotations

from pathlib import Path

import opwright
import torch

SOURCE = Path(__file__).parents[1] / "csrc" / "my_op.cu"

if __name__ == "__main__":
    gpu = torch.cuda.is_available()
    if not gpu:
        print("There is no GPU: what follows are times of the emulated kernels, on the CPU.")
    report = opwright.bench(
        f"{SOURCE}:my_op",
        against={"PyTorch": "torch.where(x > 0, x, x * slope[:, None, None])"},
        axes={"N": 2, "C": 16, "H": (8, 32), "W": 32} if not gpu else {"N": 16, "C": 64, "H": (32, 128), "W": 128},
        devices=("cuda" if gpu else "emulated",),
        phases=("forward", "both"),
    )
    print(report)
