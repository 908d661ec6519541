"""Finds the parameters that a function's body tests for being there.

A gradient or residual that nobody wants isn't there, and a kernel that writes it without a test would write through a
null pointer. So the runtime gives memory to those that the kernel never tests.
"""

from __future__ import annotations

from collections.abc import Iterable

from opwright.sources.cpp.tokens import Tokens

__all__ = ["find_tested"]

_NULL = {"nullptr", "NULL", "0"}
_MEMBERS = ("needed", "data")
_JUNCTIONS = ("&&", "||", "?")


def find_tested(body: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return those of the names that a function's body tests, in their order.

    A test is ``if (g)``, ``!g``, ``g && ...``, ``g ? ... : ...``, ``bool(g)``, ``g.needed()``, ``g.data()``, or a
    comparison with null. Whether each use stands behind the test isn't examined.
    """
    tokens = Tokens(body)
    tested = {
        token.text for at, token in enumerate(tokens.all) if token.kind == "word" and _is_test(tokens, at)
    }  # of any word
    return tuple(name for name in names if name in tested)


def _is_test(tokens: Tokens, at: int) -> bool:
    if tokens.is_sign(at - 1, ".", "->", "::"):
        return False  # another thing's member
    if tokens.is_sign(at + 1, "."):
        return tokens.is_word(at + 2, *_MEMBERS)
    first, last = at, at
    while tokens.is_sign(first - 1, "(") and tokens.is_sign(last + 1, ")"):
        first, last = first - 1, last + 1
        if tokens.is_word(first - 1, "if", "while", "bool", "constexpr"):
            return True
        if tokens.is_word(first - 1) or tokens.is_sign(first - 1, ">", ")", "]"):
            return False  # the argument of a call
    before, after = tokens.is_sign(first - 1, *_JUNCTIONS, "!"), tokens.is_sign(last + 1, *_JUNCTIONS)
    if tokens.is_sign(first - 1, "!"):
        return not tokens.is_sign(last + 1, "[", "(")
    if tokens.is_sign(last + 1, "==", "!=") and _is_null(tokens, last + 2):
        return True
    if tokens.is_sign(first - 1, "==", "!=") and _is_null(tokens, first - 2):
        return True
    starts = before or tokens.is_sign(first - 1, "(", "=", ",", ";", "{", "}") or tokens.is_word(first - 1, "return")
    ends = after or tokens.is_sign(last + 1, ")", ";", ",", "}")
    return starts and ends and (before or after)


def _is_null(tokens: Tokens, at: int) -> bool:
    return 0 <= at < len(tokens.all) and tokens.all[at].text in _NULL
