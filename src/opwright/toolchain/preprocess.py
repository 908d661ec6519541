"""What the preprocessor makes of a unit, kept in the cache like a library."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from opwright.errors import CompileError
from opwright.toolchain.cache import Cache, cache_root, unwritable
from opwright.toolchain.flags import Options
from opwright.toolchain.manifest import Reader
from opwright.toolchain.plan import Plan, Unit, make_plan

if TYPE_CHECKING:
    from pathlib import Path

_MISSING = re.compile(
    r"error: (?:(?P<gcc>[^\n]+): No such file or directory|'(?P<clang>[^'\n]+)' file not found)", re.MULTILINE
)


def preprocessed(unit: Unit, options: Options, *, macros: bool = False) -> str:
    """The text of `unit` with its headers in it and its macros expanded; `# line "file"` says where each part is from.

    Args:
        unit: the code; its `extra` units are left out.
        options: how it is compiled.
        macros: give the ``#define`` lines instead, all that are known at its end.

    Raises:
        CompileError: the preprocessor refused it; a header that isn't found is named.
        ToolchainError: no usable compiler or no usable cache folder.
    """
    alone = dataclasses.replace(unit, name=f"{unit.name}-{'macros' if macros else 'text'}", extra=())
    reader, cache = Reader(), Cache(cache_root())
    plan = make_plan(alone, options, reader)
    folder = cache.folder(plan.name, plan.key)
    found = cache.lookup(folder, reader)
    if found is None:
        try:
            found = _run(plan, options, cache, folder, ["-dM"] if macros else [])
        except OSError as error:
            raise unwritable(cache.root, error) from error
    return found.read_bytes().decode("utf-8", "surrogateescape")


def _run(plan: Plan, options: Options, cache: Cache, folder: Path, words: list[str]) -> Path:
    """No lock: two that do it at once have the same result, and each is put in place by one rename."""
    from opwright.toolchain.compilation import Compilation
    from opwright.toolchain.process import Processes
    from opwright.toolchain.scratch import scratch

    cache.make(folder)
    with scratch(folder, alone=False) as work:
        compilation = Compilation(plan, folder, work, Processes())
        output = work / "text.i"
        try:
            compilation.preprocess(output, words)
        except CompileError as error:
            raise _without_header(str(error), options) or error from None
        return cache.publish(folder, output, plan.name, compilation.inputs(), work, suffix=".i")


def _without_header(text: str, options: Options) -> CompileError | None:
    """The error for a header that isn't there, if that is what the compiler says."""
    found = _MISSING.search(text)
    if found is None:
        return None
    name = found["gcc"] or found["clang"]
    searched = ", ".join(str(folder) for folder in options.include_dirs)
    return CompileError(
        f"the header {name} isn't there: it is in none of the folders that the compiler searches"
        f"{searched and f', {searched} among them'}\n"
        "  likely fix: install the library's development package, or name its folder: extra_include_paths=[...]\n"
        f"{text}"
    )
