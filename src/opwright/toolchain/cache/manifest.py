"""Records of the files that a build read, to detect changes since then: ccache's direct mode.

The key of a unit covers everything known before the compiler starts. The depfile then lists the files that the compiler
read. A `Record` keeps their state, so that the next process can compare instead of preprocess:

* the content of the user's and Opwright's headers;
* the size and date of the compiler's own headers;
* which of these file names are present in the searched folders, because a new file may hide another one on the search
  path.

A ``__has_include`` whose result has changed isn't detected (nor is it by ccache).
"""

from __future__ import annotations

import os
import re
import stat
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from opwright.toolchain.cache.folder import WORLD_WRITABLE, is_own

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence
    from pathlib import Path

_DEPTH = 8
_WHOLE = 1 << 20
_PIECES = 16
_PIECE = _WHOLE // _PIECES


class Reader:
    """A cache of file hashes: reads each file at most once, even if several records are compared."""

    def __init__(self) -> None:
        """Begin with an empty cache."""
        self._digests: dict[str, str] = {}

    def digest(self, path: str) -> str:
        """Return the hash of the file's content; ``""`` if it can't be read."""
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
    """A library and the files that were read when it was built."""

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
        """Parse a record from ``data``; raise TypeError or ValueError if it isn't one."""
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
        """Return the record as JSON data for `from_json`."""
        return self._asdict()

    def replaced_by(self, newer: Record) -> bool:
        """Return whether ``newer`` is a record of the same library or of the same inputs."""
        return self.library == newer.library or (self.files, self.stamp) == (newer.files, newer.stamp)

    def holds(self, folder: Path, reader: Reader, *, with_system: bool = True, owners: Container[int] = ()) -> bool:
        """Return whether the library exists and is intact, and a new compilation would read the same contents.

        Args:
            folder: the library's folder.
            reader: reads and hashes files.
            with_system: whether the compiler's own headers matter; not if there is no compiler, and so none of them.
            owners: the users, beside the one who runs this, to whom the library may belong.
        """
        library = os.path.join(folder, self.library)
        names = frozenset(self.names)
        return (
            is_own_file_of_size(library, self.size, owners)
            and all(reader.digest(path) == digest for path, digest in self.files.items())
            and all(present_names(path, names) == present for path, present in self.watched.items())
            and (not with_system or stamp(self.system) == self.stamp)
            and content(library, self.size) == self.digest
        )

    def change(self, folder: Path, reader: Reader) -> str:
        """Return, for a record for which `holds` is False, a description of what has changed."""
        names = frozenset(self.names)
        changed = [path for path, digest in self.files.items() if reader.digest(path) != digest]
        changed += [path for path, present in self.watched.items() if present_names(path, names) != present]
        if changed:
            return f"changed since it was built: {', '.join(changed)}"
        if stamp(self.system) != self.stamp:
            return "the compiler's own headers have changed since it was built"
        return f"missing, damaged or open to others: {os.path.join(folder, self.library)}"


_KINDS = (str, int, str, dict, list, str, dict, list)


class Inputs(NamedTuple):
    """The files that one build read: the part of a `Record` that is known before the library has a name."""

    files: dict[str, str]
    system: list[str]
    stamp: str
    watched: dict[str, list[str]]
    names: list[str]

    def record(self, library: str, size: int, digest: str) -> Record:
        """Return the record of a ``library`` (file name, size in bytes, `content`) built from these inputs."""
        return Record(library, size, digest, self.files, self.system, self.stamp, self.watched, self.names)

    @property
    def complete(self) -> bool:
        """Whether every file could be read.

        If not, the compiler's list of files was misread (clang doesn't escape tabs in it) and no record may be kept.
        Compiling every time is slow but correct.
        """
        return bool(self.stamp) and all(self.files.values())

    def digest(self, key: str) -> str:
        """Return a hash of all files and of ``key``, which covers everything else."""
        facts = (key, sorted(self.files.items()), self.stamp)
        return sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()


UNKNOWN = Inputs({}, [], "", {}, [])
"""The inputs of a compilation that didn't list the files it read; `complete` is False."""


def is_own_file_of_size(library: str, size: int, owners: Container[int] = ()) -> bool:
    """Return whether ``library`` is a file of ``size`` bytes of this user or `owners`, to which no other can write."""
    try:
        status = os.lstat(library)
    except OSError:
        return False
    safe = is_own(status, owners) and not status.st_mode & WORLD_WRITABLE
    return stat.S_ISREG(status.st_mode) and status.st_size == size and safe


def content(library: str | Path, size: int) -> str:
    """Return a hash to detect damage to the file ``library`` of ``size`` bytes; ``""`` if it can't be read.

    The hash covers the whole file, or 16 pieces of one larger than a mebibyte (including the first and the last),
    because a load can't afford to read more. A truncated, zero-filled or replaced file is always detected.
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
    """Return the current state of the files that a compilation read.

    Args:
        read: the files in the depfile (absolute paths).
        searched: the ``-I`` folders; the folders of the user's own files are added.
        skipped: folders whose files are not watched at all.
        system_dirs: folders whose files are compared by size and date only.
        reader: reads and hashes the other files.
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
    watched = {folder: present_names(folder, names) for folder in folders if not is_system(os.path.join(folder, "x"))}
    return Inputs(files, system, stamp(system), watched, names)


def _tail(path: str, searched: Sequence[str]) -> list[str]:
    """Return the components of ``path`` that an ``#include`` may contain."""
    for folder in searched:
        prefix = os.path.join(folder, "")
        if path.startswith(prefix):
            return path.removeprefix(prefix).split(os.sep)
    return path.split(os.sep)[-3:]


def _membership(dirs: Sequence[str]) -> Callable[[str], bool]:
    """Return a predicate: does a file lie in one of ``dirs``, links followed? Each folder is resolved once."""
    prefixes = tuple(os.path.join(folder, "") for folder in dirs)
    known: dict[str, bool] = {}

    def inside(path: str) -> bool:
        folder = os.path.dirname(path)
        if folder not in known:
            known[folder] = os.path.join(os.path.realpath(folder), "").startswith(prefixes)
        return known[folder]

    return inside


def stamp(paths: Iterable[str]) -> str:
    """Return a hash of the sizes and dates of ``paths`` (in whole seconds, the precision of container images)."""
    facts: list[object] = []
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            return ""
        facts += [path, status.st_size, int(status.st_mtime)]
    return sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()


def present_names(folder: str, names: Iterable[str], depth: int = _DEPTH) -> list[str]:
    """Return which of ``names`` exist in ``folder``; subfolders with such a name are searched too, as ``a/b``."""
    wanted = names if isinstance(names, (set, frozenset)) else frozenset(names)
    try:
        present = sorted(wanted.intersection(os.listdir(folder)))
    except OSError:
        return []
    inner = []
    for name in present:
        path = os.path.join(folder, name)
        if depth > 1 and os.path.isdir(path):
            inner += [f"{name}/{below}" for below in present_names(path, wanted, depth - 1)]
    return present + inner


_WORD = re.compile(r"(?:\\[ \t]|\S)+")
_ESCAPE = re.compile(r"\\([ \t#:])|\$(\$)")
_SPECIAL = re.compile(r"[ \t#:]")


def read_depfile(path: Path, folder: str) -> list[str]:
    """Return the files listed in a depfile after its target; relative paths are joined to ``folder``.

    Raises:
        OSError: the depfile can't be read.
    """
    text = path.read_text("utf-8", "surrogateescape").replace("\\\n", " ")
    _, _, listed = text.partition(": ")
    names = (_ESCAPE.sub(lambda match: match[1] or match[2], word) for word in _WORD.findall(listed))
    return [os.path.join(folder, name) for name in names]


def add_to_depfile(path: Path, files: Iterable[str]) -> None:
    """Append `files` to the depfile `path`.

    Raises:
        OSError: the depfile can't be read or written.
    """
    more = " ".join(_SPECIAL.sub(r"\\\g<0>", name).replace("$", "$$") for name in files)
    path.write_bytes(path.read_bytes().rstrip() + f" {more}\n".encode("utf-8", "surrogateescape"))


def extend_depfile(path: Path, other: Path) -> None:
    """Append the files listed in the depfile `other` to the depfile `path`.

    Raises:
        OSError: a depfile can't be read or written.
    """
    more = other.read_bytes().partition(b": ")[2]
    path.write_bytes(path.read_bytes().rstrip() + b" " + more.rstrip() + b"\n")
