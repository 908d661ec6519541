"""Calls while the interpreter ends."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable

import torch


def keep_to_the_end(tensors: Iterable[torch.Tensor | None]) -> None:
    """Keep what a kernel in Python returns, if the interpreter is ending.

    PyTorch no longer tells Python by then that C++ has the tensor too, and aborts when its object dies.
    """
    if sys.is_finalizing():
        for tensor in tensors:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(tensor))
