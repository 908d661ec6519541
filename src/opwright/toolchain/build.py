"""From generated code to a shared library: looked up where it is known, compiled once where it isn't."""

from __future__ import annotations

import contextlib
import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opwright.errors import ToolchainError
from opwright.toolchain.cache import Cache, cache_root, scratch, unwritable
from opwright.toolchain.flags import Options
from opwright.toolchain.manifest import Inputs, Reader
from opwright.toolchain.plan import Plan, Unit, make_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.toolchain.process import Processes

_ATTEMPTS = 3
_WAITING = "waiting for another process that compiles it"
_CLOCK_TICK = 10_000_000
"""Nanoseconds by which a file's date may lag behind the clock."""


class Built(NamedTuple):
    """A library that can be loaded.

    Attributes:
        path: the shared object; its name holds the hash of what it was made from.
        seconds: how long it took to get it.
        cached: whether nothing had to be compiled.
        log: the compiler's output, where there was any.
    """

    path: Path
    seconds: float
    cached: bool
    log: Path | None = None


def build(
    unit: Unit,
    options: Options | None = None,
    *,
    on_progress: Callable[[str], None] | None = None,
    rebuild: bool = False,
) -> Built:
    """The library of ``unit``: from the cache, or compiled.

    Args:
        unit: the code.
        options: how to compile it.
        on_progress: called with a line of text when something is going to take time.
        rebuild: compile even if the cache has it (a cached library that can't be loaded).

    Raises:
        CompileError: the compiler refused the code; the text begins with the user's line.
        ToolchainError: no usable compiler or no usable cache folder.
    """
    return _Builder(options, on_progress).build(unit, rebuild=rebuild)


def build_many(
    units: Sequence[Unit], options: Options | None = None, *, on_progress: Callable[[str], None] | None = None
) -> list[Built]:
    """`build` for several units at once, in their order; at most ``MAX_JOBS`` compilers run at a time.

    Raises:
        CompileError: as `build`, for the first that fails; the others are stopped.
        ToolchainError: as `build`.
    """
    from opwright.toolchain.process import Processes, in_parallel

    processes = Processes()
    builder = _Builder(options, on_progress, processes)
    return in_parallel([partial(builder.build, unit) for unit in units], processes)


class _Builder:
    """What the builds of one call have in common."""

    def __init__(
        self, options: Options | None, progress: Callable[[str], None] | None, processes: Processes | None = None
    ) -> None:
        """As `build`'s arguments; ``processes`` is shared where several are built."""
        self._options = options or Options()
        self._progress = progress or (lambda _line: None)
        self._processes = processes
        self._cache = Cache(cache_root())

    def build(self, unit: Unit, *, rebuild: bool = False) -> Built:
        """The library of ``unit``; compiled again where its files changed under the compiler's eyes."""
        started = time.perf_counter()
        for _ in range(_ATTEMPTS):
            reader = Reader()
            plan = make_plan(unit, self._options, reader)
            folder = self._cache.folder(plan.name, plan.key)
            if not rebuild and (library := self._cache.lookup(folder, reader)):
                return Built(library, time.perf_counter() - started, cached=True)
            try:
                found = self._build_missing(plan, folder, rebuild)
            except OSError as error:
                raise unwritable(self._cache.root, error) from error
            if found is not None:
                return found._replace(seconds=time.perf_counter() - started)
            self._progress(f"{plan.name}: its files changed while they were compiled; compiling them again")
        raise ToolchainError(
            f"{unit.name}: its files change faster than they can be compiled ({_ATTEMPTS} attempts)\n"
            f"  likely fix: wait until whatever writes {unit.source or 'them'} is done"
        )

    def _build_missing(self, plan: Plan, folder: Path, rebuild: bool) -> Built | None:
        """Compile and publish, unless somebody else does meanwhile. None: a file changed while it was compiled."""
        from opwright.toolchain.lock import locked
        from opwright.toolchain.process import time_limit

        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(folder / "lock", time_limit(), lambda: self._progress(f"{plan.name}: {_WAITING}")) as alone:
            if not rebuild and (library := self._cache.lookup(folder, Reader())):
                return Built(library, 0.0, cached=True)
            self._progress(f"compiling {plan.name} ({plan.parts[0].compiler})")
            with scratch(folder, alone=alone) as work:
                return self._compile(plan, folder, work)

    def _compile(self, plan: Plan, folder: Path, work: Path) -> Built | None:
        from opwright.toolchain.compilation import Compilation
        from opwright.toolchain.process import Processes

        started = time.time_ns()
        compilation = Compilation(plan, folder, work, self._processes or Processes())
        try:
            library, log = compilation.run()
        except Exception:
            raise
        except BaseException:  # Ctrl-C, wherever it struck
            compilation.processes.stop()
            raise
        inputs = compilation.inputs()
        if _changed_since(started, plan, inputs):
            return None
        return Built(self._cache.publish(folder, library, plan.name, inputs), 0.0, cached=False, log=log)


def _changed_since(started: int, plan: Plan, inputs: Inputs) -> bool:
    """Whether what was read may differ from what `inputs` remembers."""
    now = time.time_ns()
    for path, digest in inputs.files.items():
        if path in plan.sources:
            if plan.sources[path] != digest:
                return True
            continue
        with contextlib.suppress(OSError):
            if started - _CLOCK_TICK <= os.stat(path).st_mtime_ns <= now:
                return True
    return False
