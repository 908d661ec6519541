"""The interface of back ends, which build kernel libraries from CUDA source: nvcc, NVRTC, or emulation on the CPU.

The back ends themselves are in `opwright.cuda`, which depends on this package; they are passed in as arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from opwright.errors import ToolchainError
from opwright.sources import Kernel
from opwright.toolchain import Options


@dataclass(frozen=True)
class CudaText:
    """The input of a back end: CUDA C++ source with host and device code.

    Attributes:
        name: the library's name, the source's stem.
        text: the complete source: ``opwright.h``, the author's source with its ``#line``, entries and table.
        source: the author's file, for messages; its quoted includes are searched for beside it.
        kernels: the kernels in it, for messages.
    """

    name: str
    text: str
    source: Path
    kernels: tuple[Kernel, ...] = ()


class Backend(Protocol):
    """A back end. Back ends are hashable, and equal ones build equal libraries."""

    @property
    def name(self) -> str:
        """``"nvcc"``, ``"nvrtc"`` or ``"emulate"``."""

    @property
    def device(self) -> str:
        """The device of its kernels' tensors, as in tables: ``"cuda"``; ``"cpu"`` for emulation."""

    @property
    def suffix(self) -> str:
        """The suffix of its operators' namespace: ``""``, ``"_emulated"``, ``"_emulated_checked"``."""

    def missing(self) -> str:
        """Return why the back end can't be used on this machine, and a fix; an empty string if it can be used."""

    def build(self, text: CudaText, options: Options, *, rebuild: bool = False) -> Path:
        """Return the library of `text`, from the cache or newly built.

        `rebuild`: build it even if it is in the cache, under a new name.

        Raises:
            CompileError: the compiler reported errors.
            ToolchainError: a tool that the back end needs is missing.
        """

    def look_up(self, text: CudaText, options: Options) -> Path | None:
        """Return the library of `text` if it is in the cache, else None.

        Raises:
            UnsupportedError, ToolchainError: as for `build`.
        """


FindBackend = Callable[[], Backend]


def no_backend() -> Backend:
    """Raise ToolchainError; used as `find_backend` of sources that were read without a back end.

    Raises:
        ToolchainError: always.
    """
    raise ToolchainError("CUDA sources are built by opwright.cuda: load them with opwright.load")
