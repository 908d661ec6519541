"""What ``ptxas``, the last of nvcc's programs, has to say: it knows the names of kernels, but no line of the source."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_ERROR = re.compile(r"^ptxas\s+(?:\S.*?, line \d+; )?(?:error|fatal)\s*: (?P<text>.+)$", re.MULTILINE)
_TOO_MUCH_SHARED = re.compile(
    r"Entry function '(?P<name>\w+)' uses too much shared data \((?P<used>0x\w+) bytes, (?P<most>0x\w+) max\)"
)
_UNRESOLVED = re.compile(r"Unresolved extern (?:function|variable) '(?P<name>\w+)'")
_COMPILING = re.compile(r"Compiling entry function '(?P<name>\S+)' for '(?P<architecture>\w+)'")
_SPILLS = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers(?P<rest>.*)")
_SHARED = re.compile(r"(\d+)(?:\+(\d+))? bytes smem")


class Usage(NamedTuple):
    """What a kernel takes on one architecture; ``ptxas -v`` says it.

    Attributes:
        kernel: its name as it stands in the source, with its template arguments and parameters.
        architecture: such as ``"sm_90"``.
        registers: of each thread, 32 bits each.
        stack: bytes of each thread's stack frame, in local memory.
        spilled: bytes that each thread stores and loads for want of registers, together.
        shared: bytes of static shared memory of each block.
    """

    kernel: str
    architecture: str
    registers: int
    stack: int
    spilled: int
    shared: int


def usage(said: str) -> Iterator[Usage]:
    """What each kernel takes, from the output of an nvcc with ``-Xptxas=-v``."""
    name = architecture = ""
    stack = spilled = 0
    for line in said.splitlines():
        if found := _COMPILING.search(line):
            name, architecture, stack, spilled = found["name"], found["architecture"], 0, 0
        elif found := _SPILLS.search(line):
            stack, spilled = int(found["stack"]), int(found["stores"]) + int(found["loads"])
        elif name and (found := _USED.search(line)):
            shared = _SHARED.search(found["rest"])
            bytes_shared = sum(int(part) for part in shared.groups() if part) if shared else 0
            yield Usage(demangled(name), architecture, int(found["registers"]), stack, spilled, bytes_shared)
            name = ""


def problem(said: str) -> tuple[str, str] | None:
    """What `said` complains of where that is ptxas, and the likely fix, if one is known.

    Args:
        said: nvcc's whole output.
    """
    found = _ERROR.search(said)
    if not found:
        return None
    if shared := _TOO_MUCH_SHARED.search(found["text"]):
        used, most = int(shared["used"], 16), int(shared["most"], 16)
        what = f"{demangled(shared['name'])} has {used} bytes of __shared__ variables, and a block can have {most}"
        return what, (
            "make them smaller, or take dynamic shared memory, of which there is more: extern __shared__, its size in "
            "<<<...>>>, and cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)"
        )
    if missing := _UNRESOLVED.search(found["text"]):
        return (
            f"{demangled(missing['name'])} is called on the device, but is defined in no header and not in this file",
            "include its definition: device code of several files isn't linked",
        )
    return f"ptxas: {found['text']}", "look at what the kernels say in asm(...)" if "line" in found[0] else ""


def demangled(name: str) -> str:
    """A C++ name as it stands in the source; `name` itself where it is none."""
    found = _demangle()(name)
    return found.removeprefix("void ") if found else name


def _demangle() -> Callable[[str], str]:
    """By the C++ library that every compiler brings; nothing comes out where there is none."""
    try:
        function, free = ctypes.CDLL("libstdc++.so.6")["__cxa_demangle"], ctypes.CDLL(None)["free"]
    except (OSError, AttributeError):
        return lambda _name: ""
    function.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

    def demangle(name: str) -> str:
        text = function(name.encode(), None, None, None)
        if not text:
            return ""
        try:
            return ctypes.string_at(text).decode("utf-8", "replace")
        finally:
            free(text)

    return demangle
