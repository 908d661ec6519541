"""Limits on the number and the time of compilers, from the environment's settings and a container's resources.

The system's own numbers (``/proc/meminfo``, the processors that a process may run on) describe the whole machine, even
in a container whose control groups allow less. The groups' limits are read here as documented in the kernel's
Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from opwright.errors import ToolchainError

_MEMORY_PER_COMPILER = 1 << 30
_PLENTY = 64 << 30
_DEFAULT_SECONDS = 900.0
_UNLIMITED = 1 << 60
"""Limits from here on mean none: version 1 reports the largest number of whole pages then."""


class _Group(NamedTuple):
    """A control group that contains this process, directly or through a nested group."""

    folder: Path
    version: int


def jobs() -> int:
    """Return how many compilers may run at once: ``MAX_JOBS``, else as cores, memory and a container's limits allow.

    Raises:
        ToolchainError: ``MAX_JOBS`` isn't a positive number.
    """
    setting = os.environ.get("MAX_JOBS", "").strip()
    if setting:
        if not setting.isdecimal() or int(setting) == 0:
            raise ToolchainError(f"MAX_JOBS={setting!r}: expected a positive whole number\n  likely fix: MAX_JOBS=4")
        return int(setting)
    return max(1, min(_cores(), free_memory() // _MEMORY_PER_COMPILER))


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(count, cgroup_cores() or count)


def free_memory() -> int:
    """Return the bytes available without swapping, also within a container's limits; `_PLENTY` if unknown."""
    allowed = cgroup_memory()
    return min(_machine_memory(), _PLENTY if allowed is None else allowed)


def _machine_memory() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return _PLENTY


def time_limit() -> float:
    """Return the time limit of one compiler in seconds: ``OPWRIGHT_COMPILE_TIMEOUT``, else a quarter of an hour.

    Raises:
        ToolchainError: the variable isn't a positive number.
    """
    setting = os.environ.get("OPWRIGHT_COMPILE_TIMEOUT", "").strip()
    try:
        seconds = float(setting) if setting else _DEFAULT_SECONDS
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise ToolchainError(
            f"OPWRIGHT_COMPILE_TIMEOUT={setting!r}: expected seconds, more than 0\n  likely fix: unset it"
        )
    return seconds


def cgroup_cores(root: Path = Path("/")) -> int | None:
    """Return the processors that this process's control groups allow, rounded up; None if they set no limit.

    Args:
        root: the folder that contains ``proc`` and the paths in it.
    """
    return min((math.ceil(quota) for group in _groups("cpu", root) if (quota := _quota(group))), default=None)


def cgroup_memory(root: Path = Path("/")) -> int | None:
    """Return the free bytes that this process's control groups still allow; None if they set no limit.

    File cache counts as free, as in ``MemAvailable``.

    Args:
        root: the folder that contains ``proc`` and the paths in it.
    """
    free = (_free_in(group) for group in _groups("memory", root))
    return min((size for size in free if size is not None), default=None)


def _quota(group: _Group) -> float | None:
    """Return the number of processors a group may use: its quota divided by its period; None for "max" and -1."""
    if group.version == 2:
        values = _read(group.folder / "cpu.max").split()
    else:
        values = [_read(group.folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    numbers = [int(value) for value in values if value.isdecimal()]
    return numbers[0] / numbers[1] if len(numbers) == 2 and all(numbers) else None


def _free_in(group: _Group) -> int | None:
    names = ("max", "current") if group.version == 2 else ("limit_in_bytes", "usage_in_bytes")
    limit, used = (_read(group.folder / f"memory.{name}").strip() for name in names)
    if not limit.isdecimal() or not used.isdecimal() or int(limit) >= _UNLIMITED:
        return None
    total = "" if group.version == 2 else "total_"  # includes nested groups, as the other numbers do
    files = re.findall(rf"^{total}(?:in)?active_file (\d+)$", _read(group.folder / "memory.stat"), re.MULTILINE)
    return max(0, int(limit) - max(0, int(used) - sum(map(int, files))))


def _groups(controller: str, root: Path) -> Iterator[_Group]:
    """Yield this process's group of `controller` and its mounted parents, each of which may set a limit."""
    paths = dict(_paths(root))
    for mount, inside, options in _mounts(root):
        path = paths.get(controller if options else "")
        if path is None or (options and controller not in options):
            continue
        # In a container the mount may show only a part of the tree, while the path is relative to the whole tree.
        within = [part for part in path.removeprefix(inside.rstrip("/")).split("/") if part not in ("", "..")]
        top = root / mount.lstrip("/")
        for count in range(len(within), -1, -1):
            yield _Group(top.joinpath(*within[:count]), 1 if options else 2)


def _paths(root: Path) -> Iterator[tuple[str, str]]:
    """Yield each controller's name and the path of its group; for version 2 the name is ""."""
    for line in _read(root / "proc" / "self" / "cgroup").splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if path:
            yield from ((name, path) for name in ([""] if number == "0" else names.split(",")))


def _mounts(root: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each mount of groups: its path, the mounted part of the tree, the controllers (none for version 2)."""
    for line in _read(root / "proc" / "self" / "mountinfo").splitlines():
        first, _, last = (part.split() for part in line.partition(" - "))
        if len(first) > 4 and len(last) > 2 and last[0] in ("cgroup", "cgroup2"):
            yield _decoded(first[4]), _decoded(first[3]), last[2].split(",") if last[0] == "cgroup" else []


def _decoded(text: str) -> str:
    """Decode spaces, backslashes and newlines, which the kernel writes as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _read(file: Path) -> str:
    """Return the file's text; "" if it doesn't exist, on other systems or in a group without this controller."""
    with contextlib.suppress(OSError):
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    return ""
