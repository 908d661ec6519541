"""``load(..., watch=True)``: a thread that loads sources again when they, or headers that they include, were saved.

Files are looked at a few times a second (``stat``, nothing more), which works on every file system and with every way
in which editors save: written in place, in pieces, or replaced by another file.
"""

from __future__ import annotations

import atexit
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from opwright.codegen import KernelSource
from opwright.errors import OpwrightError
from opwright.log import notice
from opwright.toolchain import Options

INTERVAL = 0.2
"""Seconds between two looks at the files."""

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_FOLDER = re.compile(r"-(?:I|iquote|isystem|idirafter)(.+)", re.DOTALL)
_MOST_FILES = 1000

Stamp = tuple[int, int, int] | None
Digest = bytes | None


class Watched(NamedTuple):
    """What is watched for somebody.

    Attributes:
        name: what it is called in messages.
        sources: the sources as they are loaded now.
        reload: loads them again; returns what there is to say beyond that it was done.
    """

    name: str
    sources: Callable[[], Sequence[KernelSource]]
    reload: Callable[[], str]


class _Files:
    """The files of one `Watched`: as they were when they were last loaded, or tried."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        texts = {str(source.path): source.text.encode("utf-8", "surrogateescape") for source in watched.sources()}
        self._digests = {path: digest for path, (_, digest) in _scan(watched.sources(), texts).items()}
        self._stamps: dict[str, Stamp] = {}  # unknown: a source may have been saved again since it was read
        self._last: dict[str, Stamp] = {}

    def poll(self) -> None:
        """Load the sources again if they were saved since, and have come to rest."""
        now = {path: _stamp(path) for path in self._digests}
        if now == self._stamps:
            return
        settled, self._last = now == self._last, now
        sources = self.watched.sources()
        if not settled or any(now.get(str(source.path)) is None for source in sources):
            return  # half written, or between two names: it will be back
        found = _scan(sources)
        stamps = {path: stamp for path, (stamp, _) in found.items()}
        if not _at_rest(stamps):
            return
        digests = {path: digest for path, (_, digest) in found.items()}
        changed = digests != self._digests
        self._stamps, self._digests = stamps, digests
        if changed:
            self._load()

    def _load(self) -> None:
        name, started = self.watched.name, time.perf_counter()
        try:
            more = self.watched.reload()
        except Exception as error:  # noqa: BLE001 - whatever it is, the next edit may mend it
            if not _at_rest(self._stamps):
                return  # what was read was half written: it is looked at again
            text = str(error) if isinstance(error, OpwrightError) else f"{type(error).__name__}: {error}"
            _say(f"{name} not reloaded, the code from before goes on running\n{text}")
        else:
            _say(f"{name} reloaded ({time.perf_counter() - started:.2f} s){more}")


def _say(line: str) -> None:
    if not _ENDING.is_set():
        notice(line)


class _Watcher:
    """The thread, and what it watches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # held while files are looked at and while they are loaded
        self._files: dict[int, _Files] = {}
        self._thread: threading.Thread | None = None

    def add(self, key: int, watched: Watched) -> None:
        """Watch something; in place of what had this key before."""
        with self._lock:
            self._files[key] = _Files(watched)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="opwright-watch", daemon=True)
                self._thread.start()

    def remove(self, key: int) -> None:
        """Stop watching it; a reload that is under way is waited for."""
        with self._lock:
            self._files.pop(key, None)

    def _run(self) -> None:
        while not _ENDING.wait(INTERVAL):
            with self._lock:
                if not self._files:
                    self._thread = None
                    return
                for files in tuple(self._files.values()):
                    files.poll()


_ENDING = threading.Event()
_WATCHERS = [_Watcher()]
atexit.register(_ENDING.set)


def _forget() -> None:
    """A forked child has no watching thread, nor must it wait for a lock that one held."""
    _WATCHERS[0] = _Watcher()


os.register_at_fork(after_in_child=_forget)


def watch(key: int, watched: Watched) -> None:
    """Watch something, known by `key`; in place of what was watched under it before."""
    _WATCHERS[0].add(key, watched)


def unwatch(key: int) -> None:
    """Stop, if it is watched; a reload that is under way is waited for."""
    _WATCHERS[0].remove(key)


def _scan(sources: Sequence[KernelSource], texts: dict[str, bytes] | None = None) -> dict[str, tuple[Stamp, Digest]]:
    """The sources and the headers that they include: their stamps, and the hashes of what is in them.

    Args:
        sources: the sources.
        texts: their contents, by path, where it isn't the files' that is meant.
    """
    found: dict[str, tuple[Stamp, Digest]] = {}
    for source in sources:
        path, folders = str(source.path), _folders(source.options)
        waiting = [path]
        while waiting and len(found) < _MOST_FILES:
            each = waiting.pop()
            if each in found:
                continue
            stamp = _stamp(each)  # before it is read: what is written meanwhile will be seen
            text = texts[each] if texts and each in texts else _content(each)
            found[each] = stamp, None if text is None else sha256(text).digest()
            waiting += _included(os.path.realpath(each), text or b"", folders)
    return found


def _included(path: str, text: bytes, folders: Sequence[str]) -> Iterator[str]:
    """Where the headers that a file includes are, or would be found first, among the user's folders.

    A line that the preprocessor would skip counts too: a file too many is looked at, no more.
    """
    for name in _INCLUDE.findall(text):
        for folder in (os.path.dirname(path), *folders):
            candidate = os.path.abspath(os.path.join(folder, os.fsdecode(name)))
            yield candidate
            if os.path.isfile(candidate):
                break


def _folders(options: Options) -> list[str]:
    words = [match[1] for word in options.extra_cflags if (match := _FOLDER.fullmatch(word))]
    return [*(os.fspath(folder) for folder in options.include_dirs), *words]


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _at_rest(stamps: dict[str, Stamp]) -> bool:
    return all(_stamp(path) == stamp for path, stamp in stamps.items())


def _content(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None
