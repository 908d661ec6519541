"""Recognizes a schema of PyTorch's, ``e(Tensor x, float alpha=1.0) -> Tensor``, and rewrites it in the notation."""

from __future__ import annotations

import re

__all__ = ["rewritten"]

_HEAD = re.compile(r"\s*(?:\w+::)?(?P<name>\w+)(?:\.\w+)?\s*\(")
_RETURNS = re.compile(r"\s*(?:->\s*(?P<results>.*\S))?\s*", re.DOTALL)
_ARGUMENT = re.compile(
    r"(?P<type>[A-Za-z]\w*)\s*(?:\((?P<alias>[^)]*)\))?\s*(?P<list>\[\d*\])?\s*(?P<optional>\?)?\s+(?P<name>[A-Za-z_]\w*)"
    r"\s*(?:=\s*(?P<default>\S+))?"
)
_RESULT = re.compile(r"Tensor(?:\([^)]*\))?\s*(?P<name>[A-Za-z_]\w*)?")
_SCALARS = {"int": "int", "SymInt": "int", "float": "float", "Scalar": "float", "number": "float", "bool": "bool"}
_SCALARS |= {"str": "str"}
_RESULTS = "yzuvw"


def rewritten(text: str) -> str | None:
    """Return `text` in Opwright's notation if it is a schema of PyTorch's, or "" if that can't be; None if it is none.

    Tensors become ``T[...]``, whose axes the author names: a schema doesn't tell them.
    """
    head = _HEAD.match(text)
    end = _closed(text, head.end() - 1) if head else 0
    returns = _RETURNS.fullmatch(text[end:]) if end else None
    pieces = _split(text[head.end() : end - 1]) if head and end else []
    arguments = [_ARGUMENT.fullmatch(piece) for piece in pieces if piece != "*"]
    if head is None or returns is None or not arguments or not all(arguments):
        return None
    inputs = [_input(argument) for argument in arguments if argument]
    results = (returns["results"] or "()").strip()
    inside = results[1:-1] if results.startswith("(") and results.endswith(")") else results
    outputs = [_RESULT.fullmatch(piece) for piece in _split(inside)]
    if not all(inputs) or not all(outputs) or len(outputs) > len(_RESULTS):
        return ""
    free = iter(letter for letter in _RESULTS if letter not in {a["name"] for a in arguments if a})
    named = [f"{found['name'] or next(free)}: T[...]" for found in outputs if found]
    return f"{head['name']}({', '.join(inputs)})" + (f" -> ({', '.join(named)})" if named else "")


def _input(argument: re.Match[str]) -> str:
    """Return an argument in the notation; "" if it can't be an argument of an operator."""
    name, kind = argument["name"], argument["type"]
    if argument["list"]:
        return f"{name}: i64[{name.upper()}]" if kind in ("int", "SymInt") else ""
    if kind == "Tensor":
        written = "!" if "!" in (argument["alias"] or "") else ""
        return f"{name}: T[...]{'?' if argument['optional'] else ''}{written}"
    if kind not in _SCALARS:
        return ""
    default = (argument["default"] or "").replace('"', "'")
    return f"{name}: {_SCALARS[kind]}{argument['optional'] or ''}" + (f" = {default}" if default else "")


def _closed(text: str, opened: int) -> int:
    """Return the offset behind the parenthesis that closes the one at `opened`; 0 if none does."""
    depth = 0
    for at in range(opened, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at + 1
    return 0


def _split(listed: str) -> list[str]:
    """Split a list at the commas outside of brackets."""
    pieces, depth = [""], 0
    for letter in listed:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces if piece.strip()]
