"""From preprocessed CUDA text to C++: launches become calls, shared variables find their memory.

Only the author's files and Opwright's own headers are rewritten; every line stays the line that it was, so that errors,
gdb and gcov name the author's file.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from opwright.cuda.emulation import architecture
from opwright.cuda.emulation.calls import refuse_calls
from opwright.cuda.emulation.edits import Edit, apply
from opwright.cuda.emulation.host_calls import Guards
from opwright.cuda.emulation.launching import launch_edits
from opwright.cuda.emulation.names import INDEX, index_edits, replaced_indices
from opwright.cuda.emulation.regions import Region, regions
from opwright.cuda.emulation.sharing import Sharing
from opwright.cuda.emulation.spaces import Functions, without_marks
from opwright.cuda.emulation.words import word_edits
from opwright.errors import CompileError
from opwright.sources import chunk_reader, chunks, launches, lexer, shared_memory, tokens

_INTERESTING = re.compile(
    r"<<<|\b(?:__shared__|__global__|__noinline__|__asm__|__asm|asm|cudaLaunchKernel|cudaLaunchCooperativeKernel)\b"
)
_GLOBAL = re.compile(r"\b__global__\b")


class Rewriter:
    """What a `opwright.toolchain.Unit` of CUDA text is rewritten with."""

    @property
    def identity(self) -> str:
        """The hash of the code that rewrites."""
        return _identity()

    def __call__(self, text: str, again: Callable[[Sequence[str]], str]) -> str:
        """The C++ of `text`.

        Args:
            text: preprocessed as the host's.
            again: preprocesses once more, with these words besides.

        Raises:
            CompileError: it holds something that can't be emulated; the message begins with file and line.
        """
        if architecture.is_asked_for(text):
            text = architecture.merged(text, again(architecture.WORDS))
        every = list(regions(text))
        known = {id(region): Functions(region) for region in every if region.kind == "user"}
        guards = Guards(list(known.values()))
        sharing = Sharing()
        return "".join(_rewritten(region, known.get(id(region)), guards, sharing) for region in every)


def _rewritten(region: Region, functions: Functions | None, guards: Guards, sharing: Sharing) -> str:
    if region.kind == "system":
        return _installed(region.text)
    before: list[Edit] = list(guards.edits(functions)) if functions else []
    region = Region(region.kind, without_marks(region.text))
    if not _INTERESTING.search(region.text) and not INDEX.search(region.text) and not sharing.mentioned(region.text):
        return region.text
    try:
        if region.kind == "user" and "__global__" in region.text:
            refuse_calls(region)
        edits = [*before, *word_edits(region), *sharing.edits(region), *launch_edits(region), *index_edits(region)]
    except lexer.MalformedError as error:
        raise CompileError(f"{region.place(error.offset)}: error: {error}") from None
    return apply(region.text, edits)


def _installed(text: str) -> str:
    """A package's header, which isn't compiled as CUDA's host code by itself: its device functions may be called."""
    text = without_marks(_GLOBAL.sub("", text) if "__global__" in text else text)
    return replaced_indices(text) if INDEX.search(text) else text


@functools.lru_cache
def _identity() -> str:
    """Opwright's version doesn't do while it is being worked on."""
    ours = sorted(Path(__file__).parent.glob("*.py"))
    theirs = [Path(module.__file__ or "") for module in (chunk_reader, chunks, launches, lexer, shared_memory, tokens)]
    return sha256(b"".join(path.read_bytes() for path in (*ours, *theirs))).hexdigest()
