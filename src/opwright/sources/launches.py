"""Finds kernel launches, ``callee<<<grid, block, shared, stream>>>(arguments)``, in CUDA source code.

The callee may be any postfix expression: a name with namespaces and template arguments, a member, a function pointer,
an element of a table, the result of a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from opwright.sources.cpp.tokens import MalformedError, Tokens

_NO_CALLEE = {"return", "else", "do", "throw", "case", "co_return", "co_yield", "operator", "and", "or", "not"}
_HEADS = {"if", "while", "for", "switch", "catch"}


class Piece(NamedTuple):
    """A part of the source: the offsets of its first character and just past its last character."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return this part of `text`."""
        return text[self.start : self.end]


class Launch(NamedTuple):
    """One launch.

    Attributes:
        piece: the whole launch, from the callee to the ``)``.
        callee: the kernel, as an expression.
        inside: the text between ``<<<`` and ``>>>``.
        configuration: grid, block and, if present, bytes of shared memory and stream.
        between: the text in the parentheses.
        arguments: the kernel's arguments.
    """

    piece: Piece
    callee: Piece
    inside: Piece
    configuration: tuple[Piece, ...]
    between: Piece
    arguments: tuple[Piece, ...]


def find_launches(tokens: Tokens) -> Iterator[Launch]:
    """Yield all launches that aren't nested in another launch, in order.

    Raises:
        MalformedError: the tokens around a ``<<<`` don't form a launch.
    """
    done = -1
    for index, token in enumerate(tokens.all):
        if index > done and token.text == "<<<" and token.kind == "sign" and not tokens.is_word(index - 1, "operator"):
            launch, done = _launch(tokens, index)
            yield launch


def _launch(tokens: Tokens, index: int) -> tuple[Launch, int]:
    """Return the launch whose ``<<<`` is at `index`, and the index of its last token."""
    all_tokens = tokens.all
    first = _callee_start(tokens, index - 1)
    if first is None:
        raise MalformedError("there is no kernel before <<<", all_tokens[index].start)
    closed = _configuration_end(tokens, index + 1)
    if closed is None:
        raise MalformedError("there is no >>>( behind this <<<", all_tokens[index].start)
    last = tokens.partner.get(closed + 3)
    if last is None:
        raise MalformedError("the arguments behind >>> have no end", all_tokens[closed].start)
    configuration = split_arguments(tokens, index + 1, closed)
    if not 2 <= len(configuration) <= 4:
        raise MalformedError(
            f"<<<...>>> has {len(configuration)} parts, expected <<<grid, block>>>, <<<grid, block, shared>>> or "
            "<<<grid, block, shared, stream>>>",
            all_tokens[index].start,
        )
    return Launch(
        Piece(all_tokens[first].start, all_tokens[last].end),
        Piece(all_tokens[first].start, all_tokens[index - 1].end),
        Piece(all_tokens[index].end, all_tokens[closed].start),
        configuration,
        Piece(all_tokens[closed + 3].end, all_tokens[last].start),
        split_arguments(tokens, closed + 4, last),
    ), last


def _configuration_end(tokens: Tokens, index: int) -> int | None:
    """Return the index of the first of the three ``>`` that end the configuration starting at `index`.

    The three are adjacent and followed by ``(``: in `Traits<T>>>>(`, the first ``>`` ends template arguments.
    """
    while index < len(tokens.all):
        if tokens.is_sign(index, "(", "[", "{"):
            index = tokens.partner.get(index, len(tokens.all))
        elif tokens.is_sign(index, ";", "}", ")", "]"):
            return None
        elif _three(tokens, index) and tokens.is_sign(index + 3, "("):
            return index
        index += 1
    return None


def _three(tokens: Tokens, index: int) -> bool:
    touching = all(
        tokens.is_sign(index + k + 1, ">") and tokens.all[index + k].end == tokens.all[index + k + 1].start
        for k in range(2)
    )
    return touching and tokens.is_sign(index, ">")


def _callee_start(tokens: Tokens, index: int) -> int | None:
    """Return the index of the first token of the postfix expression that ends at `index`, or None."""
    start: int | None = None
    while index >= 0:
        if tokens.is_sign(index, ")", "]"):
            opened = tokens.partner.get(index)
            if opened is None or tokens.is_word(opened - 1, *_HEADS):
                return start  # `if (x) f<<<...>>>()`
            start, called = opened, tokens.is_sign(opened, "[") or _ends_operand(tokens, opened - 1)
            if not called:
                return start
            index = opened - 1
            continue
        if tokens.is_sign(index, ">"):
            angle = tokens.angle_before(index)
            if angle is None:
                return start
            index = angle - 1
        if not tokens.is_word(index) or tokens.is_word(index, *_NO_CALLEE):
            return start
        start = index = _name_start(tokens, index)
        if not tokens.is_sign(index - 1, ".", "->"):
            return start
        index -= 2
    return start


def _name_start(tokens: Tokens, index: int) -> int:
    """Return the index of the first token of the qualified name whose last word is at `index`."""
    while True:
        if tokens.is_word(index - 1, "template"):
            index -= 1
        if not tokens.is_sign(index - 1, "::"):
            return index
        index -= 1
        if tokens.is_sign(index - 1, ">") and (angle := tokens.angle_before(index - 1)) is not None:
            index = angle - 1
        elif tokens.is_word(index - 1) and not tokens.is_word(index - 1, *_NO_CALLEE):
            index -= 1
        else:
            return index


def _ends_operand(tokens: Tokens, index: int) -> bool:
    """Return whether the expression that ends at `index` can be called or indexed."""
    if tokens.is_word(index):
        return not tokens.is_word(index, *_NO_CALLEE)
    if tokens.is_sign(index, ")"):
        return not tokens.is_word(tokens.partner.get(index, 0) - 1, *_HEADS)
    return tokens.is_sign(index, ">", "]")


def split_arguments(tokens: Tokens, first: int, end: int) -> tuple[Piece, ...]:
    """Return the comma-separated arguments between the tokens `first` and `end` (exclusive).

    ``f(a < b, c > (d))`` has one argument, since ``<`` and ``>`` are taken for a template's brackets; comparisons like
    this one need parentheses.
    """
    pieces: list[Piece] = []
    start = index = first
    while index < end:
        if tokens.is_sign(index, "(", "[", "{"):
            index = tokens.partner.get(index, index)
        elif tokens.is_sign(index, "<") and tokens.is_word(index - 1):
            index = _template_end(tokens, index, end)
        elif tokens.is_sign(index, ","):
            pieces.append(_piece(tokens, start, index))
            start = index + 1
        index += 1
    return (*pieces, _piece(tokens, start, end)) if end > first else ()


def _template_end(tokens: Tokens, index: int, end: int) -> int:
    """Return the index of the ``>`` that matches the ``<`` at `index`, or `index` if the ``<`` is a comparison."""
    behind = tokens.after_angle(index)
    if behind is None or behind > end:
        return index
    follows = behind == end or tokens.is_sign(behind, "(", "::", "{", ",", ")", "&", "*", ">")
    return behind - 1 if follows else index


def _piece(tokens: Tokens, first: int, end: int) -> Piece:
    if first == end:
        return Piece(tokens.all[first].start, tokens.all[first].start)
    return Piece(tokens.all[first].start, tokens.all[end - 1].end)
