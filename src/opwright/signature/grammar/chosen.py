"""Parsers of arguments that choose: the number of an axis, an element type, a device."""

from __future__ import annotations

from opwright.signature.chosen.kinds import AxisKind, DeviceKind, DtypeKind
from opwright.signature.dtypes import BY_NAME
from opwright.signature.grammar.parameters import parse_dtype, parse_variable
from opwright.signature.grammar.scalars import parse_default
from opwright.signature.grammar.tokens import Tokens, take_name
from opwright.signature.parameters import ScalarParam


def parse_axis(tokens: Tokens, name: str) -> ScalarParam:
    """Parse an argument that says which axis one is, and its default; ``axis`` is the current token."""
    tokens.take()
    tokens.take()
    kind = AxisKind(take_name(tokens, "an axis", f"{name}: axis(D) = -1"))
    tokens.expect(")", "after the name of an axis", f"{name}: {kind} = -1")
    _refuse_marks(tokens, name, "the number of an axis")
    if tokens.word == "in":
        tokens.fail(f"{name!r} is the number of an axis, so its domain is known", "leave it out")
    return ScalarParam(name, kind, parse_default(tokens, name, kind) if tokens.accept("=") else None)


def parse_dtype_argument(tokens: Tokens, name: str) -> ScalarParam:
    """Parse an argument that is an element type, by default one or a variable; ``dtype`` is the current token."""
    tokens.take()
    tokens.take()
    variable = parse_variable(tokens)
    tokens.expect(")", f"after {variable}", f"{name}: dtype({variable}) = f32")
    _refuse_marks(tokens, name, "an element type")
    if not tokens.accept("="):
        return ScalarParam(name, DtypeKind(variable))
    if tokens.kind == "name" and tokens.word not in BY_NAME and tokens.word[0].isupper():
        return ScalarParam(name, DtypeKind(variable, parse_variable(tokens)))
    default = parse_dtype(tokens, f"an element type for {name!r}, or a type variable")
    return ScalarParam(name, DtypeKind(variable), default)


def parse_device(tokens: Tokens, name: str) -> ScalarParam:
    """Parse an argument that is a device; ``device`` is the current token."""
    tokens.take()
    _refuse_marks(tokens, name, "a device")
    if tokens.word == "=":
        tokens.fail(f"{name!r} is a device: that of the tensors, or the CPU, is its default", f"{name}: device")
    return ScalarParam(name, DeviceKind())


def _refuse_marks(tokens: Tokens, name: str, what: str) -> None:
    for mark, cannot in (("?", "optional"), ("!", "mutated")):
        if tokens.word == mark:
            tokens.fail(f"{name!r} is {what} and can't be {cannot}", "leave out the mark")
