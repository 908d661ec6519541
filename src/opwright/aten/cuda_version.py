"""Does the CUDA toolkit fit the CUDA that PyTorch was built with?"""

from __future__ import annotations

import re

from opwright.aten.installed import Torch
from opwright.errors import ToolchainError
from opwright.toolchain import Compiler

__all__ = ["against_pytorch"]


def against_pytorch(nvcc: Compiler, torch: Torch) -> str:
    """What a person should know of a toolkit whose minor version isn't PyTorch's; empty where there is nothing.

    A PyTorch without CUDA has nothing to compare with: what it lacks is said where it is missed.

    Raises:
        ToolchainError: it is another major version: the two CUDA runtimes in one process don't know of each other.
    """
    theirs = tuple(int(part) for part in re.findall(r"\d+", torch.cuda or "")[:2])
    if not theirs or theirs == nvcc.version[:2]:
        return ""
    ours = ".".join(map(str, nvcc.version[:2]))
    if theirs[0] != nvcc.version[0]:
        raise ToolchainError(
            f"{nvcc.path} is CUDA {ours}'s, but PyTorch {torch.version} in {torch.root} was built with CUDA "
            f"{torch.cuda}: an extension can't mix them\n"
            f"  likely fix: set CUDA_HOME to a toolkit {torch.cuda} (or another {theirs[0]}.x), or install a PyTorch "
            f"for CUDA {nvcc.version[0]} (pytorch.org says how)"
        )
    return f"CUDA {ours} ({nvcc.path}), PyTorch has {torch.cuda}: minor versions fit each other"
