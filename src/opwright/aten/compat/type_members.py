"""Rewrites calls of functions that ``at::Type`` had: ``x.type().tensor({2, 3})``, ``type.tensorFromBlob(data, sizes)``.

They were members of a class that PyTorch still has, so that no header can restore them. What makes tensors became
functions that take options last, and a type still converts to options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from opwright.sources.cpp.directives import without_dead_lines
from opwright.sources.cpp.edits import Edit, apply_edits
from opwright.sources.cpp.normalized import NormalizedText, normalized

_SAME = (
    "zeros",
    "ones",
    "rand",
    "randn",
    "empty",
    "arange",
    "range",
    "linspace",
    "logspace",
    "eye",
    "full",
    "randperm",
)
_OTHERS = {"tensorFromBlob": "from_blob", "scalarTensor": "scalar_tensor"}
_CALL = re.compile(rf"(?<= )(?:\.|->) (?P<name>tensor|{'|'.join((*_SAME, *_OTHERS))}) \(")
_GIVES_A_TYPE = ("type", "toScalarType", "toBackend", "CPU", "CUDA", "getType", "getNonVariableType")
_VARIABLE = re.compile(
    r"\b(?:const )?(?:auto|(?:(?:at|torch) :: )?(?:Type|DeprecatedTypeProperties))(?: const)?(?: &){0,2} (?P<name>\w+) "
    r"(?:= [^;{}]*?(?<!device \( \) \. )\b(?P<source>\w+) \( (?:[^;{}()]* )?\) (?=;)|(?P<parameter>[,)]))"
)


class Call(NamedTuple):
    """A call of a function that ``at::Type`` had.

    Attributes:
        token: the index of the token with the function's name.
        name: the function's name.
        edits: what replaces the call.
    """

    token: int
    name: str
    edits: tuple[Edit, ...]


def rewritten(path: Path) -> tuple[str, str]:
    """Return a source with such calls replaced, and a line for the user; two empty strings if it has none.

    Line numbers stay as they are. A file that isn't UTF-8 or can't be read isn't rewritten.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return "", ""
    stream = normalized(without_dead_lines(text))
    found = calls(stream)
    if not found:
        return "", ""
    names = ", ".join(dict.fromkeys(call.name for call in found))
    line = (
        f"{names} of at::Type ({path}:{stream.line(found[0].token)}): rewritten in memory; `opwright migrate` writes it"
    )
    return apply_edits(text, [edit for call in found for edit in call.edits], keep_lines=True), line


def calls(stream: NormalizedText) -> list[Call]:
    """Return the calls, as far as it is certain from the source that they are a type's."""
    if "ype" not in stream.text and "CPU" not in stream.text and "CUDA" not in stream.text:
        return []
    variables = _variables(stream.text)
    found = []
    for dot, behind in stream.find(_CALL):
        first = _expression_start(stream, dot)
        whole = stream.closing(behind - 1) >= 0
        if first >= 0 and whole and _is_type(stream, first, dot, variables):
            found.append(Call(dot + 1, stream.tokens[dot + 1].text, tuple(_edits(stream, first, dot, behind - 1))))
    return found


def _variables(text: str) -> set[str]:
    """Return the names that are declared as a type: ``auto& type = x.type();``, ``const at::Type& type`` in a head."""
    return {
        match["name"]
        for match in _VARIABLE.finditer(text)
        if match["source"] in _GIVES_A_TYPE or (match["parameter"] and " auto" not in f" {match[0]}")
    }


def _is_type(stream: NormalizedText, first: int, dot: int, variables: set[str]) -> bool:
    tokens = stream.tokens
    if dot - first == 1:
        return tokens[first].text in variables
    if tokens[dot - 1].text != ")":
        return False
    opening = _opening(stream, dot - 1)
    if opening < 1 or tokens[opening - 1].text not in _GIVES_A_TYPE:
        return False
    return stream.joined(opening - 5, opening) != "device ( ) . type"


def _edits(stream: NormalizedText, first: int, dot: int, opening: int) -> Iterator[Edit]:
    """Replace ``R.name(arguments)`` by ``at::name(arguments, R.options())``."""
    tokens, closing = stream.tokens, stream.closing(opening)
    name, arguments = tokens[dot + 1].text, stream.arguments(opening)
    called, before = _OTHERS.get(name, name), ", "
    if name == "tensor":
        called = "empty_strided" if len(arguments) == 2 else "empty"
        before = ", " if arguments else "{0}, "
    receiver = stream.source[tokens[first].start : tokens[dot - 1].end]
    arrow = tokens[dot].text
    yield Edit(tokens[first].start, tokens[opening].end, f"at::{called}(")
    yield Edit(tokens[closing].start, tokens[closing].start, f"{before}{' '.join(receiver.split())}{arrow}options()")


def _expression_start(stream: NormalizedText, dot: int) -> int:
    """Return the first token of the expression whose member is selected at ``dot``; -1 if that isn't understood."""
    tokens, index = stream.tokens, dot - 1
    while index >= 0:
        if tokens[index].text in (")", "]"):
            index = _opening(stream, index) - 1
            if index < 0:
                return 0
            if tokens[index].kind != "word" and tokens[index].text not in (")", "]"):
                is_whole = tokens[index + 1].text == "(" and tokens[index].text != ">"  # (x + y).type(), not f<int>(x)
                return index + 1 if is_whole else -1
            if tokens[index].text in _KEYWORDS:
                return index + 1
            continue
        if tokens[index].kind != "word":
            return -1
        if index == 0 or tokens[index - 1].text not in (".", "->", "::"):
            return index
        index -= 2
        if index < 0 or (tokens[index + 1].text == "::" and tokens[index].kind != "word"):
            return index + 1
    return -1


_KEYWORDS = ("return", "if", "while", "case", "else")


def _opening(stream: NormalizedText, closing: int) -> int:
    depth = 0
    for index in range(closing, -1, -1):
        text = stream.tokens[index].text
        depth += (text in ")]}") - (text in "([{")
        if depth == 0:
            return index
    return -1
