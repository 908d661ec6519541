"""Compiling emulated code with kernels as plain loops; where the compiler refuses those, without them.

What the rewriter makes of a kernel is C++ that its author never sees, so it must not be the reason of an error.
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
    plain = _without_loops(unit)
    if plain is None:
        return build(unit, options, on_progress=on_progress, rebuild=rebuild, processes=processes)
    if look_up(unit, options) or not look_up(plain, options):
        try:
            return build(unit, options, on_progress=on_progress, rebuild=rebuild, processes=processes)
        except CompileError as error:  # the author's mistake is one without loops, too
            refused = str(error).partition("\n")[0]
            built = build(plain, options, on_progress=on_progress, rebuild=rebuild, processes=processes)
        logger.info("%s: its kernels run as threads, as their loops don't compile: %s", unit.name, refused)
        return built
    return build(plain, options, on_progress=on_progress, rebuild=rebuild, processes=processes)


def look_up_emulated(unit: Unit, options: Options) -> Path | None:
    """Return the library of `unit` if it is in the cache, else None."""
    plain = _without_loops(unit)
    return look_up(unit, options) or (look_up(plain, options) if plain else None)


def _without_loops(unit: Unit) -> Unit | None:
    """Return the unit without loops; None if it has none anyway."""
    if isinstance(unit.rewrite, Rewriter) and unit.rewrite.loops:
        return dataclasses.replace(unit, rewrite=Rewriter(loops=False))
    return None
