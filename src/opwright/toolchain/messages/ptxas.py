"""The output of ``ptxas``, nvcc's assembler, which names kernels but no source lines."""

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
    """The resources that a kernel uses on one architecture, as reported by ``ptxas -v``.

    Attributes:
        kernel: its demangled name, with template arguments and parameters.
        architecture: such as ``"sm_90"``.
        registers: 32-bit registers per thread.
        stack: bytes of stack frame per thread, in local memory.
        spilled: bytes of register spills per thread, stores and loads together.
        shared: bytes of static shared memory per block.
    """

    kernel: str
    architecture: str
    registers: int
    stack: int
    spilled: int
    shared: int


def usage(output: str) -> Iterator[Usage]:
    """Yield each kernel's resource usage from the output of nvcc with ``-Xptxas=-v``."""
    name = architecture = ""
    stack = spilled = 0
    for line in output.splitlines():
        if match := _COMPILING.search(line):
            name, architecture, stack, spilled = match["name"], match["architecture"], 0, 0
        elif match := _SPILLS.search(line):
            stack, spilled = int(match["stack"]), int(match["stores"]) + int(match["loads"])
        elif name and (match := _USED.search(line)):
            shared = _SHARED.search(match["rest"])
            bytes_shared = sum(int(part) for part in shared.groups() if part) if shared else 0
            yield Usage(demangled(name), architecture, int(match["registers"]), stack, spilled, bytes_shared)
            name = ""


def problem(output: str) -> tuple[str, str] | None:
    """Return ptxas's error in `output` and the likely fix ("" if unknown); None if there is no error.

    Args:
        output: the complete output of nvcc.
    """
    error = _ERROR.search(output)
    if not error:
        return None
    if shared := _TOO_MUCH_SHARED.search(error["text"]):
        used, most = int(shared["used"], 16), int(shared["most"], 16)
        what = f"{demangled(shared['name'])} has {used} bytes of __shared__ variables, and a block can have {most}"
        return what, (
            "make them smaller, or take dynamic shared memory, of which there is more: extern __shared__, its size in "
            "<<<...>>>, and cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)"
        )
    if missing := _UNRESOLVED.search(error["text"]):
        return (
            f"{demangled(missing['name'])} is called on the device, but is defined in no header and not in this file",
            "include its definition: device code of several files isn't linked",
        )
    return f"ptxas: {error['text']}", "look at what the kernels say in asm(...)" if "line" in error[0] else ""


def demangled(name: str) -> str:
    """Return the demangled C++ name; `name` itself if it isn't a mangled one."""
    text = _demangle()(name)
    return text.removeprefix("void ") if text else name


def _demangle() -> Callable[[str], str]:
    """Return libstdc++'s demangler, or a function that returns "" if the library isn't there."""
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
