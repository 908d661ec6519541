"""The C++ compiler that nvcc takes for the host's half of a CUDA source."""

from __future__ import annotations

import functools
import os
import re

from opwright.errors import ToolchainError
from opwright.toolchain.compiler import Compiler, compiler_from, find_compiler, which

VARIABLES = ("NVCC_CCBIN", "CUDAHOSTCXX")
"""What names it: nvcc's own variable, and CMake's."""

_OLDEST = 11
_PROGRAM = {"gcc": "g++", "clang": "clang++"}


def host_compiler(home: str | None, version: str) -> Compiler:
    """The one that ``NVCC_CCBIN`` or ``CUDAHOSTCXX`` names, else the C++ compiler of all other sources.

    Where that one is newer than the toolkit lets through, the newest that it does let through, if it is there under
    its usual name (``g++-14``): only the launches of kernels are compiled by it.

    Args:
        home: the toolkit's folder, whose headers say what is too new.
        version: the toolkit's, for messages.

    Raises:
        ToolchainError: there is none that fits.
    """
    for variable in VARIABLES:
        if named := os.environ.get(variable):
            return compiler_from("c++", [named], f"{variable}={named}")
    found = find_compiler("c++")
    newest = newest_compilers(home).get(found.kind, 0) if home else 0
    if not newest or found.version[0] <= newest or _anything_goes():
        return found
    return _older(found, newest) or _refused(found, newest, version)


@functools.lru_cache
def newest_compilers(home: str) -> dict[str, int]:
    """The newest gcc and clang that the headers of the toolkit in `home` let through; nothing where they don't say."""
    try:
        with open(os.path.join(home, "include", "crt", "host_config.h"), encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return {}
    gcc, clang = re.search(r"__GNUC__ > (\d+)", text), re.search(r"#if \(__clang_major__ >= (\d+)\)", text)
    found = {"gcc": int(gcc[1]) if gcc else 0, "clang": int(clang[1]) - 1 if clang else 0}
    return {kind: number for kind, number in found.items() if number}


def _anything_goes() -> bool:
    words = os.environ.get("NVCC_APPEND_FLAGS", "") + os.environ.get("NVCC_PREPEND_FLAGS", "")
    return "-allow-unsupported-compiler" in words


def _older(found: Compiler, newest: int) -> Compiler | None:
    for number in range(newest, _OLDEST - 1, -1):
        if path := which(f"{_PROGRAM[found.kind]}-{number}"):
            return compiler_from("c++", [path], path)
    return None


def _refused(found: Compiler, newest: int, version: str) -> Compiler:
    program = f"{_PROGRAM[found.kind]}-{newest}"
    raise ToolchainError(
        f"{found} at {found.path} is too new for nvcc {version}, which takes {found.kind} up to {newest}\n"
        f"  likely fix: install {program} (it is found by that name), or set NVCC_CCBIN to an older compiler, or take "
        "a newer CUDA"
    )
