"""What a container may use of its machine: Linux's control groups, version 2 and 1.

Read as Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ of the kernel describe them. The system's own numbers
(``/proc/meminfo``, the processors that one may run on) are the whole machine's, whatever a group allows.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_UNLIMITED = 1 << 60
"""What version 1 has for no limit is the largest number of whole pages."""


class _Group(NamedTuple):
    """A group that this process is in, directly or through one below it."""

    folder: Path
    version: int


def cores(root: Path = Path("/")) -> int | None:
    """How many processors' time the groups of this process allow, rounded up; None where they don't limit it.

    Args:
        root: where ``proc`` is, and the paths that it names.
    """
    return min((math.ceil(each) for group in _groups("cpu", root) if (each := _quota(group))), default=None)


def free_memory(root: Path = Path("/")) -> int | None:
    """The bytes that the groups of this process allow besides what is used; None where they don't limit it.

    What is used for files that can be read again counts as free, as it does in ``MemAvailable``.

    Args:
        root: where ``proc`` is, and the paths that it names.
    """
    found = (_left(group) for group in _groups("memory", root))
    return min((each for each in found if each is not None), default=None)


def _quota(group: _Group) -> float | None:
    """In microseconds of each period of so many; "max" and -1 are no limit."""
    if group.version == 2:
        words = _read(group.folder / "cpu.max").split()
    else:
        words = [_read(group.folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    numbers = [int(word) for word in words if word.isdecimal()]
    return numbers[0] / numbers[1] if len(numbers) == 2 and all(numbers) else None


def _left(group: _Group) -> int | None:
    names = ("max", "current") if group.version == 2 else ("limit_in_bytes", "usage_in_bytes")
    limit, used = (_read(group.folder / f"memory.{name}").strip() for name in names)
    if not limit.isdecimal() or not used.isdecimal() or int(limit) >= _UNLIMITED:
        return None
    total = "" if group.version == 2 else "total_"  # of the groups below as well, as the other numbers are
    files = re.findall(rf"^{total}(?:in)?active_file (\d+)$", _read(group.folder / "memory.stat"), re.MULTILINE)
    return max(0, int(limit) - max(0, int(used) - sum(map(int, files))))


def _groups(controller: str, root: Path) -> Iterator[_Group]:
    """This process's group of `controller`, and those around it as far as they are mounted: each of them limits."""
    paths = dict(_paths(root))
    for mount, inside, options in _mounts(root):
        path = paths.get(controller if options else "")
        if path is None or (options and controller not in options):
            continue
        # In a container the mount may show a part of the tree only, and the path be that of the whole one.
        within = [part for part in path.removeprefix(inside.rstrip("/")).split("/") if part not in ("", "..")]
        top = root / mount.lstrip("/")
        for count in range(len(within), -1, -1):
            yield _Group(top.joinpath(*within[:count]), 1 if options else 2)


def _paths(root: Path) -> Iterator[tuple[str, str]]:
    """Each controller with the path of its group; that of version 2 has no name."""
    for line in _read(root / "proc" / "self" / "cgroup").splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if path:
            yield from ((name, path) for name in ([""] if number == "0" else names.split(",")))


def _mounts(root: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Where groups are mounted, which part of the tree is, and the controllers; none for version 2."""
    for line in _read(root / "proc" / "self" / "mountinfo").splitlines():
        first, _, last = (part.split() for part in line.partition(" - "))
        if len(first) > 4 and len(last) > 2 and last[0] in ("cgroup", "cgroup2"):
            yield _plain(first[4]), _plain(first[3]), last[2].split(",") if last[0] == "cgroup" else []


def _plain(text: str) -> str:
    """The kernel writes blanks, backslashes and ends of lines as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _read(file: Path) -> str:
    """The text; nothing where there is no such file: another system, or a group without this controller."""
    with contextlib.suppress(OSError):
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    return ""
