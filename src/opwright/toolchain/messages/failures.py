"""Failures that name no line of the author's: the linker's, ptxas's, a full disk, a compiler that crashed."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

from opwright.toolchain.messages import ptxas

if TYPE_CHECKING:
    from pathlib import Path

    from opwright.toolchain.build.plan import Plan

EXCERPT_LINES = 20
_FULL_BYTES = 1 << 15
_SCANT_BYTES = 64 << 20

_UNDEFINED = re.compile(
    r"undefined reference to [`'\"](.+?)'?$|undefined symbol: (.+)$|^\s+\"(.+)\", referenced from:", re.MULTILINE
)
_LINKER = re.compile(r"^.*\b(?:ld|ld\.\w+|mold|collect2)(?:\.exe)?: (?:error: |fatal error: )?(.+)$", re.MULTILINE)
_NO_LIBRARY = re.compile(
    r"(?:cannot find|unable to find library|library not found for) -l([^\s:]+)|library '(\S+)' not found"
)
_UNKNOWN_OPTION = re.compile(
    r"unrecognized (?:command[- ]line )?option [`'\"]?(?!-std=)([^\s'\"]+)|unknown argument: '([^']+)'"
)
_NO_PROGRAM = re.compile(r"cannot execute|unable to execute command|installation problem|cannot exec\b")
_KILLED = re.compile(r"\bkilled\b|signal terminated|out of memory|virtual memory exhausted", re.IGNORECASE)


def without_place(text: str, status: int, program: str, source: str) -> str:
    """Return the message if the output names no source line: linker errors, crashes, empty output."""
    undefined = list(dict.fromkeys(next(filter(None, match)) for match in _UNDEFINED.findall(text)))
    if undefined:
        names = ", ".join(undefined[:5]) + (f" and {len(undefined) - 5} more" if undefined[5:] else "")
        return (
            f"{source}: error: undefined reference to {names}\n"
            f'  likely fix: define it, or name the library that has it: libraries=["..."]'
        )
    if missing := list(dict.fromkeys(next(filter(None, match)) for match in _NO_LIBRARY.findall(text))):
        return (
            f"{source}: error: the linker finds no library {', '.join(missing)}\n"
            f"  likely fix: install it (its development package), or name its folder: library_dirs=[...]"
        )
    if complaint := ptxas.problem(text):
        what, fix = complaint
        return f"{source}: error: {what}" + (f"\n  likely fix: {fix}" if fix else "")
    linker = _LINKER.search(text)
    reason = linker[1] if linker else next((line for line in text.splitlines() if line.strip()), "it said nothing")
    ended = f"signal {-status}" if status < 0 else f"exit status {status}"
    shown = excerpt(text.strip().splitlines())
    return "\n".join([f"{source}: error: {program} failed ({ended}): {reason}", *shown]) + advice(text, status)


def advice(text: str, status: int) -> str:
    """Return advice on failures that the source didn't cause."""
    if "No space left on device" in text:
        return "\n  likely fix: free some disk space, or set TORCH_EXTENSIONS_DIR to a folder on another disk"
    if "File size limit exceeded" in text or status == -signal.SIGXFSZ:
        return "\n  likely fix: files may not grow that large here; raise the limit (ulimit -f unlimited)"
    if status in {-signal.SIGSEGV, -signal.SIGILL, -signal.SIGBUS, -signal.SIGABRT, -signal.SIGFPE}:
        return "\n  likely fix: the compiler itself crashed; try another version of it (CC, CXX)"
    if status < 0 or _KILLED.search(text):
        return "\n  likely fix: it was killed, probably for want of memory; set MAX_JOBS=1 or close other programs"
    if "internal compiler error" in text or "PLEASE submit a bug report" in text:
        return "\n  likely fix: the compiler itself crashed; try another version of it (CC, CXX)"
    if _NO_PROGRAM.search(text):
        return (
            "\n  likely fix: the compiler isn't whole: reinstall it (apt install --reinstall g++, or your system's "
            "way), or set CXX (CC for C) to another; `opwright doctor compilers` tries it"
        )
    if option := _UNKNOWN_OPTION.search(text):
        flag = option[1] or option[2]
        return f"\n  likely fix: take {flag} out of the flags that are given (the call's, CC, CXX, LDFLAGS)"
    return ""


def is_full(folder: Path) -> bool:
    """Return whether ``folder``'s file system is full."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _FULL_BYTES or (bool(disk.f_files) and not disk.f_favail)


def disk_full(text: str, folder: Path) -> str:
    """Return the missing message about a full disk: the log is on that disk too, and the output was deleted since."""
    if is_full(folder):
        return f"\nNo space left on device ({folder})"
    try:
        disk = os.statvfs(folder)
    except OSError:
        return ""
    free = disk.f_bavail * disk.f_frsize
    if text.strip() or free > _SCANT_BYTES:
        return ""
    return f"\nNo space left on device ({folder}): {free >> 10} KiB are free now, less than the compiler needed"


def launchers_advice(plan: Plan, command: list[str]) -> str:
    """Return advice on where the launcher is set if the failed command began with it, else ""."""
    launchers = {part.compiler.launcher[:1] for part in plan.parts if part.compiler.launcher}
    if tuple(command[:1]) not in launchers:
        return ""
    return (
        f"\n  likely fix: {os.path.basename(command[0])} only starts the compiler: mend it, or unset "
        "OPWRIGHT_LAUNCHER and CMAKE_C_COMPILER_LAUNCHER, CMAKE_CXX_COMPILER_LAUNCHER (or take it out of CC, CXX)"
    )


def excerpt(lines: list[str]) -> list[str]:
    """Return the first lines, and how many more there are in the log."""
    if len(lines) <= EXCERPT_LINES:
        return lines
    return [*lines[: EXCERPT_LINES - 1], f"... ({len(lines) - EXCERPT_LINES + 1} more lines in the log)"]
