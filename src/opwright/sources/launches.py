"""Finds kernel launches, ``callee<<<grid, block, shared, stream>>>(arguments)``, in CUDA text.

The callee may be any postfix expression: a name with namespaces and template arguments, a member, a function pointer,
an element of a table, what a call returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from opwright.sources.lexer import MalformedError
from opwright.sources.tokens import Tokens

__all__ = ["Launch", "Piece", "find_launches", "split_arguments"]

_NO_CALLEE = {"return", "else", "do", "throw", "case", "co_return", "co_yield", "operator", "and", "or", "not"}
_HEADS = {"if", "while", "for", "switch", "catch"}


class Piece(NamedTuple):
    """A part of the text: the offsets of its first character and of the one behind its last."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """What stands there in `text`."""
        return text[self.start : self.end]


class Launch(NamedTuple):
    """One launch.

    Attributes:
        piece: all of it, from the callee to the ``)``.
        callee: the kernel, as an expression.
        inside: what stands between ``<<<`` and ``>>>``.
        configuration: grid, block and, where they are given, bytes of shared memory and stream.
        between: what stands in the parentheses.
        arguments: the kernel's arguments.
    """

    piece: Piece
    callee: Piece
    inside: Piece
    configuration: tuple[Piece, ...]
    between: Piece
    arguments: tuple[Piece, ...]


def find_launches(tokens: Tokens) -> Iterator[Launch]:
    """Every launch that doesn't stand within another one, in order.

    Raises:
        MalformedError: something follows or precedes a ``<<<`` that no launch can have.
    """
    done = -1
    for index, token in enumerate(tokens.all):
        if index > done and token.text == "<<<" and token.kind == "sign" and not tokens.is_word(index - 1, "operator"):
            launch, done = _launch(tokens, index)
            yield launch


def _launch(tokens: Tokens, index: int) -> tuple[Launch, int]:
    """The launch whose ``<<<`` is at `index`, and the index of its last token."""
    every = tokens.all
    first = _callee_start(tokens, index - 1)
    if first is None:
        raise MalformedError("there is no kernel before <<<", every[index].start)
    closed = _configuration_end(tokens, index + 1)
    if closed is None:
        raise MalformedError("there is no >>>( behind this <<<", every[index].start)
    last = tokens.partner.get(closed + 3)
    if last is None:
        raise MalformedError("the arguments behind >>> have no end", every[closed].start)
    configuration = split_arguments(tokens, index + 1, closed)
    if not 2 <= len(configuration) <= 4:
        raise MalformedError(
            f"<<<...>>> has {len(configuration)} parts, expected <<<grid, block>>>, <<<grid, block, shared>>> or "
            "<<<grid, block, shared, stream>>>",
            every[index].start,
        )
    return Launch(
        Piece(every[first].start, every[last].end),
        Piece(every[first].start, every[index - 1].end),
        Piece(every[index].end, every[closed].start),
        configuration,
        Piece(every[closed + 3].end, every[last].start),
        split_arguments(tokens, closed + 4, last),
    ), last


def _configuration_end(tokens: Tokens, index: int) -> int | None:
    """The index of the first of the three ``>`` that end the configuration which begins at `index`.

    They touch, and a ``(`` follows: `Traits<T>>>>(` ends a template's arguments first.
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
    """The index where the postfix expression that ends at `index` begins."""
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
    """Where the name whose last word is at `index` begins, with its namespaces and classes."""
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
    """Whether what ends at `index` can be called or indexed."""
    if tokens.is_word(index):
        return not tokens.is_word(index, *_NO_CALLEE)
    if tokens.is_sign(index, ")"):
        return not tokens.is_word(tokens.partner.get(index, 0) - 1, *_HEADS)
    return tokens.is_sign(index, ">", "]")


def split_arguments(tokens: Tokens, first: int, end: int) -> tuple[Piece, ...]:
    """What the commas between the tokens `first` and `end` (not included) separate.

    ``f(a < b, c > (d))`` has one argument here, as a template's would be; whoever compares writes parentheses.
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
    """The index of the ``>`` that belongs to the ``<`` at `index`, or `index` where it compares."""
    behind = tokens.after_angle(index)
    if behind is None or behind > end:
        return index
    follows = behind == end or tokens.is_sign(behind, "(", "::", "{", ",", ")", "&", "*", ">")
    return behind - 1 if follows else index


def _piece(tokens: Tokens, first: int, end: int) -> Piece:
    if first == end:
        return Piece(tokens.all[first].start, tokens.all[first].start)
    return Piece(tokens.all[first].start, tokens.all[end - 1].end)
