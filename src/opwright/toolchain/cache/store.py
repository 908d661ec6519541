"""The libraries in the build cache: a folder for each key, with records of the files they were built from."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from pathlib import Path

from opwright.toolchain.cache.folder import WORLD_WRITABLE, check_private, is_own, is_private, write_atomically
from opwright.toolchain.cache.manifest import Inputs, Reader, Record, content

USE_NOTED_AFTER = 3600.0
"""Minimum seconds between two updates of a library's date, which records its last use."""
GRACE = 2 * USE_NOTED_AFTER
"""Seconds after the last recorded use during which nothing is removed: a caller may just have received the path."""


class Cache:
    """The folders of one cache root, one for each key; each holds libraries and the records of their inputs."""

    MANIFEST = "manifest.json"
    KEPT = 8
    """The number of records kept in a folder: so many earlier states of its headers need no new compilation."""

    def __init__(self, root: Path, *, read_only: bool = False) -> None:
        """Use the cache in ``root``, a folder that `cache_root` or `read_only_root` has checked.

        Args:
            root: the folder.
            read_only: only look up: nothing is written, touched or locked there. What is in it belongs to root, to
                the owner of ``root`` or to this user.
        """
        self.root = root
        self._read_only = read_only
        self._owners = (0, os.stat(root).st_uid) if read_only else ()

    def folder(self, name: str, key: str) -> Path:
        """Return the folder for ``key``; it isn't created."""
        return self.root / "units" / f"{name}-{key[:24]}"

    def make(self, folder: Path) -> None:
        """Create ``folder``, private regardless of the umask; one that others could write to is replaced.

        Raises:
            OSError: it can't be created.
            ToolchainError: it exists and belongs to another user, or ``folder.parent`` isn't private to this user.
        """
        for path in (folder.parent, folder):
            if not path.is_dir():
                path.mkdir(mode=0o700, exist_ok=True)
        check_private(folder.parent, os.lstat(folder.parent))
        if not is_private(folder):
            self._put_away(folder)
            folder.mkdir(mode=0o700, exist_ok=True)
            check_private(folder, os.lstat(folder))

    def _put_away(self, folder: Path) -> None:
        """Rename a folder of this user that others could write to, and delete it: it isn't read again."""
        from opwright.toolchain.cache.scratch import remove

        status = os.lstat(folder)
        if stat.S_ISDIR(status.st_mode) and is_own(status):
            away = folder.with_name(f".away-{os.urandom(8).hex()}")
            os.rename(folder, away)
            remove(away)

    def lookup(self, folder: Path, reader: Reader, *, with_system: bool = True) -> Path | None:
        """Return the intact library in ``folder`` that was built from the files' current contents, or None.

        Nothing is read from a folder that other users could write to.

        Args:
            folder: the folder of the library's key.
            reader: reads and hashes files.
            with_system: whether the compiler's own headers have to be the same.
        """
        if not (is_private(folder.parent, self._owners) and is_private(folder, self._owners)):
            return None
        for record in _records(folder):
            if record.holds(folder, reader, with_system=with_system, owners=self._owners):
                library = folder / record.library
                if not self._read_only:
                    _note_use(library)
                return library
        return None

    def why_not(self, folder: Path, reader: Reader) -> str:
        """Return the reason, for the log, why `lookup` finds nothing in ``folder``."""
        reasons = [record.change(folder, reader) for record in _records(folder)]
        return reasons[0] if reasons else "nothing is in the cache for this text, these options and this compiler"

    def publish(
        self,
        folder: Path,
        library: Path,
        name: str,
        inputs: Inputs,
        work: Path | None = None,
        *,
        suffix: str = ".so",
        anew: bool = False,
    ) -> Path:
        """Move ``library`` (on ``folder``'s file system) to its final name and record its inputs.

        The name contains the hash of all inputs, so a changed library never reuses an older one's name.

        Args:
            folder: the destination folder.
            library: the new file.
            name: the first part of the file name.
            inputs: the files that the library was built from.
            work: the folder for unfinished files; they are cleaned up with it if this process is killed.
            suffix: the file name's suffix.
            anew: choose a name that no library had before: a loader identifies libraries by name, failed ones too.

        Raises:
            OSError: the folder can't be written to.
        """
        digest = inputs.digest(folder.name) if inputs.complete and not anew else os.urandom(8).hex()
        status = os.stat(library)
        if status.st_mode & WORLD_WRITABLE:  # because of the umask
            library.chmod(status.st_mode & 0o755)
        record = inputs.record(f"{name}-{digest[:16]}{suffix}", status.st_size, content(library, status.st_size))
        os.replace(library, folder / record.library)
        if not inputs.complete:
            return folder / record.library
        others = [known for known in _records(folder) if not known.replaced_by(record)]
        records = [known.to_json() for known in (record, *others[: self.KEPT - 1])]
        write_atomically(folder / self.MANIFEST, json.dumps(records), work)
        return folder / record.library

    def prune(self, folder: Path) -> None:
        """Remove libraries of ``folder`` that no record names any more and that weren't used within `GRACE` seconds."""
        known = {record.library for record in _records(folder)}
        now = time.time()
        for path in folder.glob("*.so"):
            with contextlib.suppress(OSError):
                if path.name not in known and abs(now - os.stat(path).st_mtime) > GRACE:
                    path.unlink()

    def discard(self, folder: Path) -> None:
        """Remove anything that prevents ``folder`` from being created and written to."""
        from opwright.toolchain.cache.scratch import remove

        if os.path.islink(folder.parent) or not os.path.isdir(folder.parent):
            remove(folder.parent)
        remove(folder)


def files_read(library: Path) -> list[str]:
    """Return the files that the compiler read when it made ``library``, which a build or `Cache.lookup` returned."""
    return [
        path
        for record in _records(library.parent)
        if record.library == library.name
        for path in (*record.files, *record.system)
    ]


def _records(folder: Path) -> list[Record]:
    """Read the records; return none if they can't be read: the library is then rebuilt and a new record written."""
    try:
        return [Record.from_json(entry) for entry in json.loads(_read(folder / Cache.MANIFEST))]
    except (OSError, ValueError, TypeError, RecursionError):
        return []


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # it may be anything, even a pipe
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def _note_use(library: Path) -> None:
    """Set the library's date to now, which eviction takes for its last use."""
    with contextlib.suppress(OSError):  # the cache may be read-only
        if abs(time.time() - os.stat(library).st_mtime) > USE_NOTED_AFTER:
            os.utime(library)
