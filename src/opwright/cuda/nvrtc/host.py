"""The host half of CUDA text: what a C++ compiler makes of it.

A kernel's body becomes its launch, as nvcc does it too: so a launch is an ordinary call, with overloads, deduction,
default arguments and conversions as C++ has them. What only the device has is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright.cuda.nvrtc.refusals import extended_lambda
from opwright.cuda.nvrtc.text import Edit, edited, only_files_with
from opwright.errors import SourceError
from opwright.sources.chunks import Chunk, chunks, identifiers
from opwright.sources.launches import Piece, find_launches
from opwright.sources.lexer import MalformedError
from opwright.sources.tokens import Tokens

__all__ = ["HERE", "host_half"]

HERE = "opwright_here"
"""A type in every kernel's host function: its mangled name says which instance of which kernel it is."""

_TYPE_WORDS = frozenset(
    {
        *("int", "float", "double", "char", "long", "short", "unsigned", "signed", "bool", "void", "auto", "wchar_t"),
        *("char8_t", "char16_t", "char32_t", "__int128", "const", "__const", "volatile", "restrict", "__restrict"),
        *("__restrict__", "struct", "class", "union", "enum", "typename"),
    }
)
_OF_INTEREST = re.compile(
    r"<<<|opwright_(?:global|constant|shared|managed)|(?<!opwright_host\)\) )__attribute__\(\(opwright_device|"
    r"\b(?:cub|thrust|cooperative_groups)\b"
)
"""What a file holds that has to change: launches, and what only the device has."""
_DEVICE_LIBRARIES = {"cub", "thrust", "cooperative_groups"}


def host_half(text: str) -> tuple[str, frozenset[str]]:
    """The host half of preprocessed `text`, and the names of those of its variables that only the device has.

    Raises:
        UnsupportedError: it holds an extended lambda.
        SourceError: a launch can't be read.
    """
    own = only_files_with(text, _OF_INTEREST)
    tokens = Tokens(own)
    every = list(_flat(tokens))
    kernels = [edit for chunk in every for edit in _kernel(tokens, chunk)]
    left_out = [chunk for chunk in every if _left_out(chunk)]
    gone = [Edit(chunk.start, chunk.end) for chunk in left_out]
    mentioned = identifiers(edited(own, [*gone, *kernels]))
    gone = [_removed(chunk, mentioned) for chunk in left_out]
    spans = sorted((edit.start, edit.end) for edit in (*gone, *kernels) if edit.end > edit.start)
    extended_lambda(own, tokens, spans)
    variables = frozenset(chunk.name for chunk in left_out if chunk.kind == "statement" and chunk.name)
    return edited(text, [*gone, *kernels, *_launches(own, tokens, spans)]), variables


def _flat(tokens: Tokens, first: int = 0, end: int | None = None) -> Iterator[Chunk]:
    """Every declaration, also those within classes."""
    for chunk in chunks(tokens, first, end):
        yield chunk
        if chunk.kind == "class" and chunk.body:
            yield from _flat(tokens, chunk.body[0] + 1, chunk.body[1])


def _left_out(chunk: Chunk) -> bool:
    if chunk.kind == "statement" and {"using", "typedef"} & set(chunk.words):
        return bool(_DEVICE_LIBRARIES & set(chunk.words)) and "namespace" not in chunk.words
    return chunk.kind in {"function", "statement"} and chunk.only_on_device and "global" not in chunk.spaces


def _removed(chunk: Chunk, mentioned: set[str]) -> Edit:
    """Nothing of it stays, or its declaration where the host mentions it: as a template's argument, say."""
    if chunk.kind == "function" and chunk.name in mentioned and not _DEVICE_LIBRARIES & set(chunk.words):
        return Edit(chunk.head_end, chunk.end, ";")
    if chunk.kind == "statement" and chunk.parameters and chunk.name in mentioned:
        return Edit(chunk.end, chunk.end)
    return Edit(chunk.start, chunk.end)


def _kernel(tokens: Tokens, chunk: Chunk) -> Iterator[Edit]:
    """A kernel's body, replaced by its launch; parameters without a name get one."""
    if chunk.kind != "function" or "global" not in chunk.spaces or chunk.parameters is None:
        return
    names: list[str] = []
    pieces = _pieces(tokens, *chunk.parameters)
    for number, piece in enumerate(pieces):
        text = piece.of(tokens.text)
        if text.strip() in {"", "void"}:
            continue
        name, pack, at = _parameter(text)
        if not name:
            name = f"opwright_{number}"
            yield Edit(piece.start + at, piece.start + at, f" {name}")
        names.append(f", (void *)&{name}{'...' * pack}")
    yield Edit(
        chunk.head_end,
        chunk.end,
        f"{{ struct {HERE} {{}}; static ::opwright::nvrtc::Kernel opwright_kernel(typeid({HERE}).name()); "
        f"void *opwright_arguments[] = {{nullptr{''.join(names)}}}; opwright_kernel.launch(opwright_arguments + 1); }}",
    )


def _pieces(tokens: Tokens, opened: int, closed: int) -> Iterator[Piece]:
    """The parameters between two parentheses; unlike in an argument, each ``<`` before a default opens a template's."""
    first = index = opened + 1
    assigned = False
    while first < closed:
        behind = tokens.after_angle(index) if tokens.is_sign(index, "<") and not assigned else None
        if tokens.is_sign(index, "(", "[", "{"):
            index = tokens.partner.get(index, index) + 1
        elif behind is not None:
            index = behind
        elif index >= closed or tokens.is_sign(index, ","):
            yield Piece(tokens.all[first].start, tokens.all[max(first, index - 1)].end)
            first, index, assigned = index + 1, index + 1, False
        else:
            assigned = assigned or tokens.is_sign(index, "=")
            index += 1


def _parameter(text: str) -> tuple[str, bool, int]:
    """A parameter's name ("" if it has none), whether it is a pack, and where in the text a name would stand."""
    tokens = Tokens(text)
    every = tokens.all
    end = next((i for i in range(len(every)) if tokens.is_sign(i, "=") and i), len(every))
    pack = any(tokens.is_sign(i, "...") for i in range(end))
    for index in range(end - 2):
        if tokens.is_sign(index, "(") and tokens.is_sign(index + 1, "*", "&") and tokens.is_word(index + 2):
            return every[index + 2].text, pack, 0  # a pointer to a function or to an array
    at = end - 1
    while at > 0 and tokens.is_sign(at, "]"):
        at = tokens.partner.get(at, at) - 1
    before = [token.text for token in every[:at] if token.text not in _TYPE_WORDS or token.text in _NUMBERS]
    named = tokens.is_word(at) and every[at].text not in _TYPE_WORDS and before and before[-1] != "::"
    return every[at].text if named else "", pack, every[at].end


_NUMBERS = _TYPE_WORDS - {"const", "volatile", "struct", "class", "union", "enum", "typename", "__const"}


def _launches(text: str, tokens: Tokens, spans: list[tuple[int, int]]) -> Iterator[Edit]:
    """Each launch, as a call: `(configure(grid, block), kernel(arguments))`."""
    try:
        for launch in find_launches(tokens):
            if any(start <= launch.piece.start < end for start, end in spans):
                continue
            inside = launch.inside.of(text).replace("\n", " ")  # its line breaks stay where they are
            configured = f"(::opwright::nvrtc::configure({inside}), "
            yield Edit(launch.callee.start, launch.callee.start, configured)
            yield Edit(launch.callee.end, launch.between.start, "(")
            yield Edit(launch.between.end, launch.between.end, ")")
    except MalformedError as error:
        from opwright.cuda.nvrtc.text import place

        raise SourceError(f"{place(text, error.offset)}: {error}") from None
