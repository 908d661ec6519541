"""Eviction from the cache: the least recently used entries are removed first, of all kinds alike.

An *entry* is a self-contained folder or a file two levels below the root, such as ``units/<name>-<key>`` or
``compilers/<key>.json``. Another part of Opwright that keeps data in the cache creates entries ``<kind>/<name>`` of a
new kind and holds ``<kind>/<name>/lock`` while it writes; eviction then works without further code.

The time of an entry's last use is the latest modification time in it. The current time is taken from the file system,
so that neither a changed clock nor a file server's different one matters.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opwright.errors import ToolchainError
from opwright.log import logger
from opwright.toolchain.cache.lock import unless_held
from opwright.toolchain.cache.scratch import clear, clear_abandoned, remove
from opwright.toolchain.cache.store import GRACE

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "OPWRIGHT_CACHE_SIZE"
_DEFAULT = 5 << 30
_MOST = 1e18  # enough digits would make the float infinite
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_INTERVAL = 3600.0
_FILLED = 0.9
_STAMP = "looked-after"
_REMOVED = ".removed-"


class Entry(NamedTuple):
    """An entry of the cache: its path, its size in bytes, and its last use (seconds, the file system's time)."""

    path: Path
    size: int
    used: float

    @property
    def kind(self) -> str:
        """The kind of entry: the name of the folder that contains it."""
        return self.path.parent.name


def size_limit() -> int | None:
    """Return the cache's limit in bytes: ``OPWRIGHT_CACHE_SIZE`` (such as ``2G``), else 5 GiB; None for ``0``.

    Raises:
        ToolchainError: the variable's value isn't a size.
    """
    setting = os.environ.get(VARIABLE, "").strip()
    if not setting:
        return _DEFAULT
    match = _SIZE.fullmatch(setting)
    if match is None:
        raise ToolchainError(
            f"{VARIABLE}={setting!r}: expected a size in bytes, or with K, M, G or T\n  likely fix: {VARIABLE}=2G "
            "(0 for no limit)"
        )
    return int(min(float(match[1]), _MOST) * (1 << _UNITS[match[2].upper()])) or None


def entries(root: Path) -> list[Entry]:
    """List all entries of the cache, least recently used first."""
    return sorted(
        (_entry(path) for kind in _folders(root) for path in _listed(kind)), key=lambda entry: (entry.used, entry.path)
    )


def keep_small(root: Path, limit: int | None) -> None:
    """Remove leftovers of killed builds, then the least recently used entries until a tenth below ``limit``.

    This runs at most once an hour. Errors are ignored, since no user requested it. Entries used in the last two hours
    stay even if the limit is exceeded: a process may be about to load them.
    """
    with contextlib.suppress(OSError):
        if (now := _due(root)) is not None:
            _sweep(root, now)
            if limit is not None:
                _shrink(root, limit, now)


def keep_within(folder: Path, limit: float, *, spared: float, unused: float) -> float:
    """Remove the least recently used entries of ``folder`` until the rest takes at most ``limit`` bytes.

    Args:
        folder: the cache folder of one kind of entries.
        limit: the maximum total size in bytes.
        spared: entries used within this many seconds are never removed, even if the limit is exceeded.
        unused: entries not used for this many seconds are removed, even if the limit isn't reached.

    Returns:
        The total size in bytes of the remaining entries.
    """
    import time

    candidates, now = [_entry(path) for path in _listed(folder)], time.time()
    total = float(sum(entry.size for entry in candidates))
    for entry in sorted(candidates, key=lambda entry: entry.used):
        age = abs(now - entry.used)
        if age > unused or (total > limit and age > spared):
            total -= entry.size if _remove(entry.path) else 0
    return total


def clean(root: Path, older_than: float = 0.0) -> tuple[list[Entry], list[Entry]]:
    """Remove entries not used for ``older_than`` seconds; return the removed ones and those that couldn't be removed.

    An entry that is being built stays. A process that has received a library's path but hasn't loaded it yet builds
    the library again.
    """
    now = _touch_stamp(root)
    _sweep(root, now)
    gone: list[Entry] = []
    kept: list[Entry] = []
    for entry in entries(root):
        if abs(now - entry.used) >= older_than:
            (gone if _remove(entry.path) else kept).append(entry)
    return gone, kept


def _due(root: Path) -> float | None:
    """Return the file system's time if no process has evicted within the hour, and claim the eviction; else None."""
    stamp = root / _STAMP
    try:
        before = os.stat(stamp).st_mtime
    except OSError:
        before = None
    import time

    if before is not None and abs(time.time() - before) < _INTERVAL:
        return None
    return _touch_stamp(root)


def _touch_stamp(root: Path) -> float:
    stamp = root / _STAMP
    stamp.touch(mode=0o600)
    return os.stat(stamp).st_mtime


def _shrink(root: Path, limit: int, now: float) -> None:
    candidates = entries(root)
    total = sum(entry.size for entry in candidates)
    if total <= limit:
        return
    logger.info("the cache %s holds %d bytes, more than %d: removing what was used least recently", root, total, limit)
    # a date in the far future was written before the clock was set back: the entry wasn't used since
    for entry in sorted(candidates, key=lambda entry: entry.used if entry.used < now + GRACE else 0.0):
        if total <= limit * _FILLED:
            return
        if abs(now - entry.used) > GRACE and _remove(entry.path):
            total -= entry.size


def _remove(path: Path) -> bool:
    """Remove an entry unless it is being built; rename it first, so that no reader finds a partial entry."""
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
    """Remove leftovers of killed processes: half-removed entries, scratch folders, unfinished files."""
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
    if any(path.name.startswith(".work-") for path in hidden):
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
    for file in _tree(path):
        with contextlib.suppress(OSError):
            status = os.lstat(file)
            size, used = size + status.st_size, max(used, status.st_mtime)
    return Entry(path, size, used)


def _tree(path: Path) -> Iterator[str]:
    """Yield the files below ``path``, or ``path`` itself if it is a file or an empty folder."""
    any_file = False
    for folder, _, names in os.walk(path):
        for name in names:
            any_file = True
            yield os.path.join(folder, name)
    if not any_file:
        yield str(path)


def _folders(path: Path) -> list[Path]:
    return [folder for folder in _listed(path) if folder.is_dir() and not folder.is_symlink()]


def _listed(folder: Path, *, hidden: bool = False) -> list[Path]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [folder / name for name in names if hidden == name.startswith(".")]
