"""The cache kept small: what was used least recently goes, whatever it is.

An *entry* is what lies two levels below the root, as ``units/<name>-<key>`` and ``compilers/<key>.json`` do: a folder
that is whole by itself, or a file. A part of Opwright that keeps something else in the cache makes entries of its own
kind, ``<kind>/<name>``, holds ``<kind>/<name>/lock`` while it writes into one, and need do no more.

An entry was last used at the latest date in it. Now is what the file system says it is, so that a clock that was set,
or a server's that differs, has no say.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opwright.errors import ToolchainError
from opwright.log import logger
from opwright.toolchain.cache import GRACE
from opwright.toolchain.lock import unless_held
from opwright.toolchain.scratch import clear, clear_abandoned, remove

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "OPWRIGHT_CACHE_SIZE"
_DEFAULT = 5 << 30
_MOST = 1e18  # digits enough make a float infinite
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_INTERVAL = 3600.0
_FILLED = 0.9
_STAMP = "looked-after"
_REMOVED = ".removed-"


class Entry(NamedTuple):
    """Something in the cache: where, its size in bytes, and when it was last used (seconds, by its file system)."""

    path: Path
    size: int
    used: float

    @property
    def kind(self) -> str:
        """What it is: the name of the folder around it."""
        return self.path.parent.name


def size_limit() -> int | None:
    """Bytes that the cache may take: ``OPWRIGHT_CACHE_SIZE`` (such as ``2G``), else 5 GiB. None: no limit (``0``).

    Raises:
        ToolchainError: the variable is no size.
    """
    asked = os.environ.get(VARIABLE, "").strip()
    if not asked:
        return _DEFAULT
    match = _SIZE.fullmatch(asked)
    if match is None:
        raise ToolchainError(
            f"{VARIABLE}={asked!r}: expected a size in bytes, or with K, M, G or T\n  likely fix: {VARIABLE}=2G "
            "(0 for no limit)"
        )
    return int(min(float(match[1]), _MOST) * (1 << _UNITS[match[2].upper()])) or None


def entries(root: Path) -> list[Entry]:
    """Everything in the cache, least recently used first."""
    found = [_entry(path) for kind in _folders(root) for path in _listed(kind)]
    return sorted(found, key=lambda entry: (entry.used, entry.path))


def keep_small(root: Path, limit: int | None) -> None:
    """Clear up after killed builds, and remove what was used least recently until a tenth below ``limit``.

    At most once an hour; errors are kept silent, since nobody has asked for it. What was used in the last two hours
    stays, even beyond the limit: somebody may be about to load it.
    """
    with contextlib.suppress(OSError):
        if (now := _due(root)) is not None:
            _sweep(root, now)
            if limit is not None:
                _shrink(root, limit, now)


def keep_within(folder: Path, limit: float, *, spared: float, unused: float) -> float:
    """Remove the entries of ``folder`` that were used least recently, until the others take ``limit`` bytes at most.

    Args:
        folder: of one kind.
        limit: bytes.
        spared: seconds since its last use within which an entry stays, also beyond the limit.
        unused: seconds since its last use after which an entry goes, also below the limit.

    Returns:
        The bytes that are left.
    """
    import time

    found, now = [_entry(path) for path in _listed(folder)], time.time()
    total = float(sum(entry.size for entry in found))
    for entry in sorted(found, key=lambda entry: entry.used):
        age = abs(now - entry.used)
        if age > unused or (total > limit and age > spared):
            total -= entry.size if _remove(entry.path) else 0
    return total


def clean(root: Path, older_than: float = 0.0) -> tuple[list[Entry], list[Entry]]:
    """Remove the entries that were not used for ``older_than`` seconds; which went, and which stayed in use.

    One that is being built is left alone. A process that has been told a path and hasn't loaded it yet builds it again.
    """
    now = _now(root)
    _sweep(root, now)
    gone: list[Entry] = []
    kept: list[Entry] = []
    for entry in entries(root):
        if abs(now - entry.used) >= older_than:
            (gone if _remove(entry.path) else kept).append(entry)
    return gone, kept


def _due(root: Path) -> float | None:
    """The file system's time, if nobody has looked after the cache within the hour; we do then, and others don't."""
    stamp = root / _STAMP
    try:
        before = os.stat(stamp).st_mtime
    except OSError:
        before = None
    import time

    if before is not None and abs(time.time() - before) < _INTERVAL:
        return None
    return _now(root)


def _now(root: Path) -> float:
    stamp = root / _STAMP
    stamp.touch(mode=0o600)
    return os.stat(stamp).st_mtime


def _shrink(root: Path, limit: int, now: float) -> None:
    found = entries(root)
    total = sum(entry.size for entry in found)
    if total <= limit:
        return
    logger.info("the cache %s holds %d bytes, more than %d: removing what was used least recently", root, total, limit)
    # a date far ahead is one from before the clock was set: nobody has used it since
    for entry in sorted(found, key=lambda entry: entry.used if entry.used < now + GRACE else 0.0):
        if total <= limit * _FILLED:
            return
        if abs(now - entry.used) > GRACE and _remove(entry.path):
            total -= entry.size


def _remove(path: Path) -> bool:
    """Remove an entry, unless somebody builds it: under another name first, so that nobody finds half of it."""
    with contextlib.suppress(OSError):
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return True
        with unless_held(path / "lock") as is_free:
            if not is_free:
                return False
            clear(path)
            away = path.with_name(f"{_REMOVED}{os.getpid()}-{os.urandom(4).hex()}")
            os.rename(path, away)
        remove(away)
        return True
    return False


def _sweep(root: Path, now: float) -> None:
    """Remove what killed processes left: half removed entries, scratch folders, unfinished files."""
    for kind in _folders(root):
        for path in _listed(kind, hidden=True):
            if path.name.startswith(_REMOVED):
                remove(path)
        _sweep_files(kind, now)
        for path in _folders(kind):
            with contextlib.suppress(OSError):
                _sweep_entry(path, now)


def _sweep_entry(path: Path, now: float) -> None:
    if not (hidden := _listed(path, hidden=True)):
        return
    if any(each.name.startswith(".work-") for each in hidden):
        with unless_held(path / "lock") as is_free:
            if is_free:
                clear(path)
    clear_abandoned(path, now)
    _sweep_files(path, now)


def _sweep_files(folder: Path, now: float) -> None:
    for path in _listed(folder, hidden=True):
        with contextlib.suppress(OSError):
            if path.is_file() and abs(now - os.lstat(path).st_mtime) > GRACE:
                path.unlink()


def _entry(path: Path) -> Entry:
    size, used = 0, 0.0
    for each in _tree(path):
        with contextlib.suppress(OSError):
            found = os.lstat(each)
            size, used = size + found.st_size, max(used, found.st_mtime)
    return Entry(path, size, used)


def _tree(path: Path) -> Iterator[str]:
    """The files below ``path``; itself, where it is one, or an empty folder."""
    any_file = False
    for folder, _, names in os.walk(path):
        for name in names:
            any_file = True
            yield os.path.join(folder, name)
    if not any_file:
        yield str(path)


def _folders(path: Path) -> list[Path]:
    return [each for each in _listed(path) if each.is_dir() and not each.is_symlink()]


def _listed(folder: Path, *, hidden: bool = False) -> list[Path]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [folder / name for name in names if hidden == name.startswith(".")]
