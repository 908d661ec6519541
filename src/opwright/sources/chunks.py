"""The declarations of preprocessed CUDA text: functions, classes and other statements, with their execution spaces.

Only what stands in namespaces and classes is told apart; what stands in bodies isn't looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright.sources.chunk_reader import Chunk, Reader
from opwright.sources.tokens import Tokens

__all__ = ["Chunk", "chunks", "identifiers"]

_ACCESS = {"public", "private", "protected"}
_WORD = re.compile(r"[^\W\d]\w*")
_NO_NAMES = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|' + r"'(?:[^'\\\n]|\\.)*'" + r"|//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE
)


def identifiers(text: str) -> set[str]:
    """Every word in `text`, those in comments and literals left out."""
    return set(_WORD.findall(_NO_NAMES.sub(" ", text)))


def chunks(tokens: Tokens, first: int = 0, end: int | None = None) -> Iterator[Chunk]:
    """The declarations from token `first` to token `end` (not included), in order.

    Namespaces and linkage blocks are entered; of a class's body, call it again with the indices of `Chunk.body`.
    """
    index, last = first, len(tokens.all) if end is None else end
    while index < last:
        index, chunk = _next(tokens, index, last)
        if chunk:
            yield chunk


def _next(tokens: Tokens, index: int, last: int) -> tuple[int, Chunk | None]:
    every = tokens.all
    token = every[index]
    if tokens.is_sign(index, "}"):
        return index + 1, Chunk("close", token.start, token.end)
    if tokens.is_sign(index, ";"):
        return index + 1, None
    if tokens.is_word(index, *_ACCESS) and tokens.is_sign(index + 1, ":"):
        return index + 2, None
    if (opened := _opened(tokens, index)) is not None:
        return opened + 1, Chunk("open", token.start, every[opened].end)
    return Reader(tokens, index, last).read()


def _opened(tokens: Tokens, index: int) -> int | None:
    """The index of the ``{`` of a namespace or a linkage block that begins at `index`."""
    every = tokens.all
    at = index + tokens.is_word(index, "inline")
    if tokens.is_word(at, "namespace"):
        while at < len(every) and not tokens.is_sign(at, "{", ";", "="):
            at = tokens.partner.get(at, at) + 1
        return at if tokens.is_sign(at, "{") else None
    if tokens.is_word(index, "extern") and index + 2 < len(every) and every[index + 1].kind == "string":
        return index + 2 if tokens.is_sign(index + 2, "{") else None
    return None
