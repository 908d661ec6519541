"""From generated code to a shared library: looked up where it is known, compiled once where it isn't."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opwright import log
from opwright.errors import CompileError, ToolchainError
from opwright.toolchain.cache import Cache, cache_root, unwritable
from opwright.toolchain.flags import Options
from opwright.toolchain.manifest import Inputs, Reader
from opwright.toolchain.plan import Plan, Unit, make_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.toolchain.compilation import Compilation
    from opwright.toolchain.process import Processes

_ATTEMPTS = 3
_WAITING = "waiting for another process that compiles it"
_CLOCK_TICK = 10_000_000
"""Nanoseconds by which a file's date may lag behind the clock."""
_EMPTIED = {errno.ENOENT, errno.ESTALE}
"""Somebody empties the cache: tried again."""
_STRANGE = {errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ELOOP}
"""Something that isn't ours lies in it: tried again in a folder that is made anew."""


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
    processes: Processes | None = None,
) -> Built:
    """The library of ``unit``: from the cache, or compiled.

    Args:
        unit: the code.
        options: how to compile it.
        on_progress: called with a line of text when something is going to take time; by default that is logged.
        rebuild: compile even if the cache has it (a cached library that can't be loaded), under a new name.
        processes: the compilers of several builds that belong together.

    Raises:
        CompileError: the compiler refused the code; the text begins with the user's line.
        ToolchainError: no usable compiler or no usable cache folder.
    """
    return _Builder(options, on_progress, processes).build(unit, rebuild=rebuild)


def look_up(unit: Unit, options: Options | None = None) -> Path | None:
    """The library of ``unit``, if the cache has it; nothing is compiled.

    Raises:
        ToolchainError: no usable compiler or no usable cache folder.
    """
    cache, reader = Cache(cache_root()), Reader()
    plan = make_plan(unit, options or Options(), reader)
    return cache.lookup(cache.folder(plan.name, plan.key), reader)


def build_many(
    units: Sequence[Unit], options: Options | None = None, *, on_progress: Callable[[str], None] | None = None
) -> list[Built]:
    """`build` for several units at once, in their order; at most ``MAX_JOBS`` compilers run at a time.

    Raises:
        CompileError: as `build`, for the first that fails; the others are stopped.
        ToolchainError: as `build`.
    """
    from opwright.toolchain.interrupts import unwound_by_signals
    from opwright.toolchain.process import Processes, in_parallel

    processes = Processes()
    builder = _Builder(options, on_progress, processes)
    with unwound_by_signals():
        return in_parallel([partial(builder.build, unit) for unit in units], processes)


class _Builder:
    """What the builds of one call have in common."""

    def __init__(
        self, options: Options | None, progress: Callable[[str], None] | None, processes: Processes | None = None
    ) -> None:
        """As `build`'s arguments; ``processes`` is shared where several are built."""
        self._options = options or Options()
        self._progress = progress or log.progress
        self._processes = processes
        self._cache = Cache(cache_root())

    def build(self, unit: Unit, *, rebuild: bool = False) -> Built:
        """The library of ``unit``; tried again where its files or the cache changed under the compiler's eyes."""
        started = time.perf_counter()
        known: dict[str, str] = {}
        problem: ToolchainError | None = None
        for _ in range(_ATTEMPTS):
            reader = Reader()
            plan = make_plan(unit, self._options, reader)
            folder = self._cache.folder(plan.name, plan.key)
            try:
                if not rebuild and (library := self._cache.lookup(folder, reader)):
                    found = Built(library, time.perf_counter() - started, cached=True)
                    log.logger.debug("%s: found in the cache in %.4f s: %s", plan.name, found.seconds, library)
                    return found
                built = self._build_missing(plan, folder, rebuild, known)
                return _logged(plan, built._replace(seconds=time.perf_counter() - started))
            except _ChangedError:
                problem = None
                self._progress(f"{plan.name}: its files changed while they were compiled; compiling them again")
            except OSError as error:
                problem = unwritable(self._cache.root, error)
                if error.errno not in _EMPTIED | _STRANGE:
                    raise problem from error
                if error.errno in _STRANGE:
                    self._cache.discard(folder)
        raise problem or ToolchainError(
            f"{unit.name}: its files change faster than they can be compiled ({_ATTEMPTS} attempts)\n"
            f"  likely fix: wait until whatever writes {unit.source or 'them'} is done"
        )

    def _build_missing(self, plan: Plan, folder: Path, rebuild: bool, known: dict[str, str]) -> Built:
        """Compile and publish, unless somebody else does meanwhile."""
        from opwright.toolchain.interrupts import unwound_by_signals
        from opwright.toolchain.lock import locked
        from opwright.toolchain.process import time_limit
        from opwright.toolchain.scratch import scratch
        from opwright.toolchain.upkeep import keep_small, size_limit

        limit = size_limit()
        self._cache.make(folder)
        with locked(folder / "lock", time_limit(), lambda: self._progress(f"{plan.name}: {_WAITING}")) as alone:
            if not rebuild and (library := self._cache.lookup(folder, Reader())):
                return Built(library, 0.0, cached=True)
            if log.logger.isEnabledFor(logging.INFO):
                why = "built anew" if rebuild else self._cache.why_not(folder, Reader())
                log.logger.info("%s: %s", plan.name, why)
            self._progress(f"compiling {plan.name} ({plan.parts[0].compiler})")
            with unwound_by_signals(), scratch(folder, alone=alone) as work:
                built = self._compile(plan, folder, work, known, anew=rebuild)
            self._cache.prune(folder)
        keep_small(self._cache.root, limit)
        return built

    def _compile(self, plan: Plan, folder: Path, work: Path, known: dict[str, str], *, anew: bool) -> Built:
        from opwright.toolchain.compilation import Compilation
        from opwright.toolchain.process import Processes

        clocks = time.time_ns(), time.monotonic_ns()
        compilation = Compilation(plan, folder, work, self._processes or Processes())
        library, log = _unless_removed(compilation)
        inputs = compilation.inputs()
        if _changed_since(clocks, {**known, **plan.sources}, plan, inputs):
            known.update(inputs.files)
            raise _ChangedError
        path = self._cache.publish(folder, library, plan.name, inputs, work, anew=anew)
        return Built(path, 0.0, cached=False, log=log)


def _logged(plan: Plan, built: Built) -> Built:
    if built.cached:
        log.logger.info("%s: built by another process, waited %.2f s: %s", plan.name, built.seconds, built.path)
    else:
        log.logger.info("compiled %s in %.2f s: %s", plan.name, built.seconds, built.path)
    return built


def _unless_removed(compilation: Compilation) -> tuple[Path, Path | None]:
    """Run it; an error of the compiler's doesn't count where somebody has emptied the cache under its feet."""
    try:
        return compilation.run()
    except CompileError:
        for path in (compilation.work, *(compilation.folder / part.file for part in compilation.plan.parts)):
            os.stat(path)  # FileNotFoundError
        raise
    except Exception:
        raise
    except BaseException:  # Ctrl-C, wherever it struck
        compilation.processes.stop()
        raise


class _ChangedError(Exception):
    """A file changed while it was compiled."""


def _changed_since(clocks: tuple[int, int], known: dict[str, str], plan: Plan, inputs: Inputs) -> bool:
    """Whether what was read may differ from what `inputs` remembers.

    Sources must be as they were when the key was made. Headers are only known afterwards, so their dates have to say
    it, whatever the clock did meanwhile; one that had the same content before this attempt is as it was.
    """
    first, last = _span(*clocks)
    for path, digest in inputs.files.items():
        if known.get(path) == digest:
            continue
        if path in plan.sources:
            return True
        with contextlib.suppress(OSError):
            written = os.stat(path).st_mtime_ns
            if first <= written + _precision(written) and written <= last:
                return True
    return False


def _span(wall: int, steady: int) -> tuple[int, int]:
    """The earliest and the latest time that the clock on the wall may have shown since then, also if it was set."""
    now, passed = time.time_ns(), time.monotonic_ns() - steady
    return min(wall, now - passed) - _CLOCK_TICK, max(now, wall + passed) + _CLOCK_TICK


def _precision(date: int) -> int:
    """By how much a file's date may lie before the moment of its writing: some file systems keep (even) seconds."""
    return 0 if date % 1_000_000_000 else 2_000_000_000
