"""Rewriting preprocessed CUDA code to C++: launches, shared variables, threadIdx, keywords.

Only the author's files, Opwright's headers and installed ones that launch kernels are fully rewritten. Line numbers are
kept, so that errors, gdb and gcov refer to the author's file.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from opwright.cuda.emulation import architecture
from opwright.cuda.emulation.host_calls import Guards
from opwright.cuda.emulation.host_variables import HostVariables
from opwright.cuda.emulation.identifiers import (
    ASSEMBLY,
    INDEX,
    index_edits,
    keyword_edits,
    library_calls,
    replaced_indices,
)
from opwright.cuda.emulation.kernel_calls import kernel_names, launch_edits, pointer_edits, refuse_direct_calls
from opwright.cuda.emulation.local_arrays import LocalArrays
from opwright.cuda.emulation.loops.plain_loops import PlainLoops
from opwright.cuda.emulation.regions import Functions, Region, regions, without_marks
from opwright.cuda.emulation.shared_variables import SharedVariables
from opwright.errors import CompileError
from opwright.sources import cpp
from opwright.sources.cpp.edits import Edit, apply_edits
from opwright.sources.cpp.tokens import MalformedError

_INTERESTING = re.compile(
    r"<<<|\b(?:__shared__|__global__|__noinline__|__asm__|__asm|asm|cudaLaunchKernel|cudaLaunchCooperativeKernel|"
    r"cudaKernelNodeParams)\b"
)
_GLOBAL = re.compile(r"\b__global__\b")


class Rewriter:
    """The `Rewrite` of a `opwright.toolchain.Unit` of emulated CUDA code."""

    def __init__(self, *, loops: bool = True, arrays: bool = False, library: bool = False) -> None:
        """With `loops`, kernels whose threads never wait become functions that a plain loop calls, too.

        With `arrays`, local arrays without a value are filled with numbers that tell where they are declared, and the
        host's variables are listed. With `library`, kernels have functions of the C library of their own: their
        `malloc`, `new` and `clock` aren't the host's.
        """
        self.loops = loops
        self.arrays = arrays
        self.library = library

    @property
    def identity(self) -> str:
        """A hash of the rewriting code and of what it is asked for."""
        return f"{_identity()}{' loops' * self.loops}{' arrays' * self.arrays}{' library' * self.library}"

    def __call__(self, text: str, again: Callable[[Sequence[str]], str]) -> str:
        """Return `text` as C++.

        Args:
            text: the code, preprocessed for the host.
            again: preprocesses again with additional flags and returns that output.

        Raises:
            CompileError: some of the code can't be emulated; the message begins with file and line.
        """
        if architecture.uses_architecture(text):
            text = architecture.merge_texts(text, again(architecture.ARCHITECTURE_FLAGS))
        parts = list(regions(text))
        known = {id(region): Functions(region) for region in parts if region.kind == "user"}
        guards = Guards(list(known.values()))
        sharing = SharedVariables()
        plain = PlainLoops(list(known.values()), wanted=self.loops)
        kernels = set[str]().union(*(kernel_names(region) for region in parts if region.kind != "system"))
        arrays = LocalArrays(wanted=self.arrays)
        variables = HostVariables(wanted=self.arrays)
        for functions in known.values():
            variables.look_at(functions)
        rewritten = (
            _rewritten(region, known.get(id(region)), guards, sharing, plain, kernels, arrays) for region in parts
        )
        return "".join([*rewritten, arrays.table(), variables.table(), library_calls(parts) if self.library else ""])


def _rewritten(
    region: Region,
    functions: Functions | None,
    guards: Guards,
    sharing: SharedVariables,
    plain: PlainLoops,
    kernels: set[str],
    arrays: LocalArrays,
) -> str:
    if region.kind == "system":
        return _installed(region.text)
    before: list[Edit] = [*guards.edits(functions), *plain.edits(functions)] if functions else []
    filled = list(arrays.edits(functions)) if functions else []
    host_asm = functions.host_words(*ASSEMBLY) if functions else set()
    region = Region(region.kind, without_marks(region.text))
    interesting = _INTERESTING.search(region.text) or INDEX.search(region.text) or sharing.mentioned(region.text)
    if not interesting and not filled:
        return region.text
    try:
        if region.kind == "user" and "__global__" in region.text:
            refuse_direct_calls(region)
        edits = [
            *before,
            *filled,
            *keyword_edits(region, host_asm),
            *sharing.edits(region),
            *launch_edits(region, plain.known, kernels, by_value=not plain.wanted),
            *(pointer_edits(region, kernels) if region.kind == "user" else ()),
            *index_edits(region),
        ]
    except MalformedError as error:
        raise CompileError(f"{region.place(error.offset)}: error: {error}") from None
    if functions:
        edits += plain.copies(functions, edits)
    return apply_edits(region.text, edits)


def _installed(text: str) -> str:
    """Rewrite an installed package's header so that its device functions can be called as C++."""
    text = without_marks(_GLOBAL.sub("", text) if "__global__" in text else text)
    return replaced_indices(text) if INDEX.search(text) else text


@functools.lru_cache
def _identity() -> str:
    """Hash the rewriting code, since Opwright's version doesn't change during development."""
    sources = Path(cpp.__file__).parent.parent
    files = [*Path(__file__).parent.rglob("*.py"), *sources.glob("*.py"), *sources.glob("cpp/*.py")]
    return sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()
