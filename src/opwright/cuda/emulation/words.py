"""Words of CUDA that C++ doesn't know, and what can't be emulated."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.cuda.emulation.edits import Edit
from opwright.cuda.emulation.regions import Region
from opwright.errors import CompileError
from opwright.sources.tokens import Tokens

_ASSEMBLY = {"asm", "__asm__", "__asm"}
_BY_POINTER = {"cudaLaunchKernel", "cudaLaunchCooperativeKernel"}


def word_edits(region: Region) -> Iterator[Edit]:
    """The changes to single words.

    Raises:
        CompileError: there is inline assembly for a GPU.
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
        elif token.text in _ASSEMBLY and region.kind == "user":
            _refuse_assembly(region, index)


def _refuse_assembly(region: Region, index: int) -> None:
    """PTX; an empty text, which only keeps a compiler from moving things, may stay."""
    at = index + 1
    while region.tokens.is_word(at, "volatile", "__volatile__", "inline", "goto"):
        at += 1
    if not region.tokens.is_sign(at, "(") or region.tokens.all[at + 1].text == '""':
        return
    raise CompileError(
        f"{region.place(region.tokens.all[index].start)}: error: inline PTX can't be emulated: "
        f"{region.tokens.all[at + 1].text[:60]}\n"
        "  likely fix: write it in CUDA C++, or have it compiled for GPUs alone: #ifndef OPWRIGHT_EMULATION"
    )


def _without_cast(tokens: Tokens, opened: int) -> Iterator[Edit]:
    """``(void *)kernel`` as a function's first argument keeps its type: the emulated function needs it."""
    first = opened + 1
    if not tokens.is_sign(opened, "("):
        return
    if tokens.is_sign(first, "("):
        end = tokens.partner.get(first, first)
        words = [tokens.all[at].text for at in range(first + 1, end)]
    elif tokens.is_word(first, "reinterpret_cast", "static_cast") and tokens.is_sign(first + 1, "<"):
        end = (tokens.after_angle(first + 1) or first + 2) - 1
        words = [tokens.all[at].text for at in range(first + 2, end)]
    else:
        return
    if sorted(word for word in words if word != "const") == ["*", "void"]:
        yield Edit(tokens.all[first].start, tokens.all[end].end, "")
