"""Names that a file gives to types: ``template <class T> using Matrix = PackedTensorAccessor32<T, 2>;``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from opwright.signature.record import record
from opwright.sources.model import Function, Parameter
from opwright.sources.types import classified

__all__ = ["Alias", "aliases", "unaliased"]

_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_USING = re.compile(rb"(?:\btemplate\s*<([^<>]*)>\s*)?\busing\s+(\w+)\s*=\s*([^;{}=]+);")
_WORD = re.compile(r"\w+")
_MOST = 8  # aliases of aliases: what is deeper goes in a circle


@record
class Alias:
    """One name of a type.

    Attributes:
        parameters: those of its template, none where it has none.
        type: what it stands for.
    """

    parameters: tuple[str, ...]
    type: str


def aliases(data: bytes) -> dict[str, Alias]:
    """What ``using`` declares in a file's text, by name; headers aren't read."""
    if b"using" not in data:
        return {}
    found = (match.groups() for match in _USING.finditer(_COMMENT.sub(b" ", data)))
    return {
        name.decode(): Alias(_names((template or b"").decode(errors="replace")), meant.decode(errors="replace"))
        for template, name, meant in found
    }


def unaliased(function: Function, known: Mapping[str, Alias]) -> Function:
    """`function` with its parameters' types as these aliases mean them, where they mean one that a kernel may take.

    The parameters' `text` stays as the author wrote it.
    """
    if not known or all(parameter.view != "other" for parameter in function.parameters):
        return function
    known = {name: alias for name, alias in known.items() if name not in function.template}
    changed = dict(function.__dict__, parameters=tuple(_parameter(each, known) for each in function.parameters))
    return Function(**changed)


def _parameter(parameter: Parameter, known: Mapping[str, Alias]) -> Parameter:
    if parameter.view != "other":
        return parameter
    written = _expanded(parameter.element, known)
    layers = ("reference_declarator",) if parameter.reference else ()
    found = classified(name=parameter.name, text=parameter.text, written=written, const=parameter.const, layers=layers)
    return parameter if found.view == "other" else found


def _expanded(written: str, known: Mapping[str, Alias]) -> str:
    for _ in range(_MOST):
        name, _, rest = written.partition("<")
        alias = known.get(name.strip())
        given = _split(rest.rpartition(">")[0])
        if alias is None or len(given) != len(alias.parameters):
            return written
        values = dict(zip(alias.parameters, given, strict=True))
        written = _WORD.sub(lambda word, values=values: values.get(word[0], word[0]), alias.type)  # type: ignore[misc]
    return written


def _names(template: str) -> tuple[str, ...]:
    """The last word of each parameter: ``class T, int N`` -> ("T", "N")."""
    words = (_WORD.findall(each.partition("=")[0]) for each in _split(template))
    return tuple(each[-1] if each else "" for each in words)


def _split(listed: str) -> list[str]:
    """What stands between commas that are in no angle brackets."""
    pieces, depth = [""], 0
    for letter in listed:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces if piece.strip()]
