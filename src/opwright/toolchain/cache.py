"""The build cache: where it lies, who may write there, and how a file gets into it.

Everything in it can be deleted at any moment; the next build makes it again. A file appears under
its final name by one ``rename``, so that a reader finds a whole file or none, on any file system and
whether or not locks work there. What is damaged all the same is noticed before it is run, and built again.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.toolchain.manifest import Inputs, Reader, Record, content, is_own

if TYPE_CHECKING:
    from opwright.errors import ToolchainError

FORMAT = "2"
"""Part of every key: raised when the layout or the meaning of the cached files changes."""

WORLD_WRITABLE = 0o022
_FOR_ALL = 0o002
USE_NOTED_AFTER = 3600.0
"""Seconds for which a library's use isn't noted again (its date says when it was last used)."""
GRACE = 2 * USE_NOTED_AFTER
"""Seconds since its last noted use within which nothing is removed: its path may just have been handed out."""

_CHECKED: dict[str, str] = {}
"""The folders whose surroundings have been looked at in this process, and where their links lead."""


def cache_root() -> Path:
    """The private folder that all builds share; made where it doesn't exist.

    ``$TORCH_EXTENSIONS_DIR/opwright`` where that variable is set, else the user's cache folder. Links are followed.

    Raises:
        ToolchainError: it can't be made, belongs to somebody else, or others may write to it or put another in its
            place.
    """
    chosen = os.environ.get("TORCH_EXTENSIONS_DIR")
    return private_folder(Path(_absolute(chosen)) / "opwright" if chosen else _user_cache())


def _user_cache() -> Path:
    platform: str = sys.platform
    if platform == "linux":  # what platformdirs answers here; importing it costs more than a whole warm build
        base = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.join(_home(), ".cache")
        return Path(_absolute(base)) / "opwright"
    import platformdirs

    return Path(platformdirs.user_cache_dir("opwright", appauthor=False))


def _home() -> str:
    if home := os.environ.get("HOME"):
        return home
    from opwright.toolchain.privacy import home_of_user

    return home_of_user()


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError as error:  # the working folder is gone
        raise unwritable(Path(path), error) from error


def private_folder(path: Path) -> Path:
    """``path``, links followed; made with mode 0700 where it is missing, and checked to be this user's alone.

    Code that is run comes from there, so a folder that others can write to is refused rather than mended:
    what already lies in it can't be trusted.

    Raises:
        ToolchainError: the folder can't be made, isn't ours, or others can write to it or replace it.
    """
    real = _CHECKED.get(str(path))
    if real is not None and _is_private(real):
        return Path(real)
    real = os.path.realpath(path)
    if not (_is_private(real) and _stands_firm(real)):
        from opwright.toolchain import privacy

        privacy.make_or_refuse(path, real)
    _CHECKED[str(path)] = real
    return Path(real)


def _stands_firm(real: str) -> bool:
    """Whether nobody at all may rename the folders that ``real`` lies in (as root's ``/tmp`` sees to)."""
    while (above := os.path.dirname(real)) != real:
        found = os.lstat(above)
        if found.st_mode & _FOR_ALL and not (found.st_mode & stat.S_ISVTX and (not found.st_uid or is_own(found))):
            return False
        real = above
    return True


def _is_private(path: str | Path) -> bool:
    """Whether ``path`` is a folder of this user's that nobody else can write to (a link is no folder)."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and not found.st_mode & WORLD_WRITABLE and is_own(found)


def unwritable(path: Path, error: OSError) -> ToolchainError:
    """The error for a cache folder that an ``OSError`` keeps from being used."""
    from opwright.toolchain.privacy import unwritable as describe

    return describe(path, error)


class Cache:
    """The folders of one cache root, one for each key; each holds its libraries and what they were made from."""

    MANIFEST = "manifest.json"
    KEPT = 8
    """Records a folder keeps: the states of its headers that can come back without compiling."""

    def __init__(self, root: Path) -> None:
        """A cache in ``root``, which `cache_root` has checked."""
        self.root = root

    def folder(self, name: str, key: str) -> Path:
        """Where everything of ``key`` lies (not made yet)."""
        return self.root / "units" / f"{name}-{key[:24]}"

    def make(self, folder: Path) -> None:
        """Make ``folder``, private whatever the umask is.

        Raises:
            OSError: it can't be made.
            ToolchainError: it is there, and not this user's alone.
        """
        for each in (folder.parent, folder):
            if not each.is_dir():
                each.mkdir(mode=0o700, exist_ok=True)
        self._check(folder)

    def _check(self, folder: Path) -> None:
        for each in (folder.parent, folder):
            if not _is_private(each):
                from opwright.toolchain.privacy import refuse

                refuse(each, os.lstat(each))

    def lookup(self, folder: Path, reader: Reader) -> Path | None:
        """The library in ``folder`` that was made from files as they are now, if there is one, whole.

        Raises:
            ToolchainError: others can write to the folder.
        """
        for record in self._records(folder):
            if record.holds(folder, reader):
                self._check(folder)
                library = folder / record.library
                _note_use(library)
                return library
        return None

    def why_not(self, folder: Path, reader: Reader) -> str:
        """Why `lookup` finds nothing in ``folder``, for the log."""
        reasons = [record.change(folder, reader) for record in self._records(folder)]
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
        """Move ``library`` (in ``folder``'s file system) to its final name and remember what it was made from.

        The name holds the hash of everything it was made from, so a changed one never has an old one's name.

        Args:
            folder: where it goes.
            library: the new file.
            name: what it is called.
            inputs: what it was made from.
            suffix: how its name ends.
            work: where unfinished files lie, so that somebody clears them up if this is killed.
            anew: under a name that no library had before: a loader knows libraries by name, also one that failed.

        Raises:
            OSError: the folder can't be written to.
        """
        digest = inputs.digest(folder.name) if inputs.complete and not anew else os.urandom(8).hex()
        found = os.stat(library)
        if found.st_mode & WORLD_WRITABLE:  # the umask said so
            library.chmod(found.st_mode & 0o755)
        record = inputs.record(f"{name}-{digest[:16]}{suffix}", found.st_size, content(library, found.st_size))
        os.replace(library, folder / record.library)
        if not inputs.complete:
            return folder / record.library
        others = [known for known in self._records(folder) if not known.replaced_by(record)]
        records = [known.to_json() for known in (record, *others[: self.KEPT - 1])]
        write_atomically(folder / self.MANIFEST, json.dumps(records), work)
        return folder / record.library

    def prune(self, folder: Path) -> None:
        """Remove libraries of ``folder`` that no record names any more and that nobody can just have been handed."""
        known = {record.library for record in self._records(folder)}
        now = time.time()
        for path in folder.glob("*.so"):
            with contextlib.suppress(OSError):
                if path.name not in known and abs(now - os.stat(path).st_mtime) > GRACE:
                    path.unlink()

    def discard(self, folder: Path) -> None:
        """Remove whatever stands in the way of making ``folder`` and writing into it."""
        from opwright.toolchain.scratch import remove

        if os.path.islink(folder.parent) or not os.path.isdir(folder.parent):
            remove(folder.parent)
        remove(folder)

    def _records(self, folder: Path) -> list[Record]:
        """What is remembered; nothing where that can't be read: then it is built again, and written anew."""
        try:
            return [Record.from_json(entry) for entry in json.loads(_read(folder / self.MANIFEST))]
        except (OSError, ValueError, TypeError, RecursionError):
            return []


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # it may be anything, a pipe too
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def _note_use(library: Path) -> None:
    """Let the library's date say that it was used: by it the cache knows what it can part with."""
    with contextlib.suppress(OSError):  # a cache that can only be read
        if abs(time.time() - os.stat(library).st_mtime) > USE_NOTED_AFTER:
            os.utime(library)


def write_atomically(path: Path, data: str | bytes, work: Path | None = None) -> None:
    """Put ``data`` at ``path``: readers see the old file, or the whole new one.

    Args:
        path: the file.
        data: its content.
        work: where the unfinished file lies (in the same file system); by default beside ``path``.

    Raises:
        OSError: the folder can't be written to.
    """
    blob = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    temporary = (work or path.parent) / f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        temporary.write_bytes(blob)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
