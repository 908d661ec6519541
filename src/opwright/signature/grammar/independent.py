"""``independent N, C``: its axes, and where a signature says it of an axis that can't be."""

from __future__ import annotations

from opwright.signature.clauses.independent import axis_problem, operator_problem
from opwright.signature.grammar.parsed import Parsed, SourcePositions
from opwright.signature.grammar.tokens import Tokens, take_name


def parse_independent(tokens: Tokens, positions: SourcePositions) -> tuple[str, ...]:
    """Parse what follows ``independent``: names of axes."""
    found: list[str] = []
    while not found or tokens.accept(","):
        positions.independent.append(tokens.place)
        found.append(take_name(tokens, "an axis", "independent N, C"))
    return tuple(found)


def check_independent(parsed: Parsed) -> None:
    """Fail if an axis that is called independent can't be."""
    signature, positions, tokens = parsed.signature, parsed.positions, parsed.tokens
    if not signature.independent:
        return
    if problem := operator_problem(signature):
        tokens.fail(*problem, positions.modifiers["independent"])
    for index, (axis, place) in enumerate(zip(signature.independent, positions.independent, strict=True)):
        if axis in signature.independent[:index]:
            tokens.fail(f"{axis!r} stands twice", "leave one out", place)
        if problem := axis_problem(signature, axis):
            tokens.fail(*problem, place)
