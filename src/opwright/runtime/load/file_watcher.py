"""``load(..., watch=True)``: a thread that reloads sources after they, or headers that they include, were saved.

Files are polled a few times a second, with ``stat`` only. This works on every file system and with every way in which
editors save: in place, in pieces, or by replacing the file.
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
"""Seconds between two polls of the files."""

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_FOLDER = re.compile(r"-(?:I|iquote|isystem|idirafter)(.+)", re.DOTALL)
_MOST_FILES = 1000

Stamp = tuple[int, int, int] | None
Digest = bytes | None


class Watched(NamedTuple):
    """A set of sources to watch.

    Attributes:
        name: its name in messages.
        sources: returns the sources as they are loaded now.
        reload: reloads the sources; returns text to append to the message that they were reloaded.
    """

    name: str
    sources: Callable[[], Sequence[KernelSource]]
    reload: Callable[[], str]


class _Files:
    """The files of one `Watched`, in the state of the last reload, successful or not."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        texts = {str(source.path): source.text.encode("utf-8", "surrogateescape") for source in watched.sources()}
        self._digests = {path: digest for path, (_, digest) in _scan(watched.sources(), texts).items()}
        self._stamps: dict[str, Stamp] = {}  # empty: a source can have been saved again since it was read
        self._last: dict[str, Stamp] = {}

    def poll(self) -> None:
        """Reload the sources if they were saved since the last reload and are no longer changing."""
        stamps_now = {path: _stamp(path) for path in self._digests}
        if stamps_now == self._stamps:
            return
        settled, self._last = stamps_now == self._last, stamps_now
        sources = self.watched.sources()
        if not settled or any(stamps_now.get(str(source.path)) is None for source in sources):
            return  # still being written, or renamed: try again at the next poll
        scanned = _scan(sources)
        stamps = {path: stamp for path, (stamp, _) in scanned.items()}
        if not _at_rest(stamps):
            return
        digests = {path: digest for path, (_, digest) in scanned.items()}
        changed = digests != self._digests
        self._stamps, self._digests = stamps, digests
        if changed:
            self._load()

    def _load(self) -> None:
        name, started = self.watched.name, time.perf_counter()
        try:
            more = self.watched.reload()
        except Exception as error:  # noqa: BLE001 - the next edit can fix any error
            if not _at_rest(self._stamps):
                return  # the file was read while it was being written: try again at the next poll
            text = str(error) if isinstance(error, OpwrightError) else f"{type(error).__name__}: {error}"
            _say(f"{name} not reloaded, the code from before goes on running\n{text}")
        else:
            _say(f"{name} reloaded ({time.perf_counter() - started:.2f} s){more}")


def _say(line: str) -> None:
    if not _ENDING.is_set():
        notice(line)


class _Watcher:
    """The watching thread and the files that it watches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # held while files are polled and reloaded
        self._files: dict[int, _Files] = {}
        self._thread: threading.Thread | None = None

    def add(self, key: int, watched: Watched) -> None:
        """Watch `watched`; replace any earlier one with this key."""
        with self._lock:
            self._files[key] = _Files(watched)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="opwright-watch", daemon=True)
                self._thread.start()

    def remove(self, key: int) -> None:
        """Stop watching the files of `key`; wait for a reload in progress."""
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
    """Discard the watching thread, which a forked child doesn't have, and its lock, which it might have held."""
    _WATCHERS[0] = _Watcher()


os.register_at_fork(after_in_child=_forget)


def watch(key: int, watched: Watched) -> None:
    """Watch `watched` under `key`; replace any earlier one with this key."""
    _WATCHERS[0].add(key, watched)


def unwatch(key: int) -> None:
    """Stop watching the files of `key`, if they are watched; wait for a reload in progress."""
    _WATCHERS[0].remove(key)


def _scan(sources: Sequence[KernelSource], texts: dict[str, bytes] | None = None) -> dict[str, tuple[Stamp, Digest]]:
    """Return the stamps and the content hashes of the sources and of the headers that they include.

    Args:
        sources: the sources.
        texts: contents by path, to use in place of the files' current contents.
    """
    contents: dict[str, tuple[Stamp, Digest]] = {}
    for source in sources:
        path, folders = str(source.path), _folders(source.options)
        waiting = [path]
        while waiting and len(contents) < _MOST_FILES:
            name = waiting.pop()
            if name in contents:
                continue
            stamp = _stamp(name)  # before reading, so that a change during the read will be noticed
            text = texts[name] if texts and name in texts else _content(name)
            contents[name] = stamp, None if text is None else sha256(text).digest()
            waiting += _included(os.path.realpath(name), text or b"", folders)
    return contents


def _included(path: str, text: bytes, folders: Sequence[str]) -> Iterator[str]:
    """Yield the paths, in the user's folders, at which the compiler would look for the headers that a file includes.

    The paths of each header end with the first that exists. Lines that the preprocessor would skip count too: that
    only means that an unneeded file is polled.
    """
    for name in _INCLUDE.findall(text):
        for folder in (os.path.dirname(path), *folders):
            candidate = os.path.abspath(os.path.join(folder, os.fsdecode(name)))
            yield candidate
            if os.path.isfile(candidate):
                break


def _folders(options: Options) -> list[str]:
    flags = [match[1] for word in options.extra_cflags if (match := _FOLDER.fullmatch(word))]
    return [*(os.fspath(folder) for folder in options.include_dirs), *flags]


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _at_rest(stamps: dict[str, Stamp]) -> bool:
    return all(_stamp(path) == stamp for path, stamp in stamps.items())


def _content(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None
