"""The files of a library: those that its patterns match, and the project's headers that they include."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from opwright.errors import PackagingError
from opwright.languages import LANGUAGES
from opwright.packaging.config import Library
from opwright.sources.cpp.directives import find_header, includes

_SUFFIXES = tuple(suffix for suffix in LANGUAGES if suffix != ".cuh")
"""Those of sources. A .cuh is a header."""


def sources(library: Library, project: Path) -> list[Path]:
    """Return the absolute paths of the sources, without duplicates, in the order of the patterns.

    With the backend ``none``, CUDA sources are left out.

    Raises:
        PackagingError: a pattern matches no file, or a file that isn't C, C++ or CUDA; or no source is left.
    """
    paths = _matched(library.sources, project, f"{library.name}: sources")
    for path in paths:
        if path.suffix not in _SUFFIXES:
            raise PackagingError(
                f"{library.name}: sources has {_shown(path, project)}, expected C, C++ or CUDA ({', '.join(_SUFFIXES)})"
                f'\n  likely fix: headers = ["{_shown(path, project)}"], if it is included'
            )
    kept = [path for path in paths if library.backend != "none" or path.suffix != ".cu"]
    if not kept:
        raise PackagingError(
            f'{library.name}: sources has CUDA files alone, and backend = "none" leaves them out: nothing is left\n'
            "  likely fix: leave backend out, or add a source for the CPU"
        )
    return kept


def distributed(library: Library, project: Path) -> list[str]:
    """Return the files for an sdist, relative to the project: sources, headers they include, files of `headers`.

    Raises:
        PackagingError: a pattern matches no file, or a file lies outside the project.
    """
    listed = _matched(library.sources, project, f"{library.name}: sources")
    listed += _matched(library.headers, project, f"{library.name}: headers")
    folders = [project / folder for folder in library.include_dirs]
    every = dict.fromkeys([*listed, *_included(listed, folders, project)])
    return sorted({_relative(path, project, library.name) for path in every})


def _matched(patterns: Iterable[str], project: Path, place: str) -> list[Path]:
    files: dict[Path, None] = {}
    for pattern in patterns:
        matches = _glob(pattern, project, place)
        if not matches:
            raise PackagingError(_nothing(pattern, project, place))
        files.update(dict.fromkeys(matches))
    return list(files)


def _glob(pattern: str, project: Path, place: str) -> list[Path]:
    if os.path.isabs(pattern) or ".." in Path(pattern).parts:
        raise PackagingError(
            f"{place} has {pattern!r}, expected a path within the project\n"
            "  likely fix: move the files into the project: what lies outside of it isn't in its sdist"
        )
    return sorted(path for path in project.glob(pattern) if path.is_file())


def _nothing(pattern: str, project: Path, place: str) -> str:
    """Return the message for a pattern that matches no file; it lists the files in the pattern's folder."""
    folder = Path(pattern).parent
    there = project / folder
    if not there.is_dir():
        known = sorted(path.name for path in project.iterdir() if path.is_dir() and not path.name.startswith("."))
        seen = f"there is no folder {folder}; folders here: {', '.join(known) or 'none'}"
    else:
        names = sorted(path.name for path in there.iterdir() if path.is_file())
        seen = f"files in {folder}: {', '.join(names) or 'none'}"
    return f"{place} has {pattern!r}, which no file in {project} matches\n  {seen}\n  likely fix: correct the pattern"


def _included(files: Sequence[Path], folders: Sequence[Path], project: Path) -> Iterator[Path]:
    """Yield the project's headers that the files include, directly or indirectly."""
    seen, waiting = set(files), list(files)
    while waiting:
        path = waiting.pop()
        for include in includes(path.read_bytes().decode("utf-8", "surrogateescape")):
            found = find_header(include, path, folders)
            header = found and Path(os.path.normpath(found))
            if header is not None and header not in seen and header.is_relative_to(project):
                seen.add(header)
                waiting.append(header)
                yield header


def _relative(path: Path, project: Path, name: str) -> str:
    try:
        return path.relative_to(project).as_posix()
    except ValueError:
        raise PackagingError(f"{name}: {path} lies outside of the project {project}") from None


def _shown(path: Path, project: Path) -> str:
    return path.relative_to(project).as_posix() if path.is_relative_to(project) else str(path)
