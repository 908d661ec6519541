"""Which names of the table a source and the headers of its project use."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from opwright.aten.compat.names import NAMES, Name, removed_header
from opwright.aten.compat.tokens import Stream, stream
from opwright.signature.record import record
from opwright.sources.lexer import without_dead_lines

__all__ = ["File", "Use", "found", "read", "used"]

_NOT_BEFORE_A_DEFINITION = {"return", "else", "do", "throw", "co_return", "goto", "case", "new", "delete"}


@record
class Use:
    """A name, and where it is first used."""

    name: Name
    path: Path
    line: int


@record
class File:
    """A source or header, read."""

    path: Path
    stream: Stream

    @property
    def includes(self) -> list[tuple[str, bool, int]]:
        """What it includes: the name, whether in quotes, and the line."""
        return [
            (token.text[10:-1], token.text[9] == '"', self.stream.line(index))
            for index, token in enumerate(self.stream.tokens)
            if token.kind == "include"
        ]


def read(path: Path, flags: Sequence[str] = ()) -> list[File]:
    """A source and, each once, the headers of its project that it includes, directly or not.

    Those are the ones in quotes that lie beside the file, and those that a ``-I`` of `flags` finds where that folder
    isn't PyTorch's. What can't be read is left out: the compiler will say so.
    """
    folders = _folders(flags)
    files: dict[str, File] = {}
    waiting = [path]
    while waiting:
        place = waiting.pop()
        key = os.path.realpath(place)
        text = None if key in files else _text(place)
        if text is not None:
            files[key] = File(place, stream(text))
            waiting.extend(_local(files[key], folders))
    return list(files.values())


def used(files: Sequence[File]) -> list[Use]:
    """The names that some files, a source and its headers, use and don't define themselves, in the table's order."""
    whole = "\n".join(file.stream.text for file in files)
    result = []
    for name in NAMES:
        first = next(_places(name, files), None)
        if first and found(name, whole) and not any(_defines(file.stream, name.word) for file in files):
            result.append(Use(name, *first))
    return result


def found(name: Name, text: str) -> bool:
    """Whether what has to stand beside a name does, in the text of a source and its headers."""
    if name.beside and not _expression(name.beside).search(text):
        return False
    return not (name.without and _expression(name.without).search(text))


def _places(name: Name, files: Sequence[File]) -> Iterator[tuple[Path, int]]:
    for file in files:
        for first, _ in file.stream.find(name.expression):
            yield file.path, file.stream.line(first)


def _text(path: Path) -> str | None:
    try:
        return without_dead_lines(path.read_bytes()).decode("latin-1")
    except OSError:
        return None


def _folders(flags: Sequence[str]) -> list[Path]:
    """Where ``-I`` words look, but for folders of PyTorch's own headers, which are large and need nothing."""
    words = iter(flags)
    named = [(flag[2:] or next(words, "")) for flag in words if flag.startswith("-I")]
    return [Path(folder) for folder in named if folder and not os.path.exists(os.path.join(folder, "ATen", "ATen.h"))]


def _local(file: File, folders: Sequence[Path]) -> Iterator[Path]:
    for name, quoted, _ in file.includes:
        if removed_header(name):
            continue
        beside = [file.path.parent] if quoted else []
        place = next((folder / name for folder in (*beside, *folders) if os.path.isfile(folder / name)), None)
        if place is not None:
            yield place


def _defines(text: Stream, word: str) -> bool:
    """Whether a file has a macro, function or type of its own by a name."""
    if not word:
        return False
    if _expression(rf"# define {word}\b|\b(?:struct|class) {word} (?::(?!:)|{{)|\busing {word} =").search(text.text):
        return True
    return any(_is_function(text, first) for first, _ in text.find(_expression(rf"\b{word} \(")))


def _is_function(text: Stream, index: int) -> bool:
    """Whether the call at `index` is a function's head: something that may be a type before it, a body behind it."""
    before = text.tokens[index - 1] if index else None
    if before is None or before.text in _NOT_BEFORE_A_DEFINITION or not (before.kind == "word" or before.text in "*&>"):
        return False
    closing = text.closing(index + 1)
    return closing >= 0 and text.words(closing + 1, closing + 2) == "{"


@functools.cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
