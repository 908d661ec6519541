"""Scalar parameters and their defaults, read from tokens."""

from __future__ import annotations

import sys
from typing import Literal, cast

from opwright.signature.model import ScalarParam
from opwright.signature.tokens import Tokens

SCALARS = ("float", "int", "bool")
_BOOLS = {"True": True, "true": True, "False": False, "false": False}


def parse_scalar(tokens: Tokens, name: str) -> ScalarParam:
    """Read a scalar's type and default; the type is the current word."""
    kind = cast(Literal["float", "int", "bool"], tokens.take())
    if tokens.word == "?":
        fix = f"give it a default: {name}: {kind} = {_EXAMPLE[kind]}"
        tokens.fail(f"{name!r} is a scalar and can't be optional", fix)
    if tokens.word == "!":
        tokens.fail(f"{name!r} is a scalar and can't be mutated", f"a 0-dim tensor: {name}: T[]!")
    default = _default(tokens, name, kind) if tokens.accept("=") else None
    return ScalarParam(name, kind, default)


_EXAMPLE = {"float": "1.0", "int": "1", "bool": "False"}


def _default(tokens: Tokens, name: str, kind: str) -> float | int | bool:
    place, negative = tokens.place, kind != "bool" and tokens.accept("-")
    word, number = tokens.word, tokens.kind == "number"
    value: float | int | bool | None = None
    if kind == "bool":
        value = _BOOLS.get(word)
    elif number and kind == "float":
        value = float(word)
    elif number and word.isdigit() and len(word) <= 19:
        value = int(word)
    if value is None:
        tokens.fail(
            f"{word or 'the end'} isn't a default for {name!r}, which is {_ARTICLE[kind]}",
            f"{name}: {kind} = {_EXAMPLE[kind]}",
            place,
        )
    tokens.take()
    value = -value if negative else value
    if kind == "int" and not -(2**63) <= value < 2**63:
        tokens.fail(f"the default of {name!r} doesn't fit 64 bits", None, place)
    # neither infinity nor a subnormal number survives torch's schema parser
    if kind == "float" and value != 0 and not sys.float_info.min <= abs(value) <= sys.float_info.max:
        tokens.fail(f"the default of {name!r} is outside the normal range of a double", None, place)
    return value


_ARTICLE = {"float": "a float", "int": "an int", "bool": "a bool"}
