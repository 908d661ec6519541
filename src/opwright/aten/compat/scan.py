"""Finds the uses of removed and changed names (`api_changes`) in a source and its project's headers."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from opwright.aten.compat.api_changes import NAMES, Header, Name, removed_header
from opwright.record import record
from opwright.sources.cpp.directives import find_header, without_dead_lines
from opwright.sources.cpp.normalized import NormalizedText, normalized

_NOT_BEFORE_A_DEFINITION = {"return", "else", "do", "throw", "co_return", "goto", "case", "new", "delete"}


@record
class Use:
    """A name and the position of its first use."""

    name: Name
    path: Path
    line: int


@record
class File:
    """A source or header with its tokens."""

    path: Path
    stream: NormalizedText


def read(path: Path, flags: Sequence[str] = ()) -> list[File]:
    """Read a source and, once each, the project headers that it includes directly or indirectly.

    Project headers are quoted includes found next to the including file, and headers found in a ``-I`` folder of
    `flags` that isn't PyTorch's. Unreadable files are skipped: the compiler will report them.
    """
    folders = _folders(flags)
    files: dict[str, File] = {}
    waiting = [path]
    while waiting:
        place = waiting.pop()
        key = os.path.realpath(place)
        text = None if key in files else _text(place)
        if text is not None:
            files[key] = File(place, normalized(text))
            headers = (find_header(include, place, folders) for _, include in files[key].stream.includes)
            waiting.extend(filter(None, headers))
    return list(files.values())


def used_names(files: Sequence[File]) -> list[Use]:
    """Return the names that the files use and don't define themselves, in the table's order."""
    whole = "\n".join(file.stream.text for file in files)
    result = []
    for name in NAMES:
        first = next(_places(name, files), None)
        if first and _fits(name, whole) and not any(_defines(file.stream, name.word) for file in files):
            result.append(Use(name, *first))
    return result


def missing_headers(files: Sequence[File], flags: Sequence[str] = ()) -> Iterator[tuple[Header, Path, int]]:
    """Yield each included header that neither PyTorch nor the project has, with the position of the include."""
    folders = _folders(flags)
    for file in files:
        for index, include in file.stream.includes:
            header = removed_header(include.name)
            if header and find_header(include, file.path, folders) is None:
                yield header, file.path, file.stream.line(index)


def _fits(name: Name, text: str) -> bool:
    """Return whether the name's `beside` and `without` patterns allow a match in a source and its headers."""
    if name.beside and not _expression(name.beside).search(text):
        return False
    return not (name.without and _expression(name.without).search(text))


def _places(name: Name, files: Sequence[File]) -> Iterator[tuple[Path, int]]:
    for file in files:
        for first, _ in file.stream.find(name.expression):
            yield file.path, file.stream.line(first)


def _text(path: Path) -> str | None:
    try:
        return without_dead_lines(path.read_bytes().decode("latin-1"))
    except OSError:
        return None


def _folders(flags: Sequence[str]) -> list[Path]:
    """Return the ``-I`` folders, except those with PyTorch's headers, which are large and need no compatibility."""
    words = iter(flags)
    named = [(flag[2:] or next(words, "")) for flag in words if flag.startswith("-I")]
    return [Path(folder) for folder in named if folder and not os.path.exists(os.path.join(folder, "ATen", "ATen.h"))]


def _defines(text: NormalizedText, word: str) -> bool:
    """Return whether a file defines a macro, function or type of that name."""
    if not word:
        return False
    if _expression(rf"# define {word}\b|\b(?:struct|class) {word} (?::(?!:)|{{)|\busing {word} =").search(text.text):
        return True
    return any(_is_function(text, first) for first, _ in text.find(_expression(rf"\b{word} \(")))


def _is_function(text: NormalizedText, index: int) -> bool:
    """Return whether the call at `index` is the head of a function definition: a type before it, a body after it."""
    before = text.tokens[index - 1] if index else None
    if before is None or before.text in _NOT_BEFORE_A_DEFINITION or not (before.kind == "word" or before.text in "*&>"):
        return False
    closing = text.closing(index + 1)
    return closing >= 0 and text.joined(closing + 1, closing + 2) == "{"


@functools.cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
