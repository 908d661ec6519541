"""THC's functions on the CPU's memory: the library's own switch has the same code work there."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator
from typing import Any

from opwright.legacy.th_library import load_library
from tests.legacy.headers import declarations
from tests.legacy.th import TH

_FUNCTION = re.compile(r"extern\s+[^;{(]*?\b(\w+)\s*\([^;]*?\)\s*;")
_TYPED = re.compile(r"TH(Double|Float|Half|Long|Int|Short|Char|Byte)((?:Tensor|Storage)_\w+)")
_OF_CUDA = re.compile(
    r"THCuda(Half|Long|Int|Byte)?(Tensor|Storage)_\w+|THCuda(Blas_|Malloc|Allocate_|Free)\w*|THCRandom_\w+"
)


@contextlib.contextmanager
def on_the_cpu() -> Iterator[None]:
    """While it lasts, THC's memory is the CPU's, and a CPU tensor passes for one of CUDA's."""
    switch = load_library().functions.opw_thc_use_cpu
    switch(1)
    try:
        yield
    finally:
        switch(0)


def cuda_name(name: str) -> str:
    """THC's name for a function of TH's: ``THFloatTensor_add`` is ``THCudaTensor_add``."""
    typed = _TYPED.fullmatch(name)
    return f"THCuda{'' if typed[1] == 'Float' else typed[1]}{typed[2]}" if typed else name


class THC(TH):
    """The library's functions by TH's names; where CUDA has the function, that is what runs."""

    def __init__(self) -> None:
        super().__init__(_FUNCTION.sub(_wanted, declarations("THC/THC.h")))

    def call(self, name: str, *arguments: Any) -> Any:
        """Call THC's function of this name; what it returns, or THError."""
        cuda = cuda_name(name)
        if not cuda.startswith("THC"):
            return super().call(name, *arguments)
        return super().call(cuda, None, *arguments)  # nobody looks at the state


def _wanted(function: re.Match[str]) -> str:
    """cffi takes long to read: four element types are enough for code that is the same for all."""
    name, text = function[1], function[0].replace("cudaError_t ", "int ")
    return text if _OF_CUDA.fullmatch(name) or name.startswith("THFloatTensor_copy") else ""


@functools.cache
def thc() -> THC:
    """The library, loaded once."""
    return THC()
