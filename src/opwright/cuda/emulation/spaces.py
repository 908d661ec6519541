"""Whose the functions of a text are: the host's, the device's, or both's; and what the host may not do with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from opwright.cuda.emulation.regions import Region
from opwright.sources.chunks import Chunk, chunks
from opwright.sources.tokens import Tokens

_MARK = re.compile(
    r""" "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)' | (?P<mark>\b(?:__device__|__host__)\b) """, re.VERBOSE
)


class Body(NamedTuple):
    """A function with a body.

    Attributes:
        chunk: the function.
        first: the index of its ``{`` among the region's tokens.
        last: the index of its ``}``.
        member: whether it stands in a class.
    """

    chunk: Chunk
    first: int
    last: int
    member: bool

    @property
    def is_kernel(self) -> bool:
        """Whether it is launched."""
        return "global" in self.chunk.spaces

    @property
    def is_open(self) -> bool:
        """Whether the host may come to it and no compiler tells: it is both's, or a member."""
        return self.chunk.on_device and (self.member or not self.chunk.only_on_device)


class Functions:
    """The functions of a region, as long as their marks are in its text."""

    def __init__(self, region: Region) -> None:
        """Nothing is read before it is asked for."""
        self.region = region

    @cached_property
    def chunks(self) -> list[tuple[Chunk, bool]]:
        """Every declaration, and whether it is a member."""
        return list(_flat(self.region.tokens))

    @cached_property
    def bodies(self) -> list[Body]:
        """Those with a body."""
        return [
            Body(chunk, *chunk.body, member)
            for chunk, member in self.chunks
            if chunk.kind == "function" and chunk.body is not None
        ]

    def host_code(self) -> Iterator[int]:
        """The tokens in bodies of functions that only the host has; lambdas marked as the device's are left out."""
        for body in self.bodies:
            if not body.chunk.on_device and "constexpr" not in body.chunk.words:
                yield from _without_device_lambdas(self.region.tokens, body)

    def mentioned(self, body: Body) -> set[str]:
        """The words in it."""
        return {token.text for token in self.region.tokens.all[body.first : body.last] if token.kind == "word"}

    def only_devices(self) -> set[str]:
        """The names of free functions that only the device has; kernels are none."""
        return {chunk.name for chunk, member in self.chunks if _is_devices(chunk) and not member} - {"", "operator"}

    def others(self) -> set[str]:
        """The names of everything else but kernels."""
        every = self.chunks
        return {
            chunk.name for chunk, member in every if "global" not in chunk.spaces and (member or not _is_devices(chunk))
        }


def without_marks(text: str) -> str:
    """`text` with blanks for them: every other character is where it was, and literals are as they were."""
    return _MARK.sub(lambda found: " " * len(found[0]) if found["mark"] else found[0], text)


def _is_devices(chunk: Chunk) -> bool:
    return chunk.spaces == {"device"} and chunk.parameters is not None


def _flat(tokens: Tokens, first: int = 0, end: int | None = None, member: bool = False) -> Iterator[tuple[Chunk, bool]]:
    for chunk in chunks(tokens, first, end):
        yield chunk, member
        if chunk.kind == "class" and chunk.body:
            yield from _flat(tokens, chunk.body[0] + 1, chunk.body[1], True)


def _without_device_lambdas(tokens: Tokens, body: Body) -> Iterator[int]:
    at = body.first + 1
    while at < body.last:
        if tokens.is_sign(at, "]") and tokens.is_word(at + 1, "__device__", "__host__"):
            while at < body.last and not tokens.is_sign(at, "{"):
                at = tokens.partner.get(at, at) + 1 if tokens.is_sign(at, "(") else at + 1
            at = tokens.partner.get(at, at)
        else:
            yield at
        at += 1
