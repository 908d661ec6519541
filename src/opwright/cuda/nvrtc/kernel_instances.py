"""The kernel instances that a host half launches, read from its object file, and their name expressions for NVRTC."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from opwright.cuda.nvrtc.host_half import HERE
from opwright.cuda.nvrtc.refusals import local_type_error
from opwright.errors import ToolchainError
from opwright.toolchain.binary.elf import symbols

_MARK = re.compile(rf"_ZTS(?P<key>Z(?P<kernel>.+)E{len(HERE)}{HERE}(?:_\d*)?)$")
_CPP_RUNTIMES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.1.dylib")


class Instance(NamedTuple):
    """A kernel with its template arguments.

    Attributes:
        key: its name in the host half.
        expression: its name expression for NVRTC: ``ns::kernel<float>``, with a cast if the kernel is overloaded.
    """

    key: str
    expression: str


def launched_instances(host_object: Path, definitions: list[str]) -> list[Instance]:
    """Return the kernel instances that a host half can launch.

    Args:
        host_object: the host half's object file.
        definitions: the names of all kernels in the source, repeated for overloads.

    Raises:
        UnsupportedError: a kernel has a function's local type as a template argument.
    """
    names = frozenset[str]().union(*symbols(host_object))
    marked = sorted({match["key"]: match["kernel"] for n in names if (match := _MARK.match(n))}.items())
    counts = Counter(definitions)
    return [Instance(key, _expression(demangled(f"_Z{kernel}"), counts)) for key, kernel in marked]


def _expression(kernel: str, counts: Counter[str]) -> str:
    """Return NVRTC's name expression for a kernel such as ``void ns::kernel<float>(float*, int)``."""
    plain = kernel.replace("(anonymous namespace)::", "")
    if "{lambda" in plain or re.search(r"\)(?: const)?::", plain):
        raise local_type_error(kernel)
    name, parameters = _without_parameters(plain)
    name = _without_result(name)
    base = re.match(r"[\w:]*?(\w+)(?:<|$)", name)
    overloaded = base is not None and counts[base[1]] > 1
    return f"(void (*){parameters}){name}" if overloaded else name


def _without_parameters(kernel: str) -> tuple[str, str]:
    """Split a kernel's name into the part before its parameters and the parameters."""
    if not kernel.endswith(")"):
        return kernel, "()"
    depth = 0
    for index in range(len(kernel) - 1, -1, -1):
        depth += (kernel[index] == ")") - (kernel[index] == "(")
        if depth == 0:
            return kernel[:index], kernel[index:]
    return kernel, "()"


def _without_result(name: str) -> str:
    """Remove the result type ``void``, with which names of template instances begin."""
    return name.removeprefix("void ")


@functools.cache
def _runtime() -> ctypes.CDLL:
    for name in _CPP_RUNTIMES:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    raise ToolchainError(
        f"none of {', '.join(_CPP_RUNTIMES)} can be loaded: a kernel's name can't be read\n"
        "  likely fix: install the C++ compiler's runtime library"
    )


def demangled(name: str) -> str:
    """Return the demangled C++ name; a name that isn't mangled is returned unchanged."""
    function = _runtime()["__cxa_demangle"]
    function.restype = ctypes.c_void_p
    status = ctypes.c_int()
    buffer = function(name.encode(), None, None, ctypes.byref(status))
    if not buffer:
        return name
    try:
        return ctypes.string_at(buffer).decode("utf-8", "replace")
    finally:
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        free(buffer)
