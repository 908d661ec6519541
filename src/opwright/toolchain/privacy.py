"""Whose folder is it? What is said and done where a cache folder isn't simply there and private."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from opwright.errors import ToolchainError

_ELSEWHERE = "set TORCH_EXTENSIONS_DIR to a folder of your own"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_WRITABLE = 0o022
_FOR_ALL = 0o002
_OVERFLOW_UID = 65534


def home_of_user() -> str:
    """The home folder that the user database knows, for a process without ``HOME``.

    Raises:
        ToolchainError: it knows none.
    """
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        raise ToolchainError(
            f"there is no place for the build cache: HOME isn't set, and the user database doesn't know user "
            f"{os.getuid()}\n  likely fix: set HOME, or {_ELSEWHERE}"
        ) from None


def make_or_refuse(path: Path, real: str) -> None:
    """Make the folder ``path`` (links followed: ``real``) with mode 0700, and so all that is missing above it.

    Raises:
        ToolchainError: it can't be made; or it is there, but not a folder that this user alone can change or replace.
    """
    try:
        above = os.path.dirname(real)
        while not os.path.isdir(above):
            above = os.path.dirname(above)
        _refuse_replaceable(path, os.path.join(above, "x"))
        if not os.path.lexists(real):
            _make_all(real)
        refuse(path, os.lstat(real))
    except OSError as error:
        raise unwritable(path, error) from error


def _make_all(path: str) -> None:
    if not os.path.isdir(above := os.path.dirname(path)):
        _make_all(above)
    with contextlib.suppress(FileExistsError):  # a race with another process of ours
        os.mkdir(path, 0o700)


def refuse(path: Path, found: os.stat_result) -> None:
    """Say why the folder ``path`` can't be used, if it can't.

    Raises:
        ToolchainError: it is no folder, belongs to somebody else, or others can write to it.
    """
    if not stat.S_ISDIR(found.st_mode):
        raise ToolchainError(f"the build cache {path} is not a folder\n  likely fix: remove it, or {_ELSEWHERE}")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise ToolchainError(
            f"the build cache {path} belongs to user {found.st_uid}, not to user {os.geteuid()} who runs this; "
            f"code from another user's folder is not run\n  likely fix: {_ELSEWHERE}"
        )
    if found.st_mode & _WRITABLE:
        raise ToolchainError(
            f"the build cache {path} has mode {found.st_mode & 0o777:04o}: others can put code into it, "
            f"expected 0700\n  likely fix: rm -r it, or chmod 700 it if you trust what is in it, or {_ELSEWHERE}"
        )


def _refuse_replaceable(path: Path, real: str) -> None:
    """Refuse a place below a folder in which anybody may rename what lies there.

    Whoever owns a folder above, and a group that may write to it, are trusted: they are so for all else there.
    """
    for folder in Path(real).parents:
        found = os.lstat(folder)
        if not found.st_mode & _FOR_ALL:
            continue
        if not found.st_mode & stat.S_ISVTX:
            raise ToolchainError(
                f"the build cache {path} lies below {folder}, which has mode {found.st_mode & 0o7777:04o}: anybody "
                f"can put another folder in its place\n  likely fix: chmod o-w {folder} (or +t), or {_ELSEWHERE}"
            )
        if not _is_trusted(found.st_uid):
            raise ToolchainError(
                f"the build cache {path} lies below {folder}, a folder for everybody that belongs to user "
                f"{found.st_uid}, who can put another folder in its place\n  likely fix: {_ELSEWHERE}"
            )


def _is_trusted(user: int) -> bool:
    return user in {0, os.geteuid()} or (user == _OVERFLOW_UID and _has_unmapped_users())


def _has_unmapped_users() -> bool:
    """Whether this is a container in which files of users outside, such as root's ``/tmp``, seem to be nobody's."""
    with contextlib.suppress(OSError), open("/proc/self/uid_map", encoding="ascii") as file:
        return file.read().split() != ["0", "0", "4294967295"]
    return False


def unwritable(path: Path, error: OSError) -> ToolchainError:
    """The error for a cache folder that an ``OSError`` keeps from being used."""
    what = error.strerror or str(error)
    at = f" ({error.filename})" if isinstance(error.filename, str) and error.filename != str(path) else ""
    fix = (
        "free some space there (`opwright cache clean` empties the cache), or set TORCH_EXTENSIONS_DIR to a folder on "
        "another disk"
        if error.errno in _FULL
        else f"free or unlock that place, or {_ELSEWHERE} (on a disk with space)"
    )
    return ToolchainError(f"can't write to the build cache {path}: {what}{at}\n  likely fix: {fix}")
