"""Emulated libraries of CUDA: sources whose exported functions call them, by ctypes, on the memory of tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from opwright.codegen.backends import CudaText
from opwright.cuda.emulation import Emulate
from opwright.toolchain import Options, line_directive

HEAD = '#define EXPORT extern "C" __attribute__((visibility("default")))\n'
CLEARED = "EXPORT void cleared() { cudaGetLastError(); }\n"
Given = torch.Tensor | int | float | None


class Library:
    """Exported functions, which return a status: tensors are given by their memory, numbers as int64 and double."""

    def __init__(self, path: Path) -> None:
        """Build a source."""
        whole = CudaText(path.stem, f"{HEAD}{line_directive(path)}\n{path.read_text()}{CLEARED}", path)
        self._library = ctypes.CDLL(str(Emulate().build(whole, Options())))

    def __call__(self, name: str, *given: Given) -> int:
        """Call a function; return its status. The last error is forgotten: it is the process's."""
        status = int(getattr(self._library, name)(*map(_converted, given)))
        self._library.cleared()
        return status

    def right(self, name: str, *given: Given) -> None:
        """Call a function that has to succeed."""
        assert self(name, *given) == 0, name


def _converted(value: Given) -> object:
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    if value is None:
        return ctypes.c_void_p(None)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)


@pytest.fixture(scope="module")
def built() -> Callable[[str], Library]:
    """Builds a source of the folder functions by its name."""
    return lambda name: Library(Path(__file__).parent / "functions" / f"{name}.cu")


def by_columns(matrix: torch.Tensor, ld: int = 0) -> torch.Tensor:
    """The memory of a matrix, or a batch, that is stored by columns, `ld` apart; NaN is between them."""
    rows, columns = matrix.shape[-2:]
    memory = matrix.new_full((*matrix.shape[:-2], columns, ld or rows), float("nan"))
    memory[..., :rows] = matrix.mT
    return memory


def from_columns(memory: torch.Tensor, rows: int) -> torch.Tensor:
    """The matrix in such memory."""
    return memory[..., :rows].mT
