"""Compiling emulated code with what the rewriter adds to it; where the compiler refuses that, without.

What the rewriter makes of a kernel is C++ that its author never sees, so it must not be the reason of an error. Nor
must ``__forceinline__`` be: nvcc takes it where a function can't be inlined, as it calls itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from opwright.cuda.emulation.rewrite import Rewriter
from opwright.errors import CompileError
from opwright.log import logger
from opwright.toolchain import Built, Options, Unit, build
from opwright.toolchain.build.builder import look_up
from opwright.toolchain.build.processes import Processes


def build_emulated(
    unit: Unit, options: Options, *, on_progress: Callable[[str], None] | None = None, rebuild: bool = False,
    processes: Processes | None = None,
) -> Built:  # fmt: skip
    """Return the library of `unit` from the cache, or build it; the arguments are those of `opwright.toolchain.build`.

    Raises:
        CompileError: the compiler refused the author's code, or it can't be emulated.
        ToolchainError: there is no usable compiler.
    """

    def built(unit: Unit) -> Built:
        return build(unit, options, on_progress=on_progress, rebuild=rebuild, processes=processes)

    modest = _with_less(unit)
    if not look_up(unit, options) and look_up(modest, options):
        return built(modest)
    try:
        return built(unit)
    except CompileError as error:  # the author's mistake is one without loops, too
        loops = isinstance(unit.rewrite, Rewriter) and unit.rewrite.loops
        if not loops and not any(word in str(error) for word in ("always_inline", "nothing_in")):
            raise
        refused = str(error).partition("\n")[0]
        found = built(modest)
    logger.info(
        "%s: compiled as threads, with no forced inlining and no filled arrays, as it doesn't compile otherwise: %s",
        unit.name,
        refused,
    )
    return found


def look_up_emulated(unit: Unit, options: Options) -> Path | None:
    """Return the library of `unit` if it is in the cache, else None."""
    return look_up(unit, options) or look_up(_with_less(unit), options)


def _with_less(unit: Unit) -> Unit:
    """Return the unit without loops and filled arrays, and with functions that are inlined if the compiler can."""
    flags = (*unit.cflags, "-DOPWRIGHT_EMULATION_INLINE_IF_POSSIBLE")
    rewrite = (
        Rewriter(loops=False, library=unit.rewrite.library) if isinstance(unit.rewrite, Rewriter) else unit.rewrite
    )
    return dataclasses.replace(unit, cflags=flags, rewrite=rewrite)
