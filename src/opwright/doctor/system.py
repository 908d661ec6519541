"""Checks the machine, the build cache, ninja and Python packages."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opwright.doctor.findings import Finding, from_error, note, ok, wrong
from opwright.doctor.subprocesses import ask
from opwright.errors import ToolchainError
from opwright.toolchain.build.limits import jobs
from opwright.toolchain.cache.eviction import entries, size_limit
from opwright.toolchain.cache.folder import cache_root, unwritable

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_MACHINES = {"x86_64", "aarch64"}
_FULL = 64 << 20
_NEARLY_FULL = 1 << 30
_TRIAL = 1 << 16
_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "beegfs", "ceph", "glusterfs", "gpfs", "lustre", "panfs"}
)
_OF_DEVELOPERS = {"dev", "docs"}
"""The extras that only Opwright's own development needs."""
_ELSEWHERE = "set TORCH_EXTENSIONS_DIR to a folder of your own on a local disk"


def examine_system() -> Iterator[Finding]:
    """Report the Python, the machine, and the number of compilers that run at once."""
    yield ok("Python", f"{platform.python_version()} at {sys.executable}")
    machine, kind = platform.machine(), platform.system()
    if machine in _MACHINES and kind == "Linux":
        yield ok("machine", f"{kind} on {machine}")
    elif kind == "Linux":
        yield note("machine", f"{kind} on {machine}: not tried by anybody", "Linux on x86-64 or aarch64 is supported")
    else:
        yield wrong("machine", f"there is no Opwright for {kind}", "use Linux, in a container or a virtual machine")
    try:
        yield ok("builds at once", f"{jobs()}, by {'MAX_JOBS' if os.environ.get('MAX_JOBS') else 'cores and memory'}")
    except ToolchainError:  # reported in the section "environment"
        return


def examine_cache() -> Iterator[Finding]:
    """Check whether the build cache can be used, has enough free space, and is on a local disk."""
    try:
        root = cache_root()
    except ToolchainError as error:
        yield from_error("folder", error)
        return
    origin = "TORCH_EXTENSIONS_DIR" if os.environ.get("TORCH_EXTENSIONS_DIR") else "by default"
    yield ok("folder", f"{root} ({origin}), yours alone")
    yield _writing(root)
    yield from _space(root)
    yield from _file_system(root)
    yield _size(root)


def _writing(root: Path) -> Finding:
    """Write a file of the size of a small library, because quotas and full disks show only then."""
    path = root / f".doctor-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        try:
            with open(path, "xb") as file:
                file.write(os.urandom(_TRIAL))
                file.flush()
                os.fsync(file.fileno())
        finally:
            path.unlink(missing_ok=True)
    except OSError as error:
        return from_error("writing", unwritable(root, error))
    return ok("writing", "a file could be written")


def _space(root: Path) -> Iterator[Finding]:
    try:
        stat = os.statvfs(root)
    except OSError as error:
        yield from_error("space", unwritable(root, error))
        return
    free = stat.f_bavail * stat.f_frsize
    text = f"{format_bytes(free)} free"
    if free < _FULL:
        yield from_error("space", unwritable(root, OSError(errno.ENOSPC, f"only {format_bytes(free)} are free")))
    elif free < _NEARLY_FULL:
        yield note("space", f"{text}: a precompiled header takes some hundred MiB", "opwright cache clean")
    else:
        yield ok("space", text)
    if stat.f_files and not stat.f_favail:
        yield wrong("files", f"no file can be made any more below {root} (no inodes are left)", _ELSEWHERE)


def _file_system(root: Path) -> Iterator[Finding]:
    mount = mount_of(str(root))
    if mount is None:
        return
    if "noexec" in mount.options:
        text = f"{mount.point} is mounted noexec: libraries in it can't be loaded"
        yield wrong("file system", text, _ELSEWHERE)
    elif mount.kind in _NETWORK or mount.kind.startswith("fuse."):
        text = f"{mount.point} is on a network or in user space ({mount.kind}): slower, and its locks may not hold"
        yield note("file system", text, _ELSEWHERE)
    else:
        yield ok("file system", f"{mount.kind} at {mount.point}")


class Mount(NamedTuple):
    """A mounted file system: its mount point, type and options."""

    point: str
    kind: str
    options: frozenset[str]


def mount_of(path: str, table: str = "/proc/self/mountinfo") -> Mount | None:
    """Return the file system that contains `path`, from the kernel's table; None if there is no such table."""
    try:
        with open(table, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    path, best = os.path.realpath(path), None
    for line in lines:
        first, _, last = line.partition(" - ")
        fields, kind = first.split(" "), last.split(" ")[0]
        if len(fields) < 6 or not kind:
            continue
        point = fields[4].encode("utf-8", "surrogateescape").decode("unicode_escape", "replace")
        below = path == point or path.startswith(point.rstrip("/") + "/")
        if below and (best is None or len(point) >= len(best.point)):  # the last mount at a mount point is on top
            best = Mount(point, kind, frozenset(fields[5].split(",")))
    return best


def _size(root: Path) -> Finding:
    cached = entries(root)
    size = format_bytes(sum(entry.size for entry in cached))
    try:
        limit = size_limit()
    except ToolchainError as error:
        return from_error("limit", error)
    return ok("size", f"{size} in {len(cached)} entries; limit {'none' if limit is None else format_bytes(limit)}")


def format_bytes(size: float) -> str:
    """Format a size in bytes, KiB, MiB, GiB or TiB."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def examine_ninja() -> Iterator[Finding]:
    """Check whether ninja works; Opwright itself doesn't need it."""
    path = shutil.which("ninja")
    answer = ask([path, "--version"]) if path else None
    if answer is None:
        text = (
            "not there, and not needed: Opwright runs compilers itself (torch.utils.cpp_extension's own load wants it)"
        )
        yield note("ninja", text, "pip install ninja, if you use that")
    elif answer.status == 0:
        yield ok("ninja", f"{answer.text.strip()} at {path} (not needed)")
    else:
        text = f"{path} doesn't work: {answer.why}; Opwright doesn't need it"
        yield note("ninja", text, "pip install --force-reinstall ninja")


def examine_packages() -> Iterator[Finding]:
    """Compare the requirements in Opwright's metadata with the installed packages."""
    try:
        requirements = metadata.requires("opwright") or []
    except metadata.PackageNotFoundError:
        text = "it isn't installed, but found on sys.path: what it needs is not known"
        yield note("opwright", text, "pip install -e .")
        return
    from packaging.requirements import Requirement

    yield ok("opwright", f"{metadata.version('opwright')} in {os.path.dirname(os.path.dirname(__file__))}")
    extras = metadata.metadata("opwright").get_all("Provides-Extra") or []
    for requirement in map(Requirement, requirements):
        optional = [extra for extra in extras if _applies(requirement, extra)]
        if _applies(requirement, ""):
            yield _package(requirement, "")
        elif optional and requirement.name != "opwright" and not set(optional) <= _OF_DEVELOPERS:
            yield _package(requirement, optional[0])


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _package(requirement: Requirement, extra: str) -> Finding:
    name, expected = requirement.name, f"{requirement.name}{requirement.specifier}"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        if extra:
            return note(name, f"not installed: it belongs to opwright[{extra}]", f"pip install opwright[{extra}]")
        return wrong(name, f"not installed, expected {expected}", f'pip install "{expected}"')
    if not requirement.specifier.contains(version, prereleases=True):
        return wrong(name, f"{version} is installed, expected {expected}", f'pip install "{expected}"')
    return ok(name, version + (f" (opwright[{extra}])" if extra else ""))
