"""Splitting preprocessed code by the kind of file it comes from, and the functions in each region."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple

from opwright.sources.cpp.line_markers import LineMarker, LineMarkers, Place
from opwright.sources.cpp.tokens import Tokens, line_of
from opwright.sources.cuda_declarations import Declaration, declarations
from opwright.toolchain import header_dir

Kind = Literal["user", "ours", "system"]


_LAUNCH = re.compile("<<<")


class Region:
    """A part of the code that comes from files of one kind.

    Attributes:
        kind: ``user`` for the author's files, ``ours`` for Opwright's headers and for those of installed packages that
            launch kernels, ``system`` for the others of installed packages.
        text: the code, with line markers.
        tokens: its tokens.
        markers: its line markers.
    """

    def __init__(self, kind: Kind, text: str) -> None:
        """Store the code; it is parsed on demand."""
        self.kind = kind
        self.text = text
        self.tokens = Tokens(text)
        self.markers = LineMarkers(text)

    def place(self, offset: int) -> Place:
        """Return the file and the line of the code at `offset`."""
        return self.markers.place(offset) or Place("?", line_of(self.text, offset))


def regions(text: str) -> Iterator[Region]:
    """Split preprocessed code into regions, in order; concatenated they are `text`."""
    kinds: dict[str, Kind] = {}
    kind: Kind = "user"
    start = 0
    markers = LineMarkers(text)
    launching = {place.file for found in _LAUNCH.finditer(text) if (place := markers.place(found.start()))}
    for marker in markers.all:
        next_kind = kinds.setdefault(marker.place.file, _kind(marker, launching))
        if next_kind != kind:
            if marker.start > start:
                yield Region(kind, text[start : marker.start])
            kind, start = next_kind, marker.start
    yield Region(kind, text[start:])


def _kind(marker: LineMarker, launching: set[str]) -> Kind:
    """Return the kind of a file from its first marker; later ones are also "system" in expansions of system macros."""
    file = marker.place.file
    if file.startswith(os.path.join(str(header_dir()), "")):
        return "ours"
    if marker.is_system or file.startswith("<"):
        return "ours" if file in launching else "system"
    return "user"


_MARK = re.compile(
    r""" "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)' | (?P<mark>\b(?:__device__|__host__)\b) """, re.VERBOSE
)


class Body(NamedTuple):
    """A function with a body.

    Attributes:
        decl: the function.
        first: the index of its ``{`` among the region's tokens.
        last: the index of its ``}``.
        member: whether it is a class member.
    """

    decl: Declaration
    first: int
    last: int
    member: bool

    @property
    def is_kernel(self) -> bool:
        """Whether it is a ``__global__`` function."""
        return "global" in self.decl.spaces

    @property
    def is_open(self) -> bool:
        """Whether host code may call it without a detectable error: it is ``__host__ __device__``, or a member."""
        return self.decl.on_device and (self.member or not self.decl.only_on_device)


class Functions:
    """The functions of a region whose marks (``__device__`` etc.) haven't been removed yet."""

    def __init__(self, region: Region) -> None:
        """Store the region; it is parsed on demand."""
        self.region = region

    @cached_property
    def declarations(self) -> list[tuple[Declaration, bool]]:
        """All declarations, each with whether it is a class member."""
        return list(_flat(self.region.tokens))

    @cached_property
    def bodies(self) -> list[Body]:
        """The functions with a body."""
        return [
            Body(decl, *decl.body, member)
            for decl, member in self.declarations
            if decl.kind == "function" and decl.body is not None
        ]

    def host_code(self) -> Iterator[int]:
        """Yield the indices of tokens in bodies of host functions, except lambdas marked as device code."""
        for body in self.bodies:
            if not body.decl.on_device and "constexpr" not in body.decl.words:
                yield from without_device_lambdas(self.region.tokens, body)

    def host_words(self, *words: str) -> set[int]:
        """Return the offsets of these words in `host_code`, and at the beginning of statements outside of functions."""
        tokens = self.region.tokens
        if not any(word in self.region.text for word in words):
            return set()
        firsts = {(word,) for word in words}
        outside = {decl.start for decl, _ in self.declarations if decl.kind == "statement" and decl.words[:1] in firsts}
        return outside | {tokens.all[index].start for index in self.host_code() if tokens.is_word(index, *words)}

    def mentioned(self, body: Body) -> set[str]:
        """Return the identifiers and keywords in a body."""
        return {token.text for token in self.region.tokens.all[body.first : body.last] if token.kind == "word"}

    def only_devices(self) -> set[str]:
        """Return the names of free ``__device__`` functions that aren't also ``__host__``; kernels don't count."""
        return {decl.name for decl, member in self.declarations if _is_devices(decl) and not member} - {"", "operator"}

    def others(self) -> set[str]:
        """Return the names of all other declarations except kernels."""
        members = self.declarations
        return {
            decl.name for decl, member in members if "global" not in decl.spaces and (member or not _is_devices(decl))
        }


def without_marks(text: str) -> str:
    """Return `text` with ``__device__`` and ``__host__`` replaced by spaces, except in literals."""
    return _MARK.sub(lambda found: " " * len(found[0]) if found["mark"] else found[0], text)


def _is_devices(decl: Declaration) -> bool:
    return decl.spaces == {"device"} and decl.parameters is not None


def _flat(
    tokens: Tokens, first: int = 0, end: int | None = None, member: bool = False
) -> Iterator[tuple[Declaration, bool]]:
    for decl in declarations(tokens, first, end):
        yield decl, member
        if decl.kind == "class" and decl.body:
            yield from _flat(tokens, decl.body[0] + 1, decl.body[1], True)


def without_device_lambdas(tokens: Tokens, body: Body) -> Iterator[int]:
    """Yield the indices of a body's tokens, except those of lambdas marked as device code."""
    at = body.first + 1
    while at < body.last:
        if tokens.is_sign(at, "]") and tokens.is_word(at + 1, "__device__", "__host__"):
            while at < body.last and not tokens.is_sign(at, "{"):
                at = tokens.partner.get(at, at) + 1 if tokens.is_sign(at, "(") else at + 1
            at = tokens.partner.get(at, at)
        else:
            yield at
        at += 1
