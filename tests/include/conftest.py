"""Programs that are compiled against the author's header alone, without the runtime or torch."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.toolchain.compilers.flags import header_dir

Compile = Callable[..., ctypes.CDLL]
_FLAGS = (
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-shared",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-ffp-contract=off",
    "-fno-gnu-unique",
)


def _compiler(folder: Path) -> Compile:
    count = itertools.count()

    def run(text: str, *flags: str) -> ctypes.CDLL:
        number = next(count)
        source, library = folder / f"{number}.cpp", folder / f"{number}.so"
        source.write_text(text)
        command = ["c++", *_FLAGS, *flags, f"-I{header_dir()}", str(source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(library))

    return run


@pytest.fixture
def compile_text(tmp_path: Path) -> Compile:
    """Compile text, warnings being errors, and open the library: ``compile_text(text, "-march=native")``."""
    return _compiler(tmp_path)


@pytest.fixture(scope="module")
def compile_once(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """The same for libraries that a module's tests share."""
    return _compiler(tmp_path_factory.mktemp("compiled"))
