"""Building shared libraries (or preprocessed text) from generated code, or finding them in the cache."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import logging
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from opwright import log
from opwright.errors import CompileError, ToolchainError
from opwright.toolchain.build.plan import Plan, Unit, make_plan
from opwright.toolchain.cache.folder import cache_root, unwritable
from opwright.toolchain.cache.manifest import Inputs, Reader
from opwright.toolchain.cache.read_only import read_only_cache
from opwright.toolchain.cache.store import Cache
from opwright.toolchain.compilers.compiler import remember_last
from opwright.toolchain.compilers.flags import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.toolchain.build.compilation import Compilation
    from opwright.toolchain.build.processes import Processes

Loaded = TypeVar("Loaded")

_ATTEMPTS = 3
_WAITING = "waiting for another process that compiles it"
_MISSING_HEADER = r"error: (?:(?P<gcc>[^\n]+): No such file or directory|'(?P<clang>[^'\n]+)' file not found)"
_CLOCK_TICK = 10_000_000
"""Nanoseconds by which a file's date may lag behind the clock."""
_CACHE_EMPTIED = {errno.ENOENT, errno.ESTALE}
"""Another process is emptying the cache: the build is tried again."""
_CACHE_OBSTRUCTED = {errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ELOOP}
"""A foreign file is in the way: the build is tried again in a new folder."""


class Built(NamedTuple):
    """A library that can be loaded.

    Attributes:
        path: the shared object; its name contains the hash of its inputs.
        seconds: the time the build or the lookup took.
        cached: whether nothing had to be compiled.
        log: the compiler's output, or None if there was none.
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
    """Return the library of ``unit`` from the cache, or compile it.

    Args:
        unit: the code.
        options: compile options.
        on_progress: called with a line of text before a step that takes time; by default the line is logged.
        rebuild: compile under a new name even if the library is cached (because the cached one can't be loaded).
        processes: shared by several builds whose compilers are limited and killed together.

    Raises:
        CompileError: the compiler refused the code; the text begins with the user's line.
        ToolchainError: there is no usable compiler or cache folder.
    """
    return _Builder(options, on_progress, processes).build(unit, rebuild=rebuild)


def look_up(unit: Unit, options: Options | None = None) -> Path | None:
    """Return the library of ``unit`` if it is in the cache, else None; nothing is compiled.

    Raises:
        ToolchainError: there is no usable compiler or cache folder.
    """
    reader = Reader()
    plan = make_plan(unit, options or Options(), reader)
    if (shipped := read_only_cache()) and (found := _stored(plan, reader, shipped)):
        return found
    try:
        return _stored(plan, reader, Cache(cache_root()))
    except ToolchainError:
        if shipped is None:
            raise
        return None  # a user without a cache has the read-only one alone


def _stored(plan: Plan, reader: Reader, cache: Cache | None) -> Path | None:
    """Return the file that was made by ``plan`` if it is in ``cache``."""
    if cache is None:
        return None
    return cache.lookup(cache.folder(plan.name, plan.key), reader, with_system=not plan.missing)


def build_many(
    units: Sequence[Unit], options: Options | None = None, *, on_progress: Callable[[str], None] | None = None
) -> list[Built]:
    """Build several units in parallel and return the results in order; at most ``MAX_JOBS`` compilers run at a time.

    Raises:
        CompileError: as for `build`, for the first unit that fails; the other builds are stopped.
        ToolchainError: as for `build`.
    """
    from opwright.toolchain.build.processes import Processes, in_parallel, unwound_by_signals

    processes = Processes()
    builder = _Builder(options, on_progress, processes)
    with unwound_by_signals():
        return in_parallel([functools.partial(builder.build, unit) for unit in units], processes)


def load_built(what: str, build_library: Callable[[bool], Path], load: Callable[[Path], Loaded]) -> Loaded:
    """Build a library, or find it in the cache, and load it; one from the cache that can't be loaded is built again.

    Args:
        what: the library's name in messages.
        build_library: returns its path; builds it even if it is in the cache, if the argument is true.
        load: loads it; raises OSError, AttributeError or ImportError if the file isn't such a library.

    Raises:
        ToolchainError: it can't be loaded.
    """
    for rebuild in (False, True):
        path = build_library(rebuild)
        try:
            return load(path)
        except (OSError, AttributeError, ImportError) as error:
            from opwright.toolchain.messages.loaders import loading_problem

            problem = loading_problem(str(error))
            if rebuild or problem:
                raise ToolchainError(f"{what} can't be loaded: {problem or error}") from error
    raise AssertionError  # the second attempt either returns or raises


class _Builder:
    """The state shared by the builds of one call."""

    def __init__(
        self, options: Options | None, progress: Callable[[str], None] | None, processes: Processes | None = None
    ) -> None:
        """Store `build`'s arguments; ``processes`` is shared if several units are built."""
        self._options = options or Options()
        self._progress = progress or log.progress
        self._processes = processes
        self._shipped = read_only_cache()

    @functools.cached_property
    def _cache(self) -> Cache:
        """The user's cache; a process that finds everything in the read-only one needs none."""
        return Cache(cache_root())

    def build(self, unit: Unit, *, rebuild: bool = False) -> Built:
        """Build ``unit``; try again if its files or the cache changed while it was compiled."""
        started = time.perf_counter()
        known: dict[str, str] = {}
        problem: ToolchainError | None = None
        for _ in range(_ATTEMPTS):
            reader = Reader()
            plan = make_plan(unit, self._options, reader)
            library = None if rebuild else _stored(plan, reader, self._shipped)
            if library:
                return _found(plan, library, started)
            cache = self._cache_beside(plan)
            folder = cache.folder(plan.name, plan.key)
            try:
                library = None if rebuild else _stored(plan, reader, cache)
                if library:
                    return _found(plan, library, started)
                if plan.missing:
                    raise ToolchainError(f"{self._not_shipped(plan)}{plan.missing}")
                with log.moving(f"building {plan.name}"):
                    built = self._build_missing(plan, folder, rebuild, known)
                return _log_build(plan, built._replace(seconds=time.perf_counter() - started))
            except _SourceChangedError:
                problem = None
                self._progress(f"{plan.name}: its files changed while they were compiled; compiling them again")
            except OSError as error:
                problem = unwritable(self._cache.root, error)
                if error.errno not in _CACHE_EMPTIED | _CACHE_OBSTRUCTED:
                    raise problem from error
                if error.errno in _CACHE_OBSTRUCTED:
                    self._cache.discard(folder)
        raise problem or ToolchainError(
            f"{unit.name}: its files change faster than they can be compiled ({_ATTEMPTS} attempts)\n"
            f"  likely fix: wait until whatever writes {unit.source or 'them'} is done"
        )

    def _not_shipped(self, plan: Plan) -> str:
        """Return that the read-only cache lacks a library, and why, for messages; "" without such a cache."""
        if self._shipped is None:
            return ""
        why = self._shipped.why_not(self._shipped.folder(plan.name, plan.key), Reader())
        return f"{plan.name} isn't in the read-only cache {self._shipped.root} ({why}); "

    def _cache_beside(self, plan: Plan) -> Cache:
        """Return the user's cache for a library that the read-only one lacks.

        Raises:
            ToolchainError: the user's cache can't be used.
        """
        try:
            return self._cache
        except ToolchainError as error:
            raise ToolchainError(f"{self._not_shipped(plan)}{error}") from error

    def _build_missing(self, plan: Plan, folder: Path, rebuild: bool, known: dict[str, str]) -> Built:
        """Compile and publish the library, unless another process does so meanwhile."""
        from opwright.toolchain.build.limits import time_limit
        from opwright.toolchain.build.processes import unwound_by_signals
        from opwright.toolchain.cache.eviction import keep_small, size_limit
        from opwright.toolchain.cache.lock import locked
        from opwright.toolchain.cache.scratch import scratch

        limit = size_limit()
        self._cache.make(folder)
        with locked(folder / "lock", time_limit(), lambda: self._progress(f"{plan.name}: {_WAITING}")) as is_locked:
            if not rebuild and (library := self._cache.lookup(folder, Reader())):
                return Built(library, 0.0, cached=True)
            if log.logger.isEnabledFor(logging.INFO):
                why = "built anew" if rebuild else self._cache.why_not(folder, Reader())
                log.logger.info("%s: %s", plan.name, why)
            if self._shipped is not None and not rebuild:
                log.notice(f"{self._not_shipped(plan)}compiling it into {self._cache.root}", logging.WARNING)
            self._progress(f"compiling {plan.name} ({plan.parts[0].compiler})")
            with unwound_by_signals(), scratch(folder, alone=is_locked) as work:
                built = self._compile(plan, folder, work, known, anew=rebuild)
            self._cache.prune(folder)
            for part in plan.parts:
                remember_last(part.unit.language, part.compiler)
        keep_small(self._cache.root, limit)
        return built

    def _compile(self, plan: Plan, folder: Path, work: Path, known: dict[str, str], *, anew: bool) -> Built:
        from opwright.toolchain.build.compilation import Compilation
        from opwright.toolchain.build.processes import Processes

        clocks = time.time_ns(), time.monotonic_ns()
        compilation = Compilation(plan, folder, work, self._processes or Processes())
        library, log = _run_unless_removed(compilation)
        inputs = compilation.inputs()
        if _changed_since(clocks, {**known, **plan.sources}, plan, inputs):
            known.update(inputs.files)
            raise _SourceChangedError
        path = self._cache.publish(folder, library, plan.name, inputs, work, anew=anew)
        return Built(path, 0.0, cached=False, log=log)


def _found(plan: Plan, library: Path, started: float) -> Built:
    """Return the library that was found in a cache."""
    built = Built(library, time.perf_counter() - started, cached=True)
    log.logger.debug("%s: found in the cache in %.4f s: %s", plan.name, built.seconds, library)
    return built


def _log_build(plan: Plan, built: Built) -> Built:
    if built.cached:
        log.logger.info("%s: built by another process, waited %.2f s: %s", plan.name, built.seconds, built.path)
    else:
        log.logger.info("compiled %s in %.2f s: %s", plan.name, built.seconds, built.path)
    return built


def _run_unless_removed(compilation: Compilation) -> tuple[Path, Path | None]:
    """Run the compilation; raise FileNotFoundError instead of CompileError if the cache was emptied meanwhile."""
    try:
        return compilation.run()
    except CompileError:
        for path in (compilation.work, *(compilation.folder / part.file for part in compilation.plan.parts)):
            os.stat(path)  # FileNotFoundError
        raise
    except Exception:
        raise
    except BaseException:  # Ctrl-C at any point
        compilation.processes.stop()
        raise


class _SourceChangedError(Exception):
    """A file changed while it was compiled."""


def _changed_since(clocks: tuple[int, int], known: dict[str, str], plan: Plan, inputs: Inputs) -> bool:
    """Return whether the compiler may have read contents that differ from the ones recorded in `inputs`.

    Sources must be unchanged since the key was computed. Headers are only known after the compilation, so their dates
    are checked, allowing for changes of the clock. A header with the content of an earlier attempt is unchanged.
    """
    earliest, latest = _time_span(*clocks)
    for path, digest in inputs.files.items():
        if known.get(path) == digest:
            continue
        if path in plan.sources:
            return True
        with contextlib.suppress(OSError):
            written = os.stat(path).st_mtime_ns
            if earliest <= written + _date_precision(written) and written <= latest:
                return True
    return False


def _time_span(wall: int, steady: int) -> tuple[int, int]:
    """Return the earliest and latest time (ns) that the clock may have shown since then, even if it was set."""
    now, passed = time.time_ns(), time.monotonic_ns() - steady
    return min(wall, now - passed) - _CLOCK_TICK, max(now, wall + passed) + _CLOCK_TICK


def _date_precision(date: int) -> int:
    """Return by how many ns a file's date may precede its writing: some file systems keep (even) seconds only."""
    return 0 if date % 1_000_000_000 else 2_000_000_000


def preprocessed(unit: Unit, options: Options, *, macros: bool = False) -> str:
    """Return the preprocessed code of `unit`, with `# line "file"` markers.

    Args:
        unit: the code; its `extra` units are ignored.
        options: compile options.
        macros: return the ``#define`` lines of all macros known at its end instead.

    Raises:
        CompileError: the preprocessor refused the code; a missing header is named.
        ToolchainError: there is no usable compiler or cache folder.
    """
    single = dataclasses.replace(unit, name=f"{unit.name}-{'macros' if macros else 'text'}", extra=())
    reader = Reader()
    plan = make_plan(single, options, reader)
    file = _stored(plan, reader, read_only_cache())
    if file is None:
        cache = Cache(cache_root())
        file = _stored(plan, reader, cache)
    if file is None and plan.missing:
        raise ToolchainError(plan.missing)
    if file is None:
        try:
            file = _preprocess(plan, options, cache, ["-dM"] if macros else [])
        except OSError as error:
            raise unwritable(cache.root, error) from error
    return file.read_bytes().decode("utf-8", "surrogateescape")


def _preprocess(plan: Plan, options: Options, cache: Cache, flags: list[str]) -> Path:
    """Preprocess without a lock: concurrent runs have the same result, which is published by one rename."""
    from opwright.toolchain.build.compilation import Compilation
    from opwright.toolchain.build.processes import Processes
    from opwright.toolchain.cache.scratch import scratch

    folder = cache.folder(plan.name, plan.key)
    cache.make(folder)
    with scratch(folder, alone=False) as work:
        compilation = Compilation(plan, folder, work, Processes())
        output = work / "text.i"
        try:
            compilation.preprocess(output, flags)
        except CompileError as error:
            raise _missing_header(str(error), options) or error from None
        return cache.publish(folder, output, plan.name, compilation.inputs(), work, suffix=".i")


def _missing_header(text: str, options: Options) -> CompileError | None:
    """Return the error for a missing header, if the compiler reported one in `text`, else None."""
    match = re.search(_MISSING_HEADER, text)
    if match is None:
        return None
    name = match["gcc"] or match["clang"]
    searched = ", ".join(str(folder) for folder in options.include_dirs)
    return CompileError(
        f"the header {name} isn't there: it is in none of the folders that the compiler searches"
        f"{searched and f', {searched} among them'}\n"
        "  likely fix: install the library's development package, or name its folder: extra_include_paths=[...]\n"
        f"{text}"
    )
