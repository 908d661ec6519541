"""CUDA programs of ours, emulated, called through ctypes on NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opwright.codegen.backends import CudaText
from opwright.cuda.emulation import Emulate
from opwright.cuda.emulation.loops import compiling
from opwright.cuda.emulation.runtime import order, workers
from opwright.toolchain import Options

KERNELS = Path(__file__).parent / "kernels"
ORDERS = [("forward", 0), ("reverse", 0), ("random", 1), ("random", 2)]


class Program:
    """A library of host functions that give null, or the text of what went wrong."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def error(self, name: str, *arguments: Any) -> str:
        """What the function `name` says went wrong; ``""`` for nothing."""
        function = getattr(self._library, name)
        function.restype = ctypes.c_char_p
        passed = [a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else a for a in arguments]
        return (function(*passed) or b"").decode()

    def __call__(self, name: str, *arguments: Any) -> None:
        """Call the function `name`, which succeeds."""
        assert self.error(name, *arguments) == ""


@cache
def _built(name: str) -> Program:
    path = KERNELS / f"{name}.cu"
    text = CudaText(name, f'#line 1 "{path}"\n{path.read_text("utf-8")}', path)
    options = Options(include_dirs=(str(KERNELS),))
    with pytest.MonkeyPatch.context() as patch:  # loops that don't compile are an error here
        patch.setattr(compiling, "_with_less", lambda unit: unit)
        return Program(Emulate().build(text, options))


@pytest.fixture
def program() -> Callable[[str], Program]:
    """The program in ``kernels/<name>.cu``, built once."""
    return _built


@pytest.fixture(params=ORDERS, ids=lambda p: f"{p[0]}{p[1]}")
def any_order(request: pytest.FixtureRequest) -> Iterator[None]:
    """The test runs in every order, its blocks shared by two workers."""
    with order(*request.param), workers(2):
        yield
