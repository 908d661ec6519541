"""Mistakes with enums: one that lacks a choice of the signature, a parameter that is none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.signature.scalar_kinds.choices import Choice
from opwright.toolchain.messages.mistake import Mistake, Rule, one_of

if TYPE_CHECKING:
    from opwright.toolchain.messages.author import Spot
    from opwright.toolchain.messages.diagnostics import Diagnostic

__all__ = ["RULES"]


def _lacks(match: re.Match[str], _error: Diagnostic, spot: Spot) -> Mistake | None:
    """Explain an enum without an enumerator for a choice."""
    names = [group for group in match.groups() if group]
    for scalar in spot.kernel.signature.scalars if spot.kernel else ():
        if isinstance(scalar.kind, Choice) and set(names) & set(scalar.kind.enumerators):
            enum = next((name for name in names if name not in scalar.kind.enumerators), scalar.name)
            lacking = next(name for name in names if name in scalar.kind.enumerators)
            listed = ", ".join(scalar.kind.enumerators)
            problem = f"{enum} has no enumerator {lacking}, which {scalar.name} can be"
            return Mistake(problem, f"enum class {enum} {{ {listed} }};", signature=True)
    return None


RULES: tuple[Rule, ...] = (
    Rule(
        one_of(
            r"'(\w+)' is not a member of '(?:\w+::)*(\w+)'",
            r"no member named '(\w+)' in '(?:\w+::)*(\w+)'",
            r'enum "(?:\w+::)*(\w+)" has no member "(\w+)"',
            r'"(\w+)" is not a member of',
        ),
        _lacks,
    ),
)
"""The rules, in the order in which they are tried."""
