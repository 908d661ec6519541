"""PyTorch's headers compiled ahead: once for each PyTorch, compiler and set of flags, in our cache.

A *prefix* is an entry ``pch/<key>`` of the cache with ``prefix.h``, which every compilation includes first, and, when
somebody has made it, ``prefix.h.gch`` beside it, which gcc then takes by itself. So what a source is compiled from is
the same with and without, and so is the key of the result.

It is some 500 MB and takes as long to make as compiling a source without it, so nobody waits for it: the first time, it
is made in a process of its own beside the compiler (``OPWRIGHT_PRECOMPILE=background``), at the lowest priority.
``wait`` makes it first; ``off`` never.
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
from opwright.aten.installed import Torch
from opwright.errors import ToolchainError
from opwright.toolchain import Compiler, cache_root
from opwright.toolchain.cache import Cache, write_atomically
from opwright.toolchain.process import jobs

VARIABLE = "OPWRIGHT_PRECOMPILE"
HEADER = "prefix.h"
COMPILED = "prefix.h.gch"
BINDING = "binding.o"
_KINDS = ("background", "wait", "off")
_SIZE = 500 << 20
"""Bytes of one, about."""
_SHARE = 0.5
"""Of what the cache may take: flags that somebody tried once shouldn't fill it."""
_ROOM = 2 << 30
"""Bytes that must be free on the disk, and allowed to the cache, for one to be made."""
_USE_NOTED_AFTER = 60.0
_IN_USE = 600.0
"""Seconds since its last use within which one isn't removed for another: projects whose flags differ, built in turns,
would make them again and again. Who finds no room does without."""
_UNUSED = 30 * 86400.0
# What doesn't change the meaning of PyTorch's headers, or what gcc itself checks before it takes one.
_IRRELEVANT = re.compile(
    r"-[IW].*|-w|-pipe|-fno-gnu-unique|-DTORCH_EXTENSION_NAME=.*|"
    r"-D(?!_|NDEBUG|AT_|C10_|CAFFE2_|CUDA|TORCH_|USE_|Py_|PYBIND11_)\w+(?:=.*)?",
    re.DOTALL,
)


class Prefix(NamedTuple):
    """The header that a source is compiled after, and the words that compile it ahead.

    Attributes:
        folder: where it lies.
        command: the compiler and its words.
        binds: whether pybind11's side of the slim headers is compiled with it.
    """

    folder: Path
    command: tuple[str, ...]
    binds: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """The words that include it."""
        return ("-include", str(self.folder / HEADER))

    @property
    def is_made(self) -> bool:
        """Whether it is there, compiled."""
        return (self.folder / COMPILED).exists()

    @property
    def is_refused(self) -> bool:
        """Whether the compiler has refused to make it: then nobody asks again."""
        return (self.folder / "refused.log").exists()


def mode() -> str:
    """What ``OPWRIGHT_PRECOMPILE`` says.

    Raises:
        ToolchainError: something that it can't be.
    """
    asked = os.environ.get(VARIABLE, "").strip() or _KINDS[0]
    if asked not in _KINDS:
        raise ToolchainError(
            f"{VARIABLE}={asked!r}: expected {', '.join(_KINDS[:-1])} or {_KINDS[-1]}\n  likely fix: unset it"
        )
    return asked


def prefix(
    level: headers.Level,
    compiler: Compiler,
    flags: tuple[str, ...],
    torch: Torch,
    include: str,
    *,
    program: bool = False,
) -> Prefix:
    """The prefix for sources that are compiled with `flags`; its folder is made, and its header written.

    Args:
        level: which of PyTorch's headers.
        compiler: which compiler.
        flags: everything that is said to it, but for folders of headers.
        torch: whose headers.
        include: the folder of ``Python.h``; empty where there is none.
        program: for a source of a program, which has nothing of Python's.

    Raises:
        ToolchainError: no usable cache folder.
        OSError: it can't be written to.
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


def note_use(wanted: Prefix) -> None:
    """So that the cache parts with others first."""
    import time

    with contextlib.suppress(OSError):
        path = wanted.folder / COMPILED
        if abs(time.time() - os.stat(path).st_mtime) > _USE_NOTED_AFTER:
            os.utime(path)


def make(wanted: Prefix, *, patient: bool = False) -> bool:
    """Compile it ahead; whether it is there.

    Args:
        wanted: what.
        patient: wait for somebody who does it just now, instead of going away.

    Raises:
        ToolchainError: the compiler can't be started.
        OSError: the cache can't be written to.
    """
    from opwright.toolchain.lock import locked, unless_held
    from opwright.toolchain.process import time_limit
    from opwright.toolchain.scratch import scratch

    lock = wanted.folder / "lock"
    with locked(lock, time_limit(), lambda: None) if patient else unless_held(lock) as is_free:
        if not is_free or wanted.is_made or wanted.is_refused:
            return wanted.is_made
        if not _room_is_made(wanted.folder.parent):
            return False
        with scratch(wanted.folder, alone=True) as work:
            source = str(headers.INCLUDE / "binding.cpp")
            if wanted.binds and not _compiled(wanted, work, ["-c", source], BINDING):
                return False
            _compiled(wanted, work, ["-x", "c++-header", "-c", str(wanted.folder / HEADER)], COMPILED)
    return wanted.is_made


def _room_is_made(folder: Path) -> bool:
    """Whether one more fits beside those that are used; those that aren't make place."""
    from opwright.toolchain.upkeep import keep_within, size_limit

    limit = size_limit()
    allowed = float("inf") if limit is None else limit * _SHARE - _SIZE
    return keep_within(folder, allowed, spared=_IN_USE, unused=_UNUSED) <= allowed


def _compiled(wanted: Prefix, work: Path, words: list[str], name: str) -> bool:
    """Whether the compiler made the file `name`, which is then in its place."""
    from opwright.toolchain.process import Processes, TimeoutKilledError

    log = work / "log"
    with contextlib.suppress(TimeoutKilledError):
        status = Processes().run([*wanted.command, *words, "-o", str(work / name)], log, work)
        if status == 0 and (work / name).exists():
            os.replace(work / name, wanted.folder / name)
            return True
        if status > 0 and b"error:" in log.read_bytes() and _has_room(wanted.folder):
            os.replace(log, wanted.folder / "refused.log")
    return False


def can_be_made(wanted: Prefix, compiler: Compiler) -> bool:
    """Whether it is worth trying: gcc alone takes one by itself."""
    if compiler.kind != "gcc" or wanted.is_made or wanted.is_refused:
        return False
    return _has_room(wanted.folder) and _room_is_made(wanted.folder.parent)


def make_beside(wanted: Prefix) -> None:
    """Begin to compile it ahead in a process of its own, which goes on when this one ends."""
    import subprocess

    if not sys.executable:  # Python within another program: no process of its own to be had
        return
    write_atomically(wanted.folder / "command.json", json.dumps([wanted.command, wanted.binds]))
    package = str(Path(__file__).parent.parent.parent)
    paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": paths, "MAX_JOBS": "1"}
    # It ends at once, and its child goes on: so nobody has to wait for that one.
    script = f"import os; os.fork() and os._exit(0); from {__name__} import main; main()"
    with contextlib.suppress(OSError), open(os.devnull, "r+b") as nothing:
        subprocess.run(
            [sys.executable, "-c", script, str(wanted.folder)], stdin=nothing, stdout=nothing, stderr=nothing,
            cwd="/", env=environment, start_new_session=True, check=False,
        )  # fmt: skip


def main() -> None:
    """What `make_beside` starts."""
    folder = Path(sys.argv[1])
    os.nice(19)
    with contextlib.suppress(OSError, ToolchainError):
        command, binds = json.loads((folder / "command.json").read_bytes())
        make(Prefix(folder, tuple(command), binds))


def beside() -> bool:
    """Whether there are cores and memory for one more compiler."""
    return jobs() > 1


def _has_room(folder: Path) -> bool:
    from opwright.toolchain.upkeep import size_limit

    found, limit = os.statvfs(folder), size_limit()
    return found.f_bavail * found.f_frsize > _ROOM and (limit is None or limit >= _ROOM)
