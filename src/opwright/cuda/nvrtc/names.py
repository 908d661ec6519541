"""Which instances of which kernels a host half launches, read from its object file; and how NVRTC is told."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from opwright.cuda.nvrtc.host import HERE
from opwright.cuda.nvrtc.refusals import local_type
from opwright.errors import ToolchainError
from opwright.toolchain.symbols import all_names

__all__ = ["Instance", "instances"]

_MARK = re.compile(rf"_ZTS(?P<key>Z(?P<kernel>.+)E{len(HERE)}{HERE}(?:_\d*)?)$")
_CPP_RUNTIMES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.1.dylib")


class Instance(NamedTuple):
    """A kernel with its template arguments.

    Attributes:
        key: what the host half calls it.
        expression: what NVRTC calls it: ``ns::kernel<float>``, with a cast where there are several of that name.
    """

    key: str
    expression: str


def instances(host_object: Path, definitions: list[str]) -> list[Instance]:
    """The kernels that a host half can launch.

    Args:
        host_object: its object file.
        definitions: the names of all kernels in the source, as often as each is defined.

    Raises:
        UnsupportedError: one has a type that is local to a function among its template arguments.
    """
    found = sorted({match["key"]: match["kernel"] for n in all_names(host_object) if (match := _MARK.match(n))}.items())
    counts = Counter(definitions)
    return [Instance(key, _expression(demangled(f"_Z{kernel}"), counts)) for key, kernel in found]


def _expression(kernel: str, counts: Counter[str]) -> str:
    """What NVRTC calls a kernel, from ``void ns::kernel<float>(float*, int)``."""
    plain = kernel.replace("(anonymous namespace)::", "")
    if "{lambda" in plain or re.search(r"\)(?: const)?::", plain):
        raise local_type(kernel)
    name, parameters = _without_parameters(plain)
    name = _without_result(name)
    base = re.match(r"[\w:]*?(\w+)(?:<|$)", name)
    overloaded = base is not None and counts[base[1]] > 1
    return f"(void (*){parameters}){name}" if overloaded else name


def _without_parameters(kernel: str) -> tuple[str, str]:
    """What stands before the last parentheses, and those."""
    if not kernel.endswith(")"):
        return kernel, "()"
    depth = 0
    for index in range(len(kernel) - 1, -1, -1):
        depth += (kernel[index] == ")") - (kernel[index] == "(")
        if depth == 0:
            return kernel[:index], kernel[index:]
    return kernel, "()"


def _without_result(name: str) -> str:
    """Without the ``void`` that the names of templates' instances begin with."""
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
    """A mangled name as C++ writes it; as it is, where it is none."""
    function = _runtime()["__cxa_demangle"]
    function.restype = ctypes.c_void_p
    status = ctypes.c_int()
    found = function(name.encode(), None, None, ctypes.byref(status))
    if not found:
        return name
    try:
        return ctypes.string_at(found).decode("utf-8", "replace")
    finally:
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        free(found)
