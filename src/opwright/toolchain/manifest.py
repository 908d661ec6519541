"""Is what was read for a build still as it was then? What ccache calls its direct mode.

The key of a unit covers everything known before the compiler starts. What it then read, its depfile
tells; a `Record` holds that, so that the next process can compare instead of preprocess:

* the user's headers and Opwright's by content;
* the compiler's own headers by size and date;
* and, because a new file may hide another one on the search path, the names of those files which
  stand in the folders that are searched.

Not seen (nor by ccache): a ``__has_include`` that would now answer otherwise.
"""

from __future__ import annotations

import os
import re
import stat
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

_DEPTH = 8
_WHOLE = 1 << 20
_PIECES = 16
_PIECE = _WHOLE // _PIECES


class Reader:
    """Reads each file at most once, however many records are compared."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._digests: dict[str, str] = {}

    def digest(self, path: str) -> str:
        """The hash of the file's content; ``""`` where it can't be read."""
        known = self._digests.get(path)
        if known is None:
            try:
                with open(path, "rb", buffering=0) as file:
                    known = sha256(file.read()).hexdigest()
            except OSError:
                known = ""
            self._digests[path] = known
        return known


class Record(NamedTuple):
    """A library, and what was read when it was built."""

    library: str
    size: int
    digest: str
    files: dict[str, str]
    system: list[str]
    stamp: str
    watched: dict[str, list[str]]
    names: list[str]

    @classmethod
    def from_json(cls, data: Any) -> Record:
        """The record in ``data``; TypeError or ValueError where that isn't one."""
        record = cls(**data)
        for value, kind in zip(record, _KINDS, strict=True):
            if type(value) is not kind:
                raise TypeError(f"{value!r} is no {kind.__name__}")
        for texts in (record.files.values(), record.system, record.names, *record.watched.values()):
            if not all(type(text) is str for text in texts):
                raise TypeError(f"{texts!r} are not all texts")
        if os.path.basename(record.library) != record.library:
            raise ValueError(f"{record.library!r} isn't the name of a file")
        return record

    def to_json(self) -> dict[str, Any]:
        """What `from_json` takes."""
        return self._asdict()

    def replaced_by(self, newer: Record) -> bool:
        """Whether ``newer`` is about the same file, or was made from the same."""
        return self.library == newer.library or (self.files, self.stamp) == (newer.files, newer.stamp)

    def holds(self, folder: Path, reader: Reader) -> bool:
        """Whether the library is there, whole, and a new compilation would read the same again."""
        library = os.path.join(folder, self.library)
        names = frozenset(self.names)
        return (
            has_size(library, self.size)
            and all(reader.digest(path) == digest for path, digest in self.files.items())
            and all(standing(watched, names) == found for watched, found in self.watched.items())
            and stamp(self.system) == self.stamp
            and content(library, self.size) == self.digest
        )

    def change(self, folder: Path, reader: Reader) -> str:
        """What is no longer as it was, where it doesn't `holds`."""
        names = frozenset(self.names)
        changed = [path for path, digest in self.files.items() if reader.digest(path) != digest]
        changed += [path for path, found in self.watched.items() if standing(path, names) != found]
        if changed:
            return f"changed since it was built: {', '.join(changed)}"
        if stamp(self.system) != self.stamp:
            return "the compiler's own headers have changed since it was built"
        return f"missing or damaged: {os.path.join(folder, self.library)}"


_KINDS = (str, int, str, dict, list, str, dict, list)


class Inputs(NamedTuple):
    """What one build read: the part of a `Record` that is known before its library has a name."""

    files: dict[str, str]
    system: list[str]
    stamp: str
    watched: dict[str, list[str]]
    names: list[str]

    def record(self, library: str, size: int, digest: str) -> Record:
        """The record of the ``library`` (a file name; its size in bytes, its `content`) that was made from them."""
        return Record(library, size, digest, self.files, self.system, self.stamp, self.watched, self.names)

    @property
    def complete(self) -> bool:
        """Whether every file was there.

        If not, the compiler's list of files was misunderstood (clang doesn't escape a tab in it): nothing may be
        remembered then. Compiling each time is slow, but right.
        """
        return bool(self.stamp) and all(self.files.values())

    def digest(self, key: str) -> str:
        """One hash over all of them and over ``key``, which stands for everything else."""
        facts = (key, sorted(self.files.items()), self.stamp)
        return sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()


UNKNOWN = Inputs({}, [], "", {}, [])
"""Of a compilation that didn't say what it read; not complete."""


def has_size(library: str, size: int) -> bool:
    """Whether ``library`` is a file (no link) of ``size`` bytes, this user's, and nobody else can write to it."""
    try:
        found = os.lstat(library)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == size and is_own(found) and not found.st_mode & 0o022


def is_own(found: os.stat_result) -> bool:
    """Whether a file belongs to the user who runs this."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def content(library: str | Path, size: int) -> str:
    """A hash that damage to the file ``library`` of ``size`` bytes changes; ``""`` where it can't be read.

    Over all of it; of a file beyond a mebibyte over 16 pieces, the first and the last among them: all that a load
    can afford to read. A file that is cut short, of zeros, or another one altogether is noticed in any case.
    """
    if size <= _WHOLE:
        pieces = [(0, size + 1)]  # one byte more than there should be
    else:
        pieces = [((size - _PIECE) * index // (_PIECES - 1), _PIECE) for index in range(_PIECES)]
    total = sha256()
    try:
        descriptor = os.open(library, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for start, length in pieces:
                total.update(os.pread(descriptor, length, start))
        finally:
            os.close(descriptor)
    except OSError:
        return ""
    return total.hexdigest()


def capture(
    read: Iterable[str], searched: Sequence[str], skipped: Sequence[str], system_dirs: Sequence[str], reader: Reader
) -> Inputs:
    """What a compilation read, as it is now.

    Args:
        read: the files, as the depfile names them (absolute).
        searched: the ``-I`` folders; the folders of the user's own files are added.
        skipped: folders whose files are not watched at all.
        system_dirs: folders whose files are told apart by size and date alone.
        reader: where their content comes from.
    """
    is_system, is_skipped = _membership(system_dirs), _membership(skipped)
    files: dict[str, str] = {}
    system: list[str] = []
    for path in dict.fromkeys(os.path.normpath(path) for path in read):
        if is_skipped(path):
            continue
        if is_system(path):
            system.append(path)
        else:
            files[path] = reader.digest(path)
    names = sorted({name for path in (*files, *system) for name in _tail(path, searched)})
    folders = dict.fromkeys([*searched, *(os.path.dirname(path) for path in files)])
    watched = {folder: standing(folder, names) for folder in folders if not is_system(os.path.join(folder, "x"))}
    return Inputs(files, system, stamp(system), watched, names)


def _tail(path: str, searched: Sequence[str]) -> list[str]:
    """The parts of ``path`` that an ``#include`` may have named."""
    for folder in searched:
        prefix = os.path.join(folder, "")
        if path.startswith(prefix):
            return path.removeprefix(prefix).split(os.sep)
    return path.split(os.sep)[-3:]


def _membership(dirs: Sequence[str]) -> Callable[[str], bool]:
    """Whether a file lies in one of ``dirs``, links followed; each folder is looked up once."""
    prefixes = tuple(os.path.join(folder, "") for folder in dirs)
    known: dict[str, bool] = {}

    def inside(path: str) -> bool:
        folder = os.path.dirname(path)
        if folder not in known:
            known[folder] = os.path.join(os.path.realpath(folder), "").startswith(prefixes)
        return known[folder]

    return inside


def stamp(paths: Iterable[str]) -> str:
    """One hash over the sizes and dates (whole seconds: container images keep no more) of ``paths``."""
    facts: list[object] = []
    for path in paths:
        try:
            found = os.stat(path)
        except OSError:
            return ""
        facts += [path, found.st_size, int(found.st_mtime)]
    return sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()


def standing(folder: str, names: Iterable[str], depth: int = _DEPTH) -> list[str]:
    """Which of ``names`` stand in ``folder``, also in its subfolders that are called so."""
    wanted = names if isinstance(names, (set, frozenset)) else frozenset(names)
    try:
        found = sorted(wanted.intersection(os.listdir(folder)))
    except OSError:
        return []
    inner = []
    for name in found:
        path = os.path.join(folder, name)
        if depth > 1 and os.path.isdir(path):
            inner += [f"{name}/{below}" for below in standing(path, wanted, depth - 1)]
    return found + inner


_WORD = re.compile(r"(?:\\[ \t]|\S)+")
_ESCAPE = re.compile(r"\\([ \t#:])|\$(\$)")


def read_depfile(path: Path, folder: str) -> list[str]:
    """The files that a depfile names after its target, made absolute against ``folder``.

    Raises:
        OSError: it isn't there.
    """
    text = path.read_text("utf-8", "surrogateescape").replace("\\\n", " ")
    _, _, listed = text.partition(": ")
    found = (_ESCAPE.sub(lambda match: match[1] or match[2], word) for word in _WORD.findall(listed))
    return [os.path.join(folder, name) for name in found]


def extend_depfile(path: Path, other: Path) -> None:
    """Have the depfile `path` name the files of `other` as well.

    Raises:
        OSError: one of them isn't there, or can't be written.
    """
    more = other.read_bytes().partition(b": ")[2]
    path.write_bytes(path.read_bytes().rstrip() + b" " + more.rstrip() + b"\n")
