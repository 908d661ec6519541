"""Emulated libraries of plain CUDA text, called through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.codegen.backends import CudaText
from opwright.cuda.emulation import Emulate
from opwright.toolchain import Options, line_directive

Build = Callable[[str], ctypes.CDLL]
HEAD = '#define EXPORT extern "C" __attribute__((visibility("default")))\n'


def build_at(path: Path, text: str) -> ctypes.CDLL:
    """The library of `text`, which stands in the file `path`."""
    path.write_text(text)
    whole = CudaText(path.stem, f"{HEAD}{line_directive(path)}\n{text}", path)
    return ctypes.CDLL(str(Emulate().build(whole, Options())))


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Builds a text that stands in ``k.cu``."""
    return lambda text: build_at(tmp_path / "k.cu", text)
