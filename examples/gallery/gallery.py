"""Loads the gallery's kernels: ``load("segment").segment_sum``."""

from __future__ import annotations

from pathlib import Path

import opwright
from opwright.codegen.backends import Backend

SOURCES = {path.stem: path for path in sorted(Path(__file__).parent.glob("*/*.cpp"))}
"""Each kernel's C++ source; the CUDA source, where there is one, lies beside it. Pointwise operators need none."""


def sources(name: str) -> list[Path]:
    """Return the sources of a kernel, C++ first."""
    cuda = SOURCES[name].with_suffix(".cu")
    return [SOURCES[name], *([cuda] if cuda.exists() else [])]


def load(name: str, backend: str | Backend | None = None) -> opwright.Operators:
    """Load a kernel for CPU and GPU; it is compiled when it is first called.

    Args:
        name: its file's name, without the ending.
        backend: ``"emulate"`` runs the CUDA kernel on CPU tensors.
    """
    return opwright.load(*sources(name), backend=backend)
