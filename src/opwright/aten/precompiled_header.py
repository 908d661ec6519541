"""PyTorch's headers, precompiled once per PyTorch, compiler and set of flags, in our cache.

A *prefix* is a cache entry ``pch/<key>`` with ``prefix.h``, which every compilation includes first. Once it is
compiled, ``prefix.h.gch`` is next to it, and gcc uses that by itself. So the input of a compilation, and its cache key,
are the same with and without the precompiled header.

It has some 500 MB, and making it takes as long as compiling a source without it. So by default nothing waits for it:
the first build starts it in a separate process at the lowest priority (``OPWRIGHT_PRECOMPILE=background``). With
``wait`` it is made before the build; with ``off``, never.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from opwright.aten import headers
from opwright.aten.pytorch import Torch
from opwright.errors import ToolchainError
from opwright.toolchain import Compiler, cache_root
from opwright.toolchain.build.limits import jobs
from opwright.toolchain.cache.folder import write_atomically
from opwright.toolchain.cache.store import Cache

VARIABLE = "OPWRIGHT_PRECOMPILE"
HEADER = "prefix.h"
COMPILED = "prefix.h.gch"
BINDING = "binding.o"
_KINDS = ("background", "wait", "off")
_SIZE = 500 << 20
"""Approximate size of a precompiled header in bytes."""
_SHARE = 0.5
"""Share of the cache's size limit for precompiled headers: flags that were tried once shouldn't fill the cache."""
_ROOM = 2 << 30
"""Bytes required on the disk and in the cache's limit to make a precompiled header."""
_USE_NOTED_AFTER = 60.0
_IN_USE = 600.0
"""Seconds since its last use during which a precompiled header isn't evicted for another one. Otherwise, projects with
different flags that are built in turns would make theirs again and again. Without space, a source does without."""
_UNUSED = 30 * 86400.0
# Flags that don't affect PyTorch's headers, or that gcc itself compares before it uses a precompiled header.
_IRRELEVANT = re.compile(
    r"-[IW].*|-w|-pipe|-fno-gnu-unique|-DTORCH_EXTENSION_NAME=.*|"
    r"-D(?!_|NDEBUG|AT_|C10_|CAFFE2_|CUDA|TORCH_|USE_|Py_|PYBIND11_)\w+(?:=.*)?",
    re.DOTALL,
)


class Prefix(NamedTuple):
    """The header that a source includes first, and the command that precompiles it.

    Attributes:
        folder: its cache entry.
        command: the compiler with its flags.
        binds: whether the part of the slim headers that uses pybind11 is compiled, too.
    """

    folder: Path
    command: tuple[str, ...]
    binds: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags that include it."""
        return ("-include", str(self.folder / HEADER))

    @property
    def is_made(self) -> bool:
        """Whether the precompiled header exists."""
        return (self.folder / COMPILED).exists()

    @property
    def is_refused(self) -> bool:
        """Whether the compiler has failed to make it, so that it isn't tried again."""
        return (self.folder / "refused.log").exists()


def mode() -> str:
    """Return the value of ``OPWRIGHT_PRECOMPILE``.

    Raises:
        ToolchainError: the value is invalid.
    """
    value = os.environ.get(VARIABLE, "").strip() or _KINDS[0]
    if value not in _KINDS:
        raise ToolchainError(
            f"{VARIABLE}={value!r}: expected {', '.join(_KINDS[:-1])} or {_KINDS[-1]}\n  likely fix: unset it"
        )
    return value


def prefix(
    level: headers.Level,
    compiler: Compiler,
    flags: tuple[str, ...],
    torch: Torch,
    include: str,
    *,
    program: bool = False,
) -> Prefix:
    """Return the prefix for sources that are compiled with `flags`; create its folder and header.

    Args:
        level: the set of PyTorch's headers.
        compiler: the compiler.
        flags: all compiler flags except include folders.
        torch: the PyTorch whose headers are used.
        include: the folder of ``Python.h``; empty if there is none.
        program: whether the source is a program's, which doesn't use Python.

    Raises:
        ToolchainError: there is no usable cache folder.
        OSError: the cache can't be written to.
    """
    relevant = tuple(flag for flag in flags if not _IRRELEVANT.fullmatch(flag))
    dirs = [*headers.include_dirs(level), *torch.include_dirs, *([include] if include else [])]
    search = [word for folder in dirs for word in ("-isystem", folder)]
    command = (*compiler.link_command, *relevant, "-w", *search)
    text = f"#include <torch/{'torch' if program else 'extension'}.h>\n"
    facts = (compiler.identity, torch.identity, command, text, headers.identity(), sys.version)
    key = sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    cache = Cache(cache_root())
    folder = cache.root / "pch" / f"{level}-{key}"
    cache.make(folder)
    if not (folder / HEADER).exists():
        write_atomically(folder / HEADER, text)
    return Prefix(folder, command, level == "slim")


def note_use(prefix: Prefix) -> None:
    """Update the date of last use, so that the cache evicts other entries first."""
    import time

    with contextlib.suppress(OSError):
        path = prefix.folder / COMPILED
        if abs(time.time() - os.stat(path).st_mtime) > _USE_NOTED_AFTER:
            os.utime(path)


def make(prefix: Prefix, *, patient: bool = False) -> bool:
    """Precompile the header; return whether it exists now.

    Args:
        prefix: the prefix to compile.
        patient: if another process is compiling it, wait for that process instead of returning at once.

    Raises:
        ToolchainError: the compiler can't be started.
        OSError: the cache can't be written to.
    """
    from opwright.toolchain.build.limits import time_limit
    from opwright.toolchain.cache.lock import locked, unless_held
    from opwright.toolchain.cache.scratch import scratch

    lock = prefix.folder / "lock"
    with locked(lock, time_limit(), lambda: None) if patient else unless_held(lock) as is_free:
        if not is_free or prefix.is_made or prefix.is_refused:
            return prefix.is_made
        if not _room_is_made(prefix.folder.parent):
            return False
        with scratch(prefix.folder, alone=True) as work:
            source = str(headers.INCLUDE / "binding.cpp")
            if prefix.binds and not _compiled(prefix, work, ["-c", source], BINDING):
                return False
            _compiled(prefix, work, ["-x", "c++-header", "-c", str(prefix.folder / HEADER)], COMPILED)
    return prefix.is_made


def _room_is_made(folder: Path) -> bool:
    """Return whether the cache has space for one more, after evicting unused ones."""
    from opwright.toolchain.cache.eviction import keep_within, size_limit

    limit = size_limit()
    allowed = float("inf") if limit is None else limit * _SHARE - _SIZE
    return keep_within(folder, allowed, spared=_IN_USE, unused=_UNUSED) <= allowed


def _compiled(prefix: Prefix, work: Path, arguments: list[str], name: str) -> bool:
    """Compile the file `name`, and move it to the prefix's folder; return whether that succeeded."""
    from opwright.toolchain.build.processes import Processes, TimeoutKilledError

    log = work / "log"
    with contextlib.suppress(TimeoutKilledError):
        status = Processes().run([*prefix.command, *arguments, "-o", str(work / name)], log, work)
        if status == 0 and (work / name).exists():
            os.replace(work / name, prefix.folder / name)
            return True
        if status > 0 and b"error:" in log.read_bytes() and _has_room(prefix.folder):
            os.replace(log, prefix.folder / "refused.log")
    return False


def can_be_made(prefix: Prefix, compiler: Compiler) -> bool:
    """Return whether the header is worth precompiling; only gcc uses precompiled headers without a flag."""
    if compiler.kind != "gcc" or prefix.is_made or prefix.is_refused:
        return False
    return _has_room(prefix.folder) and _room_is_made(prefix.folder.parent)


def make_beside(prefix: Prefix) -> None:
    """Start to precompile the header in a separate process, which outlives this one."""
    import subprocess

    if not sys.executable:  # Python is embedded in another program, so no separate Python can be started
        return
    write_atomically(prefix.folder / "command.json", json.dumps([prefix.command, prefix.binds]))
    package = str(Path(__file__).parent.parent.parent)
    paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": paths, "MAX_JOBS": "1"}
    # The started process forks and exits at once, so it needn't be waited for; its child does the work.
    script = f"import os; os.fork() and os._exit(0); from {__name__} import main; main()"
    with contextlib.suppress(OSError), open(os.devnull, "r+b") as nothing:
        subprocess.run(
            [sys.executable, "-c", script, str(prefix.folder)], stdin=nothing, stdout=nothing, stderr=nothing,
            cwd="/", env=environment, start_new_session=True, check=False,
        )  # fmt: skip


def main() -> None:
    """Precompile a header; the main program of the process that `make_beside` starts."""
    folder = Path(sys.argv[1])
    os.nice(19)
    with contextlib.suppress(OSError, ToolchainError):
        command, binds = json.loads((folder / "command.json").read_bytes())
        make(Prefix(folder, tuple(command), binds))


def beside() -> bool:
    """Return whether there are cores and memory for one more compiler."""
    return jobs() > 1


def _has_room(folder: Path) -> bool:
    from opwright.toolchain.cache.eviction import size_limit

    disk, limit = os.statvfs(folder), size_limit()
    return disk.f_bavail * disk.f_frsize > _ROOM and (limit is None or limit >= _ROOM)
