"""The parser of lists of tensors: ``xs: list[T[N, each M]]``."""

from __future__ import annotations

from opwright.signature.grammar.parameters import parse_shape, parse_type
from opwright.signature.grammar.tokens import Tokens
from opwright.signature.grammar.validation import SourcePositions
from opwright.signature.model import TensorParam


def parse_tensors(tokens: Tokens, name: str, positions: SourcePositions, *, result: bool) -> TensorParam:
    """Parse a list of tensors; the element type of its tensors is the current token."""
    if tokens.kind != "name":
        tokens.fail(f"{name!r}: a list has elements", f"{name}: list[int], list[float], list[bool] or list[T[each N]]")
    positions.type(tokens.place)
    type_ = parse_type(tokens, name)
    if tokens.word != "[":
        tokens.fail(f"{name!r}: the tensors of a list have axes", f"{name}: list[{type_}[each N]]")
    shape = parse_shape(tokens, positions, result=result, listed=True)
    written = f"list[{type_}{shape}]"
    for mark, what in (("?", "optional"), ("!", "mutated"), (",", "of a fixed length")):
        if tokens.word == mark:
            fix = "a list of tensors has any length" if mark == "," else f"{written}{'!' * (mark == '!')}"
            tokens.fail(f"{name!r}: the tensors of a list can't be {what}", fix)
    tokens.expect("]", "after the tensors of a list", f"{name}: {written}")
    if tokens.word == "?":
        fix = f"an empty list is what an absent one would be: {name}: {written}"
        tokens.fail(f"{name!r} is a list of tensors and can't be optional", fix)
    if tokens.word == "!" and result:
        tokens.fail(f"{name!r} is an output and can't be mutated", "leave out the '!'")
    mutated = tokens.accept("!")
    positions.domain(tokens.place)
    if tokens.word == "in":
        fix = "check the elements in the kernel: OPWRIGHT_CHECK(condition, message...)"
        tokens.fail(f"{name!r} is a list of tensors, which has no domain", fix)
    if tokens.word == "=":
        tokens.fail(f"{name!r} is a list of tensors and can't have a default", f"{name}: {written}")
    return TensorParam(name, type_, shape, mutated=mutated, listed=True)
