"""The build cache: whose it is, what it is on, and whether there is room."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from opwright.doctor.model import Finding, from_error, note, ok, wrong
from opwright.errors import ToolchainError
from opwright.toolchain.cache import cache_root, unwritable
from opwright.toolchain.upkeep import entries, size_limit

_LITTLE = 64 << 20
_SCANT = 1 << 30
_TRIED = 1 << 16
_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "beegfs", "ceph", "glusterfs", "gpfs", "lustre", "panfs"}
)
_ELSEWHERE = "set TORCH_EXTENSIONS_DIR to a folder of your own on a local disk"


class Mount(NamedTuple):
    """The file system that a folder is on."""

    point: str
    kind: str
    options: frozenset[str]


def examine() -> Iterator[Finding]:
    """Can it be used, is there room, is it local?"""
    chosen = os.environ.get("TORCH_EXTENSIONS_DIR")
    try:
        root = cache_root()
    except ToolchainError as error:
        yield from_error("folder", error)
        return
    yield ok("folder", f"{root} ({'TORCH_EXTENSIONS_DIR' if chosen else 'by default'}), yours alone")
    yield _writable(root)
    yield from _space(root)
    yield from _mount(root)
    yield from _size(root)


def _writable(root: Path) -> Finding:
    """Whether as much as a small library can be written: quotas and full disks show only then."""
    path = root / f".doctor-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        try:
            with open(path, "xb") as file:
                file.write(os.urandom(_TRIED))
                file.flush()
                os.fsync(file.fileno())
        finally:
            path.unlink(missing_ok=True)
    except OSError as error:
        return from_error("writing", unwritable(root, error))
    return ok("writing", "a file could be written")


def _space(root: Path) -> Iterator[Finding]:
    try:
        found = os.statvfs(root)
    except OSError as error:
        yield from_error("space", unwritable(root, error))
        return
    free = found.f_bavail * found.f_frsize
    full = unwritable(root, OSError(errno.ENOSPC, f"only {in_bytes(free)} are free"))
    if free < _LITTLE:
        yield from_error("space", full)
    elif free < _SCANT:
        yield note(
            "space", f"{in_bytes(free)} free: a precompiled header takes some hundred MiB", "opwright cache clean"
        )
    else:
        yield ok("space", f"{in_bytes(free)} free")
    if found.f_files and not found.f_favail:
        yield wrong("files", f"no file can be made any more below {root} (no inodes are left)", _ELSEWHERE)


def _mount(root: Path) -> Iterator[Finding]:
    mount = mount_of(str(root))
    if mount is None:
        return
    if "noexec" in mount.options:
        yield wrong("file system", f"{mount.point} is mounted noexec: libraries in it can't be loaded", _ELSEWHERE)
    elif mount.kind in _NETWORK or mount.kind.startswith("fuse."):
        yield note(
            "file system",
            f"{mount.point} is on a network or in user space ({mount.kind}): slower, and its locks may not hold",
            _ELSEWHERE,
        )
    else:
        yield ok("file system", f"{mount.kind} at {mount.point}")


def mount_of(path: str, table: str = "/proc/self/mountinfo") -> Mount | None:
    """The file system of `path`, by the kernel's table; None where there is no such table."""
    try:
        with open(table, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    path, best = os.path.realpath(path), None
    for line in lines:
        first, _, last = line.partition(" - ")
        words, kinds = first.split(" "), last.split(" ")
        if len(words) < 6 or not kinds[0]:
            continue
        point = words[4].encode("utf-8", "surrogateescape").decode("unicode_escape", "replace")
        below = path == point or path.startswith(point.rstrip("/") + "/")
        if below and (best is None or len(point) >= len(best.point)):  # the last of those at one place is on top
            best = Mount(point, kinds[0], frozenset(words[5].split(",")))
    return best


def _size(root: Path) -> Iterator[Finding]:
    found = entries(root)
    size = sum(entry.size for entry in found)
    try:
        limit = size_limit()
    except ToolchainError as error:
        yield from_error("limit", error)
        return
    yield ok("size", f"{in_bytes(size)} in {len(found)} entries; limit {'none' if limit is None else in_bytes(limit)}")


def in_bytes(size: float) -> str:
    """A size for a person."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
