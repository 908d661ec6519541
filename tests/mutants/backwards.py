"""Which functions of a source belong to handwritten backwards alone: those that no forward calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import tree_sitter

from opwright.signature.names import BACKWARD, backward_of
from opwright.sources import scan

from .changes import functions

_INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Backwards:
    """The functions that only backwards call.

    Attributes:
        orders: by a function's name, 1 if a first backward calls it, 2 if only second backwards do.
        operators: by a function's name, the operators whose backward calls it.
    """

    orders: Mapping[str, int]
    operators: Mapping[str, frozenset[str]]


def backwards_of(path: Path) -> Backwards:
    """The functions of a file that is loaded, and of what it includes, that only backwards call."""
    calls: dict[str, set[str]] = {}
    for text in _texts(path, set()):
        for name, node in functions(text, "cuda"):
            calls.setdefault(name, set()).update(_called(node))
    entries = [(kernel.signature.name, kernel.function.name) for kernel in scan(path).kernels]
    orders: dict[str, int] = {}
    operators: dict[str, set[str]] = {}
    for name, function in entries:
        operator = name
        while operator.endswith(BACKWARD):
            operator = operator.removesuffix(BACKWARD)
        order = 0 if name == operator else 1 if name == backward_of(operator) else 2
        for each in _reached(function, calls):
            orders[each] = min(order, orders.get(each, order))
            operators.setdefault(each, set()).add(operator)
    found = {name: order for name, order in orders.items() if order and not name.startswith("operator")}
    return Backwards(found, {name: frozenset(operators[name]) for name in found})


def _texts(path: Path, seen: set[Path]) -> Iterator[str]:
    """The file's text, and those that it includes."""
    if path in seen or not path.exists():
        return
    seen.add(path)
    text = path.read_text()
    yield text
    for name in _INCLUDED.findall(text):
        yield from _texts((path.parent / name).resolve(), seen)


def _reached(start: str, calls: Mapping[str, Iterable[str]]) -> set[str]:
    found, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        if name in calls and name not in found:
            found.add(name)
            waiting += calls[name]
    return found


def _called(node: tree_sitter.Node) -> set[str]:
    """The names of what a function calls, launches or constructs."""
    names: set[str] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        waiting += each.children
        if each.type == "call_expression" and (function := each.child_by_field_name("function")):
            names.add(_last_name(function))
        elif each.type in ("type_identifier", "identifier") and each.parent and each.parent.type in _NAMING:
            names.add((each.text or b"").decode())
    return names


_NAMING = ("template_type", "template_function", "declaration", "argument_list", "compound_literal_expression")
"""Where a name may be a type that is constructed, or a function that is handed over."""


def _last_name(node: tree_sitter.Node) -> str:
    """`f` of `f`, `a::f<T>`, `x.f` and `x->f<T>`."""
    while (inner := node.child_by_field_name("name") or node.child_by_field_name("field")) is not None:
        node = inner
    return (node.text or b"").decode()
