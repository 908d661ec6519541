"""Types of plain C: one spelling for each, and ``typedef`` names followed to them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from opwright.sources.declarations import UnreadableError, read_function
from opwright.sources.model import Function, Language, Parameter
from opwright.sources.statements import Statement

__all__ = ["Typedefs", "spelled", "standard"]

_FIXED = re.compile(
    r"u?int(?:8|16|32|64|ptr)_t|s?size_t|ptrdiff_t|float|double|long double|void|_?Bool|bool|_Float16|__bf16"
)
_INTEGER_WORDS = {"signed", "unsigned", "char", "short", "int", "long"}
_IGNORED = {"const", "volatile", "register", "extern", "static", "inline"}
_DEFINED = re.compile(rb"\(\s*\*\s*(\w+)\s*\)|(\w+)\s*(?:\[[^\]]*\]\s*)*\Z")
_DEEPEST = 20
_BITS = {"char": 8, "short": 16, "int": 32, "long": 64, "long long": 64}


def standard(written: str) -> str:
    """The usual spelling of a standard type; "enum" for an enumeration, "" for any other type.

    ``long unsigned int`` is ``unsigned long``.
    """
    words = [word for word in written.split() if word not in _IGNORED]
    if _FIXED.fullmatch(" ".join(words)):
        return " ".join(words)
    if words and words[0].startswith("enum") and words[0].rstrip("{") == "enum":
        return "enum"
    if not words or not set(words) <= _INTEGER_WORDS:
        return ""
    sign = "unsigned " if "unsigned" in words else ""
    if "char" in words:
        return f"{sign}char" if sign or "signed" not in words else "signed char"
    size = "short" if "short" in words else " ".join(["long"] * words.count("long")) or "int"
    return sign + size


class Typedefs:
    """The ``typedef`` names of a text."""

    def __init__(self, found: Iterable[Statement], language: Language) -> None:
        """`found`: the text's statements; those that are no typedef are passed over."""
        self._language: Language = language
        self._written: dict[str, bytes] = {}
        for statement in found:
            text = statement.text.removeprefix(b"__extension__").lstrip()
            if re.match(rb"typedef\b", text) and (name := _DEFINED.search(text)):
                at = 1 if name.group(1) else 2
                key = name.group(at).decode(errors="replace")
                # As a parameter is written, with a name that isn't a type's already: tree-sitter knows int32_t as one.
                written = text[len(b"typedef") : name.start(at)] + b"opwright_" + text[name.end(at) :]
                if self._written.setdefault(key, written) != written:
                    self._written[key] = b""  # two branches of an #if, say: only the preprocessor knows

    def function(self, function: Function) -> Function:
        """The function, with standard types in the place of typedef names where they stand for such."""
        returned = " ".join(word for word in function.returns.split() if word not in _IGNORED).removeprefix("std::")
        return Function(
            function.name,
            function.template,
            tuple(self.parameter(parameter) for parameter in function.parameters),
            self.parameter(Parameter("", function.returns, "other", returned)).element,
            function.line,
            function.text,
            function.static,
            function.path,
            function.defined,
            function.kernel,
        )

    def parameter(self, parameter: Parameter) -> Parameter:
        """The parameter, with a standard type in the place of a typedef name where that stands for one."""
        view, element, const = parameter.view, parameter.element, parameter.const
        for _ in range(_DEEPEST if view in ("pointer", "scalar", "other") else 0):
            if (known := standard(element)) and not self._redefined(known):
                view = "pointer" if view == "pointer" else "scalar"
                return Parameter(parameter.name, parameter.text, view, known, const)
            meant = self._meaning(element)
            if meant is None or (view == "pointer" and meant.view == "pointer"):
                return Parameter(parameter.name, parameter.text, view, _unknown(element), const)
            view = "pointer" if view == "pointer" else meant.view
            element, const = meant.element, const or meant.const
        return parameter

    def _redefined(self, name: str) -> bool:
        """Whether the text gives a name such as ``bool`` or ``int32_t`` another meaning than C's own headers do."""
        if name not in self._written:
            return False
        element, view = name, "scalar"
        for _ in range(_DEEPEST):
            meant = self._meaning(element)
            element, view = (meant.element, meant.view) if meant else ("", "other")
            if element not in self._written:
                break
        return view != "scalar" or not _same(name, standard(element))

    def _meaning(self, name: str) -> Parameter | None:
        written = self._written.get(name)
        if not written:
            return None
        try:
            read = read_function(b"void f(" + written + b")", self._language, (), 1)
        except UnreadableError:
            return None
        return read.parameters[0] if len(read.parameters) == 1 else None


def _same(name: str, known: str) -> bool:
    """Whether a name of C's headers means this standard type there."""
    if name == "bool":
        return known == "_Bool"
    digits = re.search(r"\d+", name)
    bits = int(digits[0]) if digits else 64
    signed = not name.startswith("u") and name != "size_t"
    plain = known.removeprefix("unsigned ").removeprefix("signed ")
    return _BITS.get(plain) == bits and signed != known.startswith("unsigned ")


def _unknown(element: str) -> str:
    """A name that has no standard meaning here, though it may look as if it had."""
    return f"{element} (redefined)" if standard(element) else element


def spelled(function: Function) -> Function:
    """The function, with each standard type in its usual spelling."""
    return Typedefs((), "c").function(function)
