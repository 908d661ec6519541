"""What is wrong with what was asked for, told apart from what goes wrong while it is done."""

from __future__ import annotations

from opwright.errors import ArgumentError


class RequestError(ArgumentError):
    """Sizes, element types, alternatives or operations don't fit the operator: nothing of it was measured."""
