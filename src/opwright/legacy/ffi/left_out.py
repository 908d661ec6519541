"""Objects that are left out of the link: missing ones, and CUDA objects that nothing here completes.

Repositories list what nvcc makes even for builds without CUDA, and commit it. An object that calls functions of CUDA's
runtime makes an extension unimportable where that runtime isn't linked; so does one that an nvcc before CUDA 10 made,
since the functions by which it launches kernels are gone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from opwright.errors import ToolchainError
from opwright.legacy.ffi.request import Request
from opwright.toolchain.binary.elf import Symbols, symbols
from opwright.toolchain.compilers import nvcc

_OF_CUDA = re.compile(r"(?:__)?cu(?:da|blas|rand|sparse|dnn|fft|solver)[A-Z]\w*")
_REMOVED = frozenset(("cudaConfigureCall", "cudaLaunch", "cudaSetupArgument", "__cudaInitManagedRuntime"))
_ARCHIVE = b"!<arch>\n"


class LeftOut(NamedTuple):
    """An object that isn't linked.

    Attributes:
        path: its absolute path.
        why: the reason, which follows the path in a sentence: "which ...".
        defines: what it would define; None if it isn't known, because the object is missing.
        remedy: what makes it usable; empty if that is to compile it (again).
    """

    path: str
    why: str
    defines: frozenset[str] | None = None
    remedy: str = ""


def missing(request: Request) -> tuple[LeftOut, ...]:
    """Return the objects in the link list that don't exist, or that no linker of this system reads."""
    found = []
    for path in request.objects:
        if not os.path.exists(path):
            found.append(LeftOut(path, "which did not exist when the extension was built"))
        elif path.endswith(".o") and not _is_readable(path):
            found.append(LeftOut(path, "which is no object file of this system"))
    return tuple(found)


def _is_readable(path: str) -> bool:
    with open(path, "rb") as file:
        archive = file.read(len(_ARCHIVE)) == _ARCHIVE
    return archive or _symbols(path) is not None


def incomplete(request: Request, undefined: Collection[str]) -> tuple[LeftOut, ...]:
    """Return the objects that need functions of CUDA which nothing linked defines.

    Args:
        request: the extension.
        undefined: all symbols that nothing defines, of an extension with all its objects.
    """
    of_cuda = {name for name in undefined if _OF_CUDA.fullmatch(name)}
    found = []
    for path in request.objects if of_cuda else ():
        own = _symbols(path) if path.endswith(".o") and os.path.exists(path) else None
        if own and (needs := sorted(own.undefined & of_cuda)):
            found.append(LeftOut(path, *_explain(request, needs, own)))
    return tuple(found)


def _explain(request: Request, needs: list[str], own: Symbols) -> tuple[str, frozenset[str], str]:
    old = next((name for name in needs if name in _REMOVED), "")
    if old:
        return f"which was made by an older nvcc: it calls {old}(), which CUDA no longer has", own.defined, ""
    why = f"which calls {needs[0]}() of CUDA, and nothing that is linked defines it"
    if nvcc.cuda_home() is None:
        remedy = "install the CUDA toolkit or set CUDA_HOME"
    elif not request.with_cuda:
        remedy = "pass with_cuda=True"
    else:
        remedy = "name CUDA's library in libraries="
    return why, own.defined, remedy


def _symbols(path: str) -> Symbols | None:
    try:
        return symbols(Path(path))
    except ToolchainError:
        return None
