"""Building the native runtime beside an interactive session, which begins with the runtime in Python.

The builder is a process of its own, in a session of its own, with none of this process's streams: a captured pipe ends
with the session that it belongs to. One builds at a time for each cache. If it is killed, the next session starts
another; if PyTorch can't be compiled against, the reason is remembered, as after any other build.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from opwright.errors import ToolchainError
from opwright.runtime.native.compatibility import remembered
from opwright.toolchain.build.limits import free_memory
from opwright.toolchain.cache.folder import cache_root
from opwright.toolchain.cache.lock import unless_held

_MEMORY = 2 << 30
"""Bytes that have to be free: the compiler takes most of them."""
_LOCK = "background.lock"


def is_interactive() -> bool:
    """Return whether somebody types commands into this process: at Python's prompt, in IPython, or in a notebook.

    Tests of pytest's aren't typed, also where one of them has left a shell.
    """
    if "PYTEST_CURRENT_TEST" in os.environ:
        return False
    shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return hasattr(sys, "ps1") or (shell is not None and shell() is not None)


def must_be_built() -> bool:
    """Return whether there is no native runtime for this PyTorch yet, and no known obstacle to building one."""
    from opwright.runtime.native.runtime import CSRC, build_inputs, known_native

    try:
        return known_native() is None and remembered(*build_inputs(), CSRC) is None
    except ToolchainError:
        return False  # no compiler: to be said by whoever tries to build it


def start_builder() -> str:
    """Start a process that builds the native runtime; return why it wasn't started, "" if it was."""
    if (free := free_memory()) < _MEMORY:
        return f"{free / 2**30:.1f} GiB of memory are free, and a compiler needs {_MEMORY >> 30}"
    packages = [str(Path(__file__).parents[3]), *filter(None, sys.path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(packages)), "OPWRIGHT_RUNTIME": "native"}
    words = [sys.executable, "-c", f"from {__name__} import build_quietly; build_quietly()"]
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    try:  # not subprocess.Popen, which warns where nobody waits for a process
        os.posix_spawn(words[0], words, environment, file_actions=nowhere, setsid=True)
    except OSError as error:
        return f"no process can be started ({error.strerror or error})"
    return ""


def build_quietly() -> None:
    """Build the native runtime unless another process is doing so; the builder's main function."""
    from opwright.runtime.native.runtime import native

    with contextlib.suppress(OSError):
        os.nice(10)
    with contextlib.suppress(ToolchainError, OSError), unless_held(cache_root() / _LOCK) as free:
        if free:
            native()
