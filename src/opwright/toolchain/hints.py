"""What a compiler's message means where it is about what the user never wrote: dual numbers, names of our headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.toolchain.diagnostics import Diagnostic

_DUAL = re.compile(r"\bDual<")
_NAME = re.compile(r"no matching function for call to '(?:std::)?(\w+)")
_CONVERSION = re.compile(r"cannot convert|no viable conversion|no known conversion|from incompatible type")
_TWO_HALVES = re.compile(r"""["'](half)["'] is ambiguous""")
_ARGUMENT = re.compile(r"initializing argument \d+ of '(?P<declared>[^']+)")


def hint(error: Diagnostic) -> str:
    """The likely fix for ``error`` as a line of its own (with the line break before it), or nothing."""
    if _TWO_HALVES.search(error.text):
        return _fix(
            "opwright.h and cuda_fp16.h both have a half: write __half for CUDA's, opwright::half for the other"
        )
    whole = "\n".join(error.lines)
    if not _DUAL.search(whole):
        return ""
    if name := _NAME.search(error.text):
        return _fix(
            f"to be differentiated, {name[1]} must take any type: write {name[1]}(x) without std:: if it is one of "
            f"opwright.h's, and a function of yours as a template: template <class T> T {name[1]}(T x)"
        )
    if not _CONVERSION.search(error.text):
        return ""
    if argument := _ARGUMENT.search(whole):
        return _fix(
            f"to be differentiated, {argument['declared']} must be a template that takes any type: "
            "template <class T> T f(T x)"
        )
    return _fix("a plain number would lose the derivative: declare it as T or auto; value_of(x) is the value alone")


def _fix(text: str) -> str:
    return f"\n  likely fix: {text}"
