"""How much memory the process has taken from its allocator."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import torch


class _Mallinfo(ctypes.Structure):
    """glibc's `struct mallinfo2` (malloc.h): ten numbers of type size_t."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    )]  # fmt: skip


def in_use(device: str = "cpu") -> int | None:
    """Bytes that were asked for and not given back, of the main thread's memory and the device's.

    None where there is no glibc 2.33.
    """
    if (function := _mallinfo()) is None:
        return None
    info = function()
    return int(info.uordblks + info.hblkhd) + _allocated(device)


def _allocated(device: str) -> int:
    """What PyTorch's allocator for the device has given away; 0 where it doesn't tell."""
    told = None if device == "cpu" else getattr(torch.get_device_module(device), "memory_allocated", None)
    return int(told(device)) if told else 0


@functools.cache
def _mallinfo() -> Callable[[], _Mallinfo] | None:
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if function is not None:
        function.restype, function.argtypes = _Mallinfo, []
    return function
