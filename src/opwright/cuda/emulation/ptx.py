"""Inline PTX as C++: ``asm("add.u32 %0, %1, 1;" : "=r"(x) : "r"(y))`` becomes calls of emulation/ptx.h.

An asm statement becomes a block. Its operands are variables of the constraints' types, each instruction is a statement
on them, and the results are stored at the end. Instructions come from a table, `ptx_instructions`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from opwright.cuda.emulation.ptx_instructions import FUNCTIONS, Translator, UnknownError
from opwright.cuda.emulation.regions import Region
from opwright.errors import CompileError
from opwright.sources.cpp.edits import Edit
from opwright.sources.cpp.line_markers import has_line_marker
from opwright.sources.cpp.tokens import Tokens

_LETTERS = "hrlfdn"


class _Asm(NamedTuple):
    """What an asm statement consists of, by token index.

    Attributes:
        opened: its ``(``.
        text: the instructions, with ``%`` before special registers.
        operands: the name or "", the constraint and the index of the ``(`` of each.
    """

    opened: int
    text: str
    operands: list[tuple[str, str, int]]


def assembly_edits(region: Region, index: int) -> Iterator[Edit]:
    """Yield the replacement of the asm statement at token `index`; none for an empty one, a compiler's barrier.

    Raises:
        CompileError: an instruction or its form isn't supported.
    """
    tokens = region.tokens
    opened = index + 1
    while tokens.is_word(opened, "volatile", "__volatile__", "inline", "goto"):
        opened += 1
    if not tokens.is_sign(opened, "(") or tokens.all[opened + 1].text == '""':
        return
    written = tokens.all[opened + 1].text
    try:
        asm = _read(tokens, opened)
        written = asm.text
        edits = list(_edits(region, index, asm))
    except UnknownError as unknown:
        first = " ".join(written.replace("%$", "%").split())[:60]
        raise CompileError(
            f"{region.place(tokens.all[index].start)}: error: inline PTX can't be emulated: {unknown}, in {first}\n"
            "  likely fix: write it in CUDA C++, or have it compiled for GPUs alone: #ifndef OPWRIGHT_EMULATION"
        ) from None
    yield from edits


def _read(tokens: Tokens, opened: int) -> _Asm:
    at, text = opened + 1, ""
    while tokens.all[at].text.startswith('"'):
        text += ast.literal_eval(tokens.all[at].text)
        at += 1
    end = tokens.partner[opened]
    operands: list[tuple[str, str, int]] = []
    section = 0
    is_extended = at < end
    while at < end:
        if tokens.is_sign(at, ":", "::"):
            section += len(tokens.all[at].text)
        elif section in (1, 2):
            name = ""
            if tokens.is_sign(at, "["):
                name, at = tokens.all[at + 1].text, at + 3
            if tokens.all[at].text.startswith('"') and tokens.is_sign(at + 1, "("):
                operands.append((name, ast.literal_eval(tokens.all[at].text), at + 1))
                at = tokens.partner[at + 1]
        at += 1
    if section > 3:
        raise UnknownError("labels outside of it")
    special = r"%%|%(?=[A-Za-z_])" if is_extended else "%"  # %laneid is no operand
    return _Asm(opened, re.sub(special, "%$", text), operands)


def _edits(region: Region, index: int, asm: _Asm) -> Iterator[Edit]:
    """Yield replacements of all but the operands' expressions, which other edits may change."""
    tokens = region.tokens
    start, code, after = tokens.all[index].start, "do { ", ""
    for number, (_, constraint, opened) in enumerate(asm.operands):
        letter = constraint.strip("=+&")
        if letter not in _LETTERS:
            raise UnknownError(f"the constraint {constraint!r}")
        name = f"opwright_r{number}"
        given, close = f"{FUNCTIONS}given<'{letter}'>(", ")"
        if constraint[0] in "=+":
            code += f"auto &&opwright_v{number} = "
            close = f"; {FUNCTIONS}Register<'{letter}'>::type {name} = " + (
                f"{given}opwright_v{number})" if constraint[0] == "+" else "{}"
            )
            after += f" {FUNCTIONS}taken(opwright_v{number}, {name});"
            given = ""
        else:
            code += f"const auto {name} = "
        closed = tokens.partner[opened]
        yield _edit(region, start, tokens.all[opened].start, code + given)
        start, code = tokens.all[closed].end, f"{close}; "
    body = " ".join(Translator(asm.text, [(name, how) for name, how, _ in asm.operands]).statements())
    end = tokens.all[tokens.partner[asm.opened]].end
    yield _edit(region, start, end, f"{code}{body}{after} }} while (0)")


def _edit(region: Region, start: int, end: int, text: str) -> Edit:
    lost = region.text[start:end]
    kept = region.place(end).marker if has_line_marker(lost) else "\n" * lost.count("\n")
    return Edit(start, end, text + kept)
