"""The device half of CUDA text: the kernels, and whatever they mention; nothing else reaches NVRTC.

So what belongs to the host may use any header and any type: it isn't there any more. A function without a mark is the
host's, as it is for nvcc, unless it is constexpr; a variable without one is, too, unless it is constant.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from opwright.cuda.nvrtc.text import Edit, edited
from opwright.sources.chunks import Chunk, chunks, identifiers
from opwright.sources.tokens import Tokens

__all__ = ["INCLUDE_MARK", "device_half", "kernel_names"]

INCLUDE_MARK = "opwright_include"
"""A pragma in the place of an ``#include`` of CUDA's own headers, which are for NVRTC to read."""

_INCLUDE = re.compile(rf"^#pragma {INCLUDE_MARK} (<.*>)$", re.MULTILINE)
_OF_OTHER_TYPES = ("int64_t", "uint64_t", "intptr_t", "uintptr_t", "intmax_t", "uintmax_t")
"""Where there is no standard library cccl makes them `long long`; the host's, and so ours, are `long`."""
_MARKER = re.compile(r'^# (\d+) ("(?:[^"\\]|\\.)*")[ \d]*$', re.MULTILINE)
_MARKED_LAMBDA = re.compile(r"\](?:[ \t]*__(?:host|device)__)+")
"""Lambdas in kernels are the device's without being marked, and NVRTC refuses the mark."""
_CONSTANT = {"const", "constexpr", "constinit"}
_ALIASES = {"using", "typedef", "namespace", "concept"}
_AGGREGATES = {"struct", "class", "union", "enum"}


def device_half(text: str, mentioned: Iterable[str] = ()) -> str:
    """The device half of preprocessed `text`.

    Args:
        text: preprocessed as for the device.
        mentioned: names that must be there besides: those of the kernels' template arguments.
    """
    tokens = Tokens(text)
    every = list(chunks(tokens))
    kept = _reached(text, tokens, [chunk for chunk in every if _possible(chunk)], set(mentioned))
    edits = [
        Edit(chunk.start, chunk.end) for chunk in every if chunk.kind not in {"open", "close"} and chunk not in kept
    ]
    inner = [edit for chunk in kept if chunk.kind == "class" for edit in _members(tokens, chunk)]
    half = _MARKED_LAMBDA.sub("]", edited(text, [*edits, *inner]))
    return _INCLUDE.sub(_included, _MARKER.sub(_line_directive, half))


def _line_directive(match: re.Match[str]) -> str:
    """A marker as NVRTC takes it: with those of the preprocessor before an ``#include`` it never comes to an end."""
    return f"#line {match[1]} {match[2]}" if match[1] != "0" and not match[2].startswith('"<') else ""


def _included(match: re.Match[str]) -> str:
    """An ``#include`` of CUDA's, whose own integers have names of their own."""
    before = "".join(f"#define {name} opwright_cuda_{name}\n" for name in _OF_OTHER_TYPES)
    return f"{before}#include {match[1]}\n" + "\n".join(f"#undef {name}" for name in _OF_OTHER_TYPES)


def kernel_names(text: str) -> list[str]:
    """The name of each kernel's definition in the text, as often as there are overloads of it."""
    return [c.name for c in chunks(Tokens(text)) if c.kind == "function" and "global" in c.spaces]


def _possible(chunk: Chunk) -> bool:
    """Whether the device may have it at all."""
    words = set(chunk.words)
    if chunk.kind in {"open", "close"} or {"static_assert", "_Static_assert"} & words:
        return False
    if chunk.on_device or chunk.kind == "class" or _CONSTANT - {"const"} & words:
        return True
    if chunk.kind == "function":
        return False
    if words & (_ALIASES | _AGGREGATES):
        return True
    return "const" in words and chunk.parameters is None


def _reached(text: str, tokens: Tokens, possible: list[Chunk], names: set[str]) -> set[Chunk]:
    """The kernels, what they mention, what that mentions, and so on."""
    by_name: dict[str, list[Chunk]] = defaultdict(list)
    operators: list[Chunk] = []
    kept: set[Chunk] = set()
    waiting: list[Chunk] = []
    for chunk in possible:
        if chunk.name == "operator":
            operators.append(chunk)
        for name in _declares(tokens, chunk):
            by_name[name].append(chunk)
        if "global" in chunk.spaces or {"using", "namespace"} <= set(chunk.words):
            waiting.append(chunk)
    new = set(names)
    seen: set[str] = set()
    while waiting or new - seen:
        for name in new - seen:
            waiting += by_name.get(name, ())
        seen |= new
        new = set()
        for chunk in waiting:
            if chunk not in kept:
                kept.add(chunk)
                new |= _mentions(text, tokens, chunk)
        waiting = [] if new - seen else [c for c in operators if c not in kept and _serves(text, c, by_name, kept)]
    return kept


def _declares(tokens: Tokens, chunk: Chunk) -> Iterator[str]:
    """The names by which it may be mentioned."""
    if chunk.name:
        yield chunk.name
    unnamed = not chunk.name and chunk.kind == "class"
    if chunk.kind == "class" and chunk.body and ("enum" in chunk.words or unnamed):
        yield from {t.text for t in tokens.all[chunk.body[0] : chunk.body[1]] if t.kind == "word"}
    if chunk.kind == "statement" and not chunk.name:
        yield from set(chunk.words)


def _mentions(text: str, tokens: Tokens, chunk: Chunk) -> set[str]:
    """The words in all of it that stays."""
    edits = [Edit(e.start - chunk.start, e.end - chunk.start, e.text) for e in _members(tokens, chunk)]
    return identifiers(edited(text[chunk.start : chunk.end], edits))


def _serves(text: str, operator: Chunk, by_name: dict[str, list[Chunk]], kept: set[Chunk]) -> bool:
    """Whether an operator takes something that is kept."""
    head = identifiers(text[operator.start : operator.head_end])
    return any(chunk in kept for name in head for chunk in by_name.get(name, ()) if name != "operator")


def _members(tokens: Tokens, chunk: Chunk) -> Iterator[Edit]:
    """The host's functions in a class go."""
    if chunk.kind != "class" or not chunk.body:
        return
    for member in chunks(tokens, chunk.body[0] + 1, chunk.body[1]):
        if member.kind == "class":
            yield from _members(tokens, member)
        elif member.kind == "function" and not member.on_device and "constexpr" not in member.words:
            yield Edit(member.start, member.end)
