"""What makes a kernel library of CUDA text: nvcc, NVRTC, or emulation on the CPU.

This part knows only what a back end is. Those that there are add themselves from above (`opwright.cuda`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from opwright.errors import ToolchainError
from opwright.toolchain import Options


@dataclass(frozen=True)
class CudaText:
    """What a back end builds: one text, host and device code together.

    Attributes:
        name: the library's name, the source's stem.
        text: all of it, CUDA C++: ``opwright.h``, the author's text with its ``#line``, entries and table.
        source: the author's file, for messages; what it includes with quotes is found beside it.
    """

    name: str
    text: str
    source: Path


class Backend(Protocol):
    """Hashable; equal back ends build equal libraries."""

    @property
    def name(self) -> str:
        """``"nvcc"``, ``"nvrtc"`` or ``"emulate"``."""

    @property
    def device(self) -> str:
        """Whose tensors its kernels take, as tables say it: ``"cuda"``; ``"cpu"`` for emulation."""

    @property
    def suffix(self) -> str:
        """What is added to the namespace of its operators: ``""``, ``"_emulated"``, ``"_emulated_checked"``."""

    def missing(self) -> str:
        """Why it can't be used here, and what helps; nothing where it can."""

    def build(self, text: CudaText, options: Options, *, rebuild: bool = False) -> Path:
        """The library of `text`: from the cache, or built; `rebuild`: built in any case, under a new name.

        Raises:
            CompileError: the text was refused.
            ToolchainError: something that it needs is missing.
        """


finders: list[Callable[[str | None], Backend]] = []
"""Who finds a back end by its name, or the best one there is. What lies above adds itself here."""


def find_backend(asked: str | Backend | None = None) -> Backend:
    """The back end that is asked for by name; one as it is; or, for None, the best one that can be used here.

    Raises:
        ToolchainError: there is none of that name, or it can't be used; for None: there is none.
        TypeError: `asked` is something else.
    """
    if asked is not None and not isinstance(asked, str):
        if isinstance(asked, type) or not all(hasattr(asked, name) for name in ("name", "device", "suffix", "build")):
            raise TypeError(
                f"backend={asked!r}, expected 'nvcc', 'nvrtc', 'emulate' or a back end, as opwright.emulate(check=True)"
            )
        return asked
    if not finders:
        raise ToolchainError("CUDA sources are built by opwright.cuda, which isn't imported: import opwright.cuda")
    return finders[0](asked)
