"""Names that stand for something else wherever no declaration of the author's hides them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from opwright.cuda.emulation.edits import Edit
from opwright.cuda.emulation.regions import Region
from opwright.sources.tokens import Tokens

_NO_DECLARATION = {
    *("return", "case", "else", "throw", "sizeof", "and", "or", "not", "do", "goto", "co_return", "co_yield"),
}
_INDICES = {
    "threadIdx": "(::opwright::emulation::thread_index())",
    "blockIdx": "(::opwright::emulation::block_index())",
    "blockDim": "(::opwright::emulation::block_size())",
    "gridDim": "(::opwright::emulation::grid_size())",
}
INDEX = re.compile(rf"\b(?:{'|'.join(_INDICES)})\b")


def index_edits(region: Region) -> Iterator[Edit]:
    """Every threadIdx, blockIdx, blockDim and gridDim that isn't a variable of the author's."""
    for name, value in _INDICES.items():
        if name in region.text:
            yield from uses(region.tokens, name, -1, value, declares_object)


def replaced_indices(text: str) -> str:
    """`text` with all of them replaced: an installed package's, that has no such variables."""
    return INDEX.sub(lambda match: _INDICES[match[0]], text)


def uses(tokens: Tokens, name: str, first: int, value: str, declares: Callable[[Tokens, int], bool]) -> Iterator[Edit]:
    """Every use of the variable `name` behind the token `first`; not of others with its name, in their scopes."""
    hidden = -1
    for index in range(first + 1, len(tokens.all)):
        if index <= hidden or not tokens.is_word(index, name) or tokens.is_sign(index - 1, ".", "->", "::"):
            continue
        if declares(tokens, index):
            hidden = _scope_end(tokens, index)
        else:
            yield Edit(tokens.all[index].start, tokens.all[index].end, value)


def declares_array(tokens: Tokens, index: int) -> bool:
    """Whether the word at `index` is being declared: a type stands before it (an array is no factor)."""
    before = index - 1
    while tokens.is_sign(before, "*", "&"):
        before -= 1
    return tokens.is_sign(before, ">") or _is_type(tokens, before)


def declares_object(tokens: Tokens, index: int) -> bool:
    """The same for what may be multiplied, one member at a time."""
    if tokens.is_sign(index - 1, "*", "&"):
        return _is_type(tokens, index - 2) and not tokens.is_sign(index + 1, ".")
    return _is_type(tokens, index - 1)


def _is_type(tokens: Tokens, index: int) -> bool:
    return tokens.is_word(index) and not tokens.is_word(index, *_NO_DECLARATION)


def _scope_end(tokens: Tokens, index: int) -> int:
    """The index of the ``}`` that ends the scope of what is declared at `index`; of a parameter: its function's."""
    at = index
    while at < len(tokens.all):
        if tokens.is_sign(at, ")"):  # it was a parameter
            return _body_end(tokens, at)
        if tokens.is_sign(at, "}"):
            return at
        at = tokens.partner.get(at, at) + 1 if tokens.is_sign(at, "(", "[", "{") else at + 1
    return at


def _body_end(tokens: Tokens, at: int) -> int:
    while at < len(tokens.all) and not tokens.is_sign(at, ";"):
        if tokens.is_sign(at, "{"):
            return tokens.partner.get(at, at)
        at += 1
    return at
