"""A trial: a new library with initialisers of its own is loaded in another process first.

A constructor of a global object runs inside ``dlopen``. If it throws, crashes or calls ``exit``, the process ends, and
no code around ``dlopen`` can prevent that. So such a library is loaded once in a process that may end, before it enters
the cache. A library without such objects isn't tried; it costs nothing.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, NamedTuple

from opwright.toolchain.build.processes import Processes, TimeoutKilledError
from opwright.toolchain.compilers.flags import BASELINE

if TYPE_CHECKING:
    from pathlib import Path

    from opwright.toolchain.build.plan import Plan

_RETURNED = 113
_SECONDS = 60.0
_BEGUN = b"loading\n"
_LOAD = f"""
import ctypes, os, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.write(1, {_BEGUN!r})
try:
    ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW | os.RTLD_LOCAL)
finally:
    os._exit({_RETURNED})
"""
"""A library that can't be loaded there (it may need PyTorch to be imported) is left to its real loader."""
_SEARCH = """
import os, sys
os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [sys.argv[1], os.environ.get("LD_LIBRARY_PATH")]))
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""
"""The dynamic linker reads the variable when a process starts."""


class EndOfProcess(NamedTuple):
    """How a process ended that loaded a library.

    Attributes:
        status: the exit status; negative for a signal.
        seconds: the time limit, if the process was killed after it, else 0.
    """

    status: int
    seconds: float = 0.0


def end_of_process(library: Path, plan: Plan, processes: Processes, log: Path) -> EndOfProcess | None:
    """Load a library in another process; return how that ended, or None if the library does no harm.

    Args:
        library: the library.
        plan: the plan that it was built by. Libraries without a user's source aren't tried, nor those with a sanitizer,
            for which a process must be started specially.
        processes: runs the process.
        log: gets what the process prints.
    """
    flags = [*plan.link_flags, *(flag for part in plan.parts for flag in part.flags)]
    users = any(part.unit.source for part in plan.parts)
    if not users or not sys.executable or any("-fsanitize" in flag for flag in flags):
        return None
    folders = os.pathsep.join(flag[2:] for flag in plan.link_flags if flag.startswith("-L"))
    command = ["-I", "-S", "-c", _LOAD, str(library)]
    if folders:
        command = ["-I", "-S", "-c", _SEARCH, folders, *command]
    try:
        status = processes.run([sys.executable, *command], log, library.parent, limit=_SECONDS)
    except TimeoutKilledError:
        return EndOfProcess(-signal.SIGKILL, _SECONDS) if _begun(log) else None
    if status == _RETURNED or not _begun(log) or (status == -signal.SIGILL and not _runs_here(flags)):
        return None
    return EndOfProcess(status)


def _begun(log: Path) -> bool:
    """Return whether Python came to load the library, and take that line out of the log.

    In a program that embeds Python, ``sys.executable`` may be that program.
    """
    before, begun, output = log.read_bytes().partition(_BEGUN)
    log.write_bytes(before + output)
    return bool(begun)


def _runs_here(flags: list[str]) -> bool:
    """Return whether the flags ask for no processor but this one, or one that every machine has."""
    asked = {flag.split("=", 1)[1] for flag in flags if flag.startswith(("-march=", "-mcpu="))}
    return asked <= {"native", *BASELINE.values()}
