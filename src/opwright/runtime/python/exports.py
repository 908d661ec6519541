"""C functions that PyTorch's own library exports."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import torch


@functools.cache
def torch_library() -> ctypes.CDLL:
    """PyTorch's own library, which is loaded already."""
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))


def exported(name: str, result: Any, *arguments: Any) -> Any | None:
    """A C function of PyTorch's; None where this build doesn't export it."""
    function = getattr(torch_library(), name, None)
    if function is not None:
        function.restype, function.argtypes = result, arguments
    return function
