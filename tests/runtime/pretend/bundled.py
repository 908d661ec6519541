"""A bundle with kernels for GPUs, called on a device that pretends to be one."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

from conftest import begin  # type: ignore[attr-defined]


def opened() -> int:
    """How many libraries are loaded from files that have no name."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return len({line.split(maxsplit=5)[-1] for line in maps if "opwright-bundle" in line})


def main() -> None:
    """Print what calls came to."""
    pretended = begin()
    torch.ops.load_library(sys.argv[1])
    ops: Any = torch.ops.pretended_bundle
    before = opened()
    x = torch.arange(3.0)
    there = x.to("pretended:1").requires_grad_()
    y = ops.twice(there)
    y.sum().backward()
    with pretended.stream(0, 7):
        stream = ops.current(x.to("pretended:0")).item()
    try:
        ops.twice(x.double().to("pretended:0"))
    except RuntimeError as error:
        refused = str(error)
    assert there.grad is not None
    said = [ops.twice(x).tolist(), [str(y.device), y.tolist()], [str(there.grad.device), there.grad.tolist()]]
    sys.stdout.write(json.dumps([*said, stream, refused, [before, opened()]]) + "\n")
    sys.stdout.flush()
    os._exit(0)  # autograd has a thread for each pretended device, which at times ends the process by std::terminate


if __name__ == "__main__":
    main()
