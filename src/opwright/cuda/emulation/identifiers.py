"""Replacing identifiers: threadIdx etc., CUDA's keywords."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from opwright.cuda.emulation.ptx import assembly_edits
from opwright.cuda.emulation.regions import Region
from opwright.sources.cpp.edits import Edit
from opwright.sources.cpp.tokens import Tokens

_NO_DECLARATION = {
    *("return", "case", "else", "throw", "sizeof", "and", "or", "not", "do", "goto", "co_return", "co_yield"),
}
INDICES = {
    "threadIdx": "(::opwright::emulation::thread_index())",
    "blockIdx": "(::opwright::emulation::block_index())",
    "blockDim": "(::opwright::emulation::block_size())",
    "gridDim": "(::opwright::emulation::grid_size())",
}
INDEX = re.compile(rf"\b(?:{'|'.join(INDICES)})\b")


def index_edits(region: Region) -> Iterator[Edit]:
    """Yield the replacements of threadIdx, blockIdx, blockDim and gridDim, except the author's variables so named."""
    for name, value in INDICES.items():
        if name in region.text:
            yield from use_edits(region.tokens, name, -1, value, declares_object)


def replaced_indices(text: str) -> str:
    """Replace threadIdx etc. in the code of an installed package, which has no variables with these names."""
    return INDEX.sub(lambda match: INDICES[match[0]], text)


def use_edits(
    tokens: Tokens, name: str, first: int, value: str, declares: Callable[[Tokens, int], bool]
) -> Iterator[Edit]:
    """Yield the replacements of the variable `name` after the token `first`; skip scopes that redeclare the name."""
    hidden = -1
    for index in range(first + 1, len(tokens.all)):
        if index <= hidden or not tokens.is_word(index, name) or tokens.is_sign(index - 1, ".", "->", "::"):
            continue
        if declares(tokens, index):
            hidden = scope_end(tokens, index)
        else:
            yield Edit(tokens.all[index].start, tokens.all[index].end, value)


def declares_array(tokens: Tokens, index: int) -> bool:
    """Return whether the word at `index`, an array's name, is declared there: it follows a type.

    ``T *name`` is a declaration, since an array can't be multiplied.
    """
    before = index - 1
    while tokens.is_sign(before, "*", "&"):
        before -= 1
    return tokens.is_sign(before, ">") or _is_type(tokens, before)


def declares_object(tokens: Tokens, index: int) -> bool:
    """Return whether the word at `index` is declared there, as in ``T name`` and ``T *name``.

    An object may have numeric members: ``a * name.x`` is a product, not a declaration.
    """
    if tokens.is_sign(index - 1, "*", "&"):
        return _is_type(tokens, index - 2) and not tokens.is_sign(index + 1, ".")
    return _is_type(tokens, index - 1)


def _is_type(tokens: Tokens, index: int) -> bool:
    return tokens.is_word(index) and not tokens.is_word(index, *_NO_DECLARATION)


def scope_end(tokens: Tokens, index: int) -> int:
    """Return the index of the ``}`` that ends the scope of the name at `index`; for a parameter, the function's."""
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


ASSEMBLY = ("asm", "__asm__", "__asm")
_BY_POINTER = {"cudaLaunchKernel", "cudaLaunchCooperativeKernel"}


def keyword_edits(region: Region, host_asm: Collection[int] = ()) -> Iterator[Edit]:
    """Yield the replacements of CUDA's keywords.

    Args:
        region: the code.
        host_asm: the offsets of words that stay, since they are the host's: ``asm`` of its processor.

    Raises:
        CompileError: the code contains inline PTX that isn't supported.
    """
    tokens = region.tokens
    for index, token in enumerate(tokens.all):
        if token.kind != "word":
            continue
        if token.text == "__global__":
            yield Edit(token.start, token.end, "")
        elif token.text == "__noinline__" and not tokens.is_sign(index - 1, "(", ","):
            yield Edit(token.start, token.end, "__attribute__((noinline))")
        elif token.text in _BY_POINTER:
            yield from _without_cast(tokens, index + 1)
        elif token.text in ASSEMBLY and region.kind == "user" and token.start not in host_asm:
            yield from assembly_edits(region, index)


def _without_cast(tokens: Tokens, opened: int) -> Iterator[Edit]:
    """Yield the removal of the cast in a first argument ``(void *)kernel``: emulation needs the kernel's type."""
    first = opened + 1
    if not tokens.is_sign(opened, "("):
        return
    if tokens.is_sign(first, "("):
        end = tokens.partner.get(first, first)
        target = [tokens.all[at].text for at in range(first + 1, end)]
    elif tokens.is_word(first, "reinterpret_cast", "static_cast") and tokens.is_sign(first + 1, "<"):
        end = (tokens.after_angle(first + 1) or first + 2) - 1
        target = [tokens.all[at].text for at in range(first + 2, end)]
    else:
        return
    if sorted(word for word in target if word != "const") == ["*", "void"]:
        yield Edit(tokens.all[first].start, tokens.all[end].end, "")
