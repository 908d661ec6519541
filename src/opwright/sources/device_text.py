"""C++ text whose pointwise functions a CUDA compiler takes for device code.

What a function of one element uses, directly or through others, is found by name: functions, members, tables and
macros of the file. Those get `OPWRIGHT_HOST_DEVICE` (tables `OPWRIGHT_TABLE`); nothing else changes, so that kernels
for the CPU in the same file stay what they are. Every line stays where it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import tree_sitter

from opwright.sources.device_entities import Entity, entities, walk
from opwright.sources.lexer import includes

__all__ = ["MATHEMATICS", "device_text"]

MATHEMATICS = frozenset(
    {
        *("abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "celu", "clamp"),
        *("copysign", "cos", "cosh", "deg2rad", "digamma", "elu", "erf", "erfc", "erfinv", "exp", "exp2"),
        *("expm1", "fabs", "floor", "fma", "fmax", "fmin", "fmod", "frac", "gelu", "gelu_tanh", "hardshrink"),
        *("hardsigmoid", "hardswish", "hardtanh", "hypot", "isfinite", "isinf", "isnan", "leaky_relu", "lerp"),
        *("lgamma", "log", "log10", "log1p", "log2", "logaddexp", "logsigmoid", "max", "min", "mish"),
        *("nan_to_num", "nearbyint", "one_minus_square", "pentagamma", "pow", "rad2deg", "reciprocal", "relu"),
        *("relu6", "remainder", "rint", "round", "rsqrt", "selu", "sigmoid", "sign", "signbit", "silu", "sin"),
        *("sinc", "sinh", "softplus", "softshrink", "softsign", "sqrt", "square", "square_minus_one", "tan"),
        *("tanh", "tanhshrink", "tetragamma", "tgamma", "trigamma", "trunc", "xlog1py", "xlogy"),
    }
)
"""The functions of the headers. CUDA has its own by many of these names, some with another meaning (`round`, `min`)."""
_OTHERS = re.compile(r'"|<(?:math\.h|cmath|complex|tgmath\.h|ctgmath)>')
_MARKED = re.compile(rb"\b(?:__device__|__global__|__host__|OPWRIGHT_HOST_DEVICE)\b")


def device_text(text: str, functions: Iterable[str]) -> str:
    """The text with all that these functions use marked for the device, too.

    Args:
        text: C++ or CUDA C++.
        functions: names, with their namespaces or without.
    """
    data = text.encode("utf-8", "surrogateescape")
    found = list(entities(data))
    used = _reached(found, {name.rpartition("::")[2].encode() for name in functions})
    marks = {place: word for entity in used for place, word in entity.marks.items() if not _is_marked(data, place)}
    if not any(_OTHERS.search(each) for each in includes(data)):
        marks |= dict.fromkeys(_mathematics(used, found), b"opwright::")
    pieces, at = [], 0
    for place in sorted(marks):
        pieces += [data[at:place], marks[place]]
        at = place
    return b"".join([*pieces, data[at:]]).decode("utf-8", "surrogateescape")


def _reached(found: list[Entity], names: set[bytes]) -> list[Entity]:
    """What has one of these names, or a name that something reached uses."""
    by_name: dict[bytes, list[Entity]] = {}
    for entity in found:
        for name in entity.names:
            by_name.setdefault(name, []).append(entity)
    reached: dict[int, Entity] = {}
    waiting = list(names)
    while waiting:
        for entity in by_name.pop(waiting.pop(), []):
            if id(entity) not in reached:
                reached[id(entity)] = entity
                waiting += entity.uses
    return list(reached.values())


def _is_marked(data: bytes, place: int) -> bool:
    """Whether the author has marked the function that begins there."""
    head = re.split(rb"[({;=]", data[place : place + 400], maxsplit=1)[0]
    return bool(_MARKED.search(head))


def _mathematics(used: list[Entity], found: list[Entity]) -> set[int]:
    """Where the functions that are used call one of the headers, by a name that means nothing else in the file."""
    calls = {node.start_byte: node.text for e in used if e.node for node in walk(e.node) if _is_call(node)}
    names = {name for entity in found for name in entity.names}
    others = {node.text for e in found if e.node for node in walk(e.node) if _is_name(node) and not _is_call(node)}
    return {place for place, name in calls.items() if name not in names and name not in others and _known(name)}


def _known(name: bytes | None) -> bool:
    return name is not None and name.decode() in MATHEMATICS


def _is_name(node: tree_sitter.Node) -> bool:
    """Whether it is a name without a namespace before it."""
    return node.type == "identifier" and (node.parent is None or node.parent.type != "qualified_identifier")


def _is_call(node: tree_sitter.Node) -> bool:
    """Whether it is the name of what is called, without a namespace."""
    parent = node.parent
    if not _is_name(node) or parent is None or parent.type != "call_expression":
        return False
    called = parent.child_by_field_name("function")
    return called is not None and called.start_byte == node.start_byte and called.end_byte == node.end_byte
