"""What takes time before a kernel runs, as ranges in PyTorch's profiler.

Operators themselves are there anyhow, by their qualified names, forward and backward: the dispatcher records them.
"""

from __future__ import annotations

import contextlib

import torch


def profiled(name: str) -> contextlib.AbstractContextManager[object]:
    """A range called `name`, where somebody profiles.

    Not `torch.profiler.record_function`, which is an operator: modes and transforms that are active would see it.
    """
    fast = getattr(torch._C._profiler, "_RecordFunctionFast", None)  # noqa: SLF001 - PyTorch's compilers use it so
    made: contextlib.AbstractContextManager[object] = fast(name) if fast else contextlib.nullcontext()
    return made
