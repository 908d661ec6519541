"""The host's variables of a checked source, and the lines of its device code, for the checker.

Emulated kernels can read any variable of the program, those of a GPU only the device's. What is listed here is the
host's for certain: variables of namespaces without ``const``, static variables of host functions. A name that the
source also gives to a variable of the device isn't. Whether code is the device's is told by its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from opwright.cuda.emulation.regions import Body, Functions, without_device_lambdas
from opwright.sources.cpp.line_markers import Place
from opwright.sources.cpp.tokens import Tokens
from opwright.sources.cuda_declarations import Declaration, Reader, declarations

_OTHERS = {
    *(
        "const",
        "constexpr",
        "extern",
        "typedef",
        "using",
        "friend",
        "template",
        "thread_local",
        "__thread",
        "namespace",
    ),
    *("texture", "surface", "asm", "static_assert", "_Static_assert"),
}
"""Words of statements that declare no variable, or one that the device may have, too."""
_TABLE = (
    "\nnamespace {{ const ::opwright::emulation::HostVariable opwright_host_variables[] = {{{}{{}}}};\n"
    "const ::opwright::emulation::DeviceCode opwright_device_code[] = {{{}{{}}}};\n"
    "const bool opwright_host_variables_known = "
    "::opwright::emulation::know_host_variables(opwright_host_variables, opwright_device_code); }}\n"
)


class _Variable(NamedTuple):
    """A variable: its name with those of its namespaces, the function that it is a static variable of, or ""."""

    name: str
    function: str


class HostVariables:
    """The variables of one source, and its device code."""

    def __init__(self, *, wanted: bool) -> None:
        """Begin without any; unless `wanted` there are none."""
        self._wanted = wanted
        self._hosts: dict[_Variable, Place] = {}
        self._devices: set[_Variable] = set()
        self._code: list[tuple[Place, int]] = []

    def look_at(self, functions: Functions) -> None:
        """Note what a region of the author's declares."""
        if not self._wanted:
            return
        region = functions.region
        for decl, spaces in _variables(region.tokens, region.text):
            for name in decl.variables:
                self._note(_Variable("::".join([*spaces, name]), ""), region.place(decl.start), decl.on_device)
        for body in functions.bodies:
            if body.decl.on_device:
                last = region.place(region.tokens.all[body.last].start).line
                self._code.append((region.place(region.tokens.all[body.first].start), last))
            for name, start in _statics(region.tokens, body):
                self._note(_Variable(name, body.decl.name), region.place(start), body.decl.on_device)

    def _note(self, variable: _Variable, place: Place, on_device: bool) -> None:
        if on_device:
            self._devices.add(variable)
        else:
            self._hosts.setdefault(variable, place)

    def table(self) -> str:
        """Return the code behind all other that lists them."""
        variables = [
            f'{{"{name}", "{function}", "{place.file}", {place.line}}}, '
            for (name, function), place in self._hosts.items()
            if (name, function) not in self._devices
        ]
        code = [f'{{"{place.file}", {place.line}, {last}}}, ' for place, last in self._code]
        return _TABLE.format("".join(variables), "".join(code)) if variables or code else ""


def _variables(tokens: Tokens, text: str) -> Iterator[tuple[Declaration, list[str]]]:
    """Yield the declarations of variables in namespaces, each with the namespaces' names; of classes none."""
    opened: list[list[str]] = []
    for decl in declarations(tokens):
        if decl.kind == "open":
            opened.append(_names(text[decl.start : decl.end]))
        elif decl.kind == "close" and opened:
            opened.pop()
        elif decl.kind == "statement" and decl.variables and (decl.on_device or not _OTHERS & {*decl.words}):
            yield decl, [name for names in opened for name in names]


def _names(text: str) -> list[str]:
    """Return the names that the opening of a namespace gives: two of ``namespace a::b {``."""
    words = re.findall(r"\w+", text)
    if "namespace" not in words:
        return []
    return [word for word in words if word not in ("inline", "namespace")] or ["(anonymous namespace)"]


def _statics(tokens: Tokens, body: Body) -> Iterator[tuple[str, int]]:
    """Yield the static variables of a function, with where their declarations begin."""
    if "constexpr" in body.decl.words or "template" in body.decl.words:
        return
    for at in without_device_lambdas(tokens, body):
        if tokens.is_word(at, "static"):
            _, decl = Reader(tokens, at, body.last).read()
            if "constexpr" not in decl.words and "thread_local" not in decl.words:
                for name in decl.variables:
                    yield name, decl.start
