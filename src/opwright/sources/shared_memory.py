"""Finds ``__shared__`` declarations in CUDA source code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from opwright.sources.cpp.tokens import MalformedError, Token, Tokens
from opwright.sources.launches import Piece

_DROPPED = {"__shared__", "extern", "static"}
_CALLED = {"__attribute__", "__attribute", "alignas", "_Alignas", "decltype", "__declspec", "__typeof__", "typeof"}
_AGGREGATES = {"struct", "class", "union", "enum"}


class Declarator(NamedTuple):
    """One variable of a declaration: ``tile[32][33]``.

    Attributes:
        name: the name, such as ``tile``.
        before: the text before the name, such as ``*``.
        behind: the text after the name, such as ``[32][33]``.
    """

    name: str
    before: str
    behind: str


class SharedDeclaration(NamedTuple):
    """One declaration of shared variables.

    Attributes:
        piece: the whole declaration, including ``;``.
        external: whether it is ``extern``: memory whose size the launch specifies.
        base: the common type of its variables, with ``volatile``, ``const`` and alignment.
        declarators: the variables.
        in_body: whether it is inside a function.
        last: the token index of its ``;``.
    """

    piece: Piece
    external: bool
    base: str
    declarators: tuple[Declarator, ...]
    in_body: bool
    last: int


def find_shared(tokens: Tokens) -> Iterator[SharedDeclaration]:
    """Yield all declarations of shared variables, in order.

    Raises:
        MalformedError: a declaration has an initial value, or can't be parsed.
    """
    done = -1
    for index, token in enumerate(tokens.all):
        if index > done and token.kind == "word" and token.text == "__shared__":
            declaration = _declaration(tokens, index)
            done = declaration.last
            yield declaration


def _declaration(tokens: Tokens, index: int) -> SharedDeclaration:
    all_tokens = tokens.all
    first, last = tokens.statement_start(index), _end(tokens, index)
    if last is None:
        raise MalformedError("this __shared__ declaration has no ;", all_tokens[index].start)
    kept = [at for at in range(first, last) if not tokens.is_word(at, *_DROPPED)]
    cuts = _cuts(tokens, kept)
    names = [_name(tokens, part) for part in cuts]
    if not names or names[0] is None:
        raise MalformedError(
            f"this __shared__ declaration can't be read: {_text(tokens, kept)}", all_tokens[first].start
        )
    base, declarators = _type_and_variables(tokens, cuts, names)
    _refuse_values(tokens, cuts, all_tokens[index])
    return SharedDeclaration(
        Piece(all_tokens[first].start, all_tokens[last].end),
        any(tokens.is_word(at, "extern") for at in range(first, index + 2)),
        base,
        declarators,
        in_body(tokens, index),
        last,
    )


def _end(tokens: Tokens, index: int) -> int | None:
    while index < len(tokens.all):
        if tokens.is_sign(index, "(", "[", "{"):
            index = tokens.partner.get(index, len(tokens.all))
        elif tokens.is_sign(index, ";"):
            return index
        elif tokens.is_sign(index, "}"):
            return None
        index += 1
    return None


def _groups(tokens: Tokens, kept: list[int]) -> list[list[int]]:
    """Group tokens that belong together: brackets with their contents, template arguments, attributes."""
    groups: list[list[int]] = []
    behind = -1
    for at in kept:
        if at < behind:
            groups[-1].append(at)
            continue
        groups.append([at])
        if tokens.is_sign(at, "(", "[", "{"):
            behind = tokens.partner.get(at, at) + 1
        elif tokens.is_sign(at, "<"):
            behind = tokens.after_angle(at) or at + 1
        elif tokens.is_word(at, *_CALLED) and tokens.is_sign(at + 1, "("):
            behind = tokens.partner.get(at + 1, at) + 1
    return groups


def _cuts(tokens: Tokens, kept: list[int]) -> list[list[list[int]]]:
    """Return the groups of each variable; those of the first variable begin with the type."""
    variables: list[list[list[int]]] = [[]]
    for group in _groups(tokens, kept):
        if tokens.is_sign(group[0], ","):
            variables.append([])
        else:
            variables[-1].append(group)
    return variables


def _name(tokens: Tokens, groups: list[list[int]]) -> tuple[int, int] | None:
    """Return the index of the group with the variable's name, and the index of the name's token; None if not found."""
    place = None
    for number, group in enumerate(groups):
        if tokens.is_sign(group[0], "[", "=", ":") and place:
            return place
        if tokens.is_sign(group[0], "(") and tokens.is_sign(group[0] + 1, "*", "&"):
            inner = [at for at in group if tokens.is_word(at)]
            return (number, inner[-1]) if inner else None
        if len(group) == 1 and tokens.is_word(group[0]):
            place = number, group[0]
    return place


def _type_and_variables(
    tokens: Tokens, cuts: list[list[list[int]]], names: list[tuple[int, int] | None]
) -> tuple[str, tuple[Declarator, ...]]:
    """Return the common type and the variables."""
    base: list[int] = []
    declarators = []
    for number, (groups, name) in enumerate(zip(cuts, names, strict=True)):
        if name is None:
            raise MalformedError("this __shared__ declaration can't be read", tokens.all[groups[0][0]].start)
        flat = [at for group in groups for at in group]
        at = flat.index(name[1])
        before, behind = flat[:at], flat[at + 1 :]
        if number == 0:
            own = _own(tokens, groups, name)
            base, before = flat[: flat.index(own)], flat[flat.index(own) : at]
        declarators.append(Declarator(tokens.all[name[1]].text, _text(tokens, before), _text(tokens, behind)))
    return _text(tokens, base), tuple(declarators)


def _own(tokens: Tokens, groups: list[list[int]], name: tuple[int, int]) -> int:
    """Return the index of the first token that belongs only to the first variable: its ``*`` or its name."""
    number = name[0]
    while number > 0 and tokens.is_sign(groups[number - 1][0], "*", "&"):
        number -= 1
    return groups[number][0]


def _text(tokens: Tokens, indices: list[int]) -> str:
    return " ".join(tokens.all[at].text for at in indices)


def _refuse_values(tokens: Tokens, cuts: list[list[list[int]]], keyword: Token) -> None:
    for groups in cuts:
        opened = tokens.is_sign(groups[-1][0], "{") and len(groups) > 1 and tokens.is_word(groups[-2][-1])
        aggregate = any(tokens.is_word(group[0], *_AGGREGATES) for group in groups)
        if any(tokens.is_sign(group[0], "=") for group in groups) or (opened and not aggregate):
            raise MalformedError("a __shared__ variable can't have an initial value", keyword.start)


def in_body(tokens: Tokens, index: int) -> bool:
    """Return whether the token at `index` is inside a function."""
    return any(_opens_body(tokens, brace) for brace in tokens.enclosing(index))


def _opens_body(tokens: Tokens, brace: int) -> bool:
    first = tokens.statement_start(brace)
    head = range(first, brace)
    if any(tokens.is_word(at, "namespace") for at in head):
        return False
    if brace > first and tokens.all[brace - 1].kind == "string":  # extern "C" {
        return False
    if any(tokens.is_word(at, *_AGGREGATES) for at in head):
        return tokens.is_sign(brace - 1, ")") and not tokens.is_word(tokens.partner.get(brace - 1, 0) - 1, *_CALLED)
    return True
