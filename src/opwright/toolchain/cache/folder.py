"""The build cache's folder: its location, its permissions, and atomic writes into it.

Everything in it can be deleted at any time; the next build recreates it. A file gets its final name by one ``rename``,
so a reader finds a complete file or none, on any file system and with or without locks. Damaged files are detected
before they are run, and rebuilt.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Container
from pathlib import Path

from opwright.errors import ToolchainError

FORMAT = "2"
"""Format version, part of every key: incremented when the layout or the meaning of the cached files changes."""

WORLD_WRITABLE = 0o022
_FOR_ALL = 0o002
_OVERFLOW_UID = 65534
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ELSEWHERE = "set TORCH_EXTENSIONS_DIR to a folder of your own"

_CHECKED: dict[str, str] = {}
"""The folders whose parents have been checked in this process, with their real paths."""


def cache_root() -> Path:
    """Return the private folder that all builds share; create it if it doesn't exist.

    It is ``$TORCH_EXTENSIONS_DIR/opwright`` if that variable is set, else a folder in the user's cache folder. Links
    are followed.

    Raises:
        ToolchainError: it can't be created or belongs to another user, or other users can write to it or replace it.
    """
    chosen = os.environ.get("TORCH_EXTENSIONS_DIR")
    return private_folder(Path(_absolute(chosen)) / "opwright" if chosen else _user_cache())


def _user_cache() -> Path:
    platform: str = sys.platform
    if platform == "linux":  # the same as platformdirs', whose import takes longer than a whole warm build
        base = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.join(_home(), ".cache")
        return Path(_absolute(base)) / "opwright"
    import platformdirs

    return Path(platformdirs.user_cache_dir("opwright", appauthor=False))


def _home() -> str:
    if home := os.environ.get("HOME"):
        return home
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        raise ToolchainError(
            f"there is no place for the build cache: HOME isn't set, and the user database doesn't know user "
            f"{os.getuid()}\n  likely fix: set HOME, or {_ELSEWHERE}"
        ) from None


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError as error:  # the working folder was removed
        raise unwritable(Path(path), error) from error


def private_folder(path: Path) -> Path:
    """Return the real path of ``path``, checked to be private to this user; create it with mode 0700 if it is missing.

    Code is loaded from this folder. If other users can write to it, it is refused rather than given safer permissions,
    because its present contents can't be trusted.

    Raises:
        ToolchainError: the folder can't be created or belongs to another user, or other users can write to it or
            replace it.
    """
    real = _CHECKED.get(str(path))
    if real is None or not is_private(real):
        real = os.path.realpath(path)
        try:
            check_parents(path, real)
            if not os.path.lexists(real):
                _make_private(real)
            check_private(path, os.lstat(real))
        except OSError as error:
            raise unwritable(path, error) from error
        _CHECKED[str(path)] = real
    return Path(real)


def is_private(path: str | Path, owners: Container[int] = ()) -> bool:
    """Return whether ``path`` is a folder (not a link) of this user, or of `owners`, to which no other can write."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and not status.st_mode & WORLD_WRITABLE and is_own(status, owners)


def is_own(status: os.stat_result, owners: Container[int] = ()) -> bool:
    """Return whether a file belongs to the user who runs this, or to one of `owners` (user ids)."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid() or status.st_uid in owners


def _make_private(path: str) -> None:
    if not os.path.isdir(parent := os.path.dirname(path)):
        _make_private(parent)
    with contextlib.suppress(FileExistsError):  # a race with another process of ours
        os.mkdir(path, 0o700)


def check_private(path: Path, status: os.stat_result) -> None:
    """Raise ToolchainError if ``path`` isn't a folder, belongs to another user, or other users can write to it."""
    if not stat.S_ISDIR(status.st_mode):
        raise ToolchainError(f"the build cache {path} is not a folder\n  likely fix: remove it, or {_ELSEWHERE}")
    if not is_own(status):
        raise ToolchainError(
            f"the build cache {path} belongs to user {status.st_uid}, not to user {os.geteuid()} who runs this; "
            f"code from another user's folder is not run\n  likely fix: {_ELSEWHERE}"
        )
    if status.st_mode & WORLD_WRITABLE:
        raise ToolchainError(
            f"the build cache {path} has mode {status.st_mode & 0o777:04o}: others can put code into it, "
            f"expected 0700\n  likely fix: rm -r it, or chmod 700 it if you trust what is in it, or {_ELSEWHERE}"
        )


def check_parents(path: Path, real: str) -> None:
    """Raise ToolchainError if ``path`` lies below a folder in which any user can rename its contents.

    A parent folder's owner, and a group with write access to it, are trusted: all other files there depend on them too.
    """
    while (parent := os.path.dirname(real)) != real:
        real = parent
        try:
            status = os.lstat(real)
        except FileNotFoundError:  # it will be created as a private folder
            continue
        if not status.st_mode & _FOR_ALL:
            continue
        if not status.st_mode & stat.S_ISVTX:
            raise ToolchainError(
                f"the build cache {path} lies below {real}, which has mode {status.st_mode & 0o7777:04o}: anybody "
                f"can put another folder in its place\n  likely fix: chmod o-w {real} (or +t), or {_ELSEWHERE}"
            )
        if not _is_trusted(status):
            raise ToolchainError(
                f"the build cache {path} lies below {real}, a folder for everybody that belongs to user "
                f"{status.st_uid}, who can put another folder in its place\n  likely fix: {_ELSEWHERE}"
            )


def _is_trusted(status: os.stat_result) -> bool:
    return not status.st_uid or is_own(status) or (status.st_uid == _OVERFLOW_UID and _has_unmapped_users())


def _has_unmapped_users() -> bool:
    """Return whether this is a container in which files of outside users (root's ``/tmp``) seem to belong to nobody."""
    with contextlib.suppress(OSError), open("/proc/self/uid_map", encoding="ascii") as file:
        return file.read().split() != ["0", "0", "4294967295"]
    return False


def unwritable(path: Path, error: OSError) -> ToolchainError:
    """Return the error for a cache folder that can't be used because of an ``OSError``."""
    what = error.strerror or str(error)
    place = f" ({error.filename})" if isinstance(error.filename, str) and error.filename != str(path) else ""
    fix = (
        "free some space there (`opwright cache clean` empties the cache), or set TORCH_EXTENSIONS_DIR to a folder on "
        "another disk"
        if error.errno in _FULL
        else f"free or unlock that place, or {_ELSEWHERE} (on a disk with space)"
    )
    return ToolchainError(f"can't write to the build cache {path}: {what}{place}\n  likely fix: {fix}")


def write_atomically(path: Path, data: str | bytes, work: Path | None = None, *, mode: int | None = None) -> None:
    """Write ``data`` to ``path`` atomically: readers see the old file or the complete new one.

    Args:
        path: the file.
        data: its content.
        work: the folder for the unfinished file (on the same file system); by default that of ``path``.
        mode: the file's permissions; by default as for any new file.

    Raises:
        OSError: the folder can't be written to.
    """
    blob = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    temporary = (work or path.parent) / f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        temporary.write_bytes(blob)
        if mode is not None:
            temporary.chmod(mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def update_file(path: Path, data: str | bytes) -> None:
    """Write a file as `write_atomically` does, unless it has that content: then its date stays."""
    blob = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    with contextlib.suppress(OSError):
        if path.read_bytes() == blob:
            return
    write_atomically(path, blob)


def copy_atomically(source: Path, target: Path) -> None:
    """Copy a file with its permissions, as `write_atomically` writes one."""
    write_atomically(target, source.read_bytes(), mode=stat.S_IMODE(source.stat().st_mode))
