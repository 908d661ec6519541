"""Where a CUDA toolkit is, and what it says of itself."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
from typing import NamedTuple

from opwright.doctor.asking import ask
from opwright.toolchain.host_compiler import newest_compilers

_SECONDS = 8.0
_USUAL = "/usr/local/cuda"


class Toolkit(NamedTuple):
    """A toolkit, or what should be one.

    Attributes:
        home: its folder.
        origin: why it is looked for there: a variable, the ``PATH``, the usual place.
        nvcc: its compiler, if that is there.
        version: such as ``13.0``; empty where nvcc doesn't say it.
        problem: why it can't be used; else empty.
        real_home: where nvcc says that it lies itself, where that is somewhere else.
        gpus: what nvcc compiles for, such as ``75`` or ``90a``.
        newest_gcc: the newest gcc that its headers accept; 0: they don't say.
        newest_clang: the same for clang.
    """

    home: str
    origin: str
    nvcc: str = ""
    version: str = ""
    problem: str = ""
    real_home: str = ""
    gpus: tuple[str, ...] = ()
    newest_gcc: int = 0
    newest_clang: int = 0


def find_toolkit() -> Toolkit | None:
    """The toolkit that PyTorch's builder takes, too: by a variable, by nvcc on the PATH, or in the usual place."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            return _describe(home, f"{variable}={home}")
    if path := shutil.which("nvcc"):
        return _describe(os.path.dirname(os.path.dirname(path)), "nvcc on the PATH", path)
    return _describe(_USUAL, "the usual place") if os.path.exists(_USUAL) else None


def wheels() -> list[str]:
    """The nvcc programs that pip has installed."""
    patterns = (os.path.join(path or ".", "nvidia", "*", "bin", "nvcc") for path in sys.path)
    return list(dict.fromkeys(path for pattern in patterns for path in sorted(glob.glob(pattern))))


def _describe(home: str, origin: str, nvcc: str = "") -> Toolkit:
    if not os.path.isdir(home):
        return Toolkit(home, origin, problem=f"there is no folder {home}")
    nvcc = nvcc or os.path.join(home, "bin", "nvcc")
    if not os.access(nvcc, os.X_OK):
        return Toolkit(home, origin, problem=f"there is no compiler {nvcc}")
    answer = ask([nvcc, "--version"], seconds=_SECONDS)
    version = re.search(r"release (\d+\.\d+)", answer.text)
    if answer.status != 0 or not version:
        return Toolkit(home, origin, nvcc, problem=f"{nvcc} can't be run: {answer.why}")
    real = _real_home(nvcc)
    if not os.path.exists(os.path.join(home, "include", "cuda_runtime.h")):
        elsewhere = f" (nvcc itself lies in {real})" if real and real != os.path.realpath(home) else ""
        problem = f"there is no header {os.path.join(home, 'include', 'cuda_runtime.h')}{elsewhere}"
        return Toolkit(home, origin, nvcc, version[1], problem, real, _gpus(nvcc))
    newest = newest_compilers(home)
    return Toolkit(home, origin, nvcc, version[1], "", real, _gpus(nvcc), newest.get("gcc", 0), newest.get("clang", 0))


def _real_home(nvcc: str) -> str:
    """What nvcc says of its own place: the program on the PATH may be a script or a link."""
    found = re.search(r"^#\$ TOP=(.+)$", ask([nvcc, "--dryrun", "x.cu"], seconds=_SECONDS).text, re.MULTILINE)
    home = os.path.realpath(found[1]) if found else ""
    return home if os.path.exists(os.path.join(home, "include", "cuda_runtime.h")) else ""


def _gpus(nvcc: str) -> tuple[str, ...]:
    answer = ask([nvcc, "--list-gpu-arch"], seconds=_SECONDS)
    return tuple(re.findall(r"compute_(\d+[a-z]?)", answer.text)) if answer.status == 0 else ()
