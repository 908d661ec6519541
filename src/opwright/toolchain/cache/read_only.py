"""The read-only cache: a folder that ``opwright build --output`` has filled, and that processes only read.

``OPWRIGHT_READ_ONLY_CACHE`` names it. It is searched before the user's cache; nothing is written, touched or locked in
it, so any number of processes on any number of hosts can share it. It has the layout of ``TORCH_EXTENSIONS_DIR``.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from opwright.errors import ToolchainError
from opwright.toolchain.cache.folder import WORLD_WRITABLE, check_parents
from opwright.toolchain.cache.store import Cache

VARIABLE = "OPWRIGHT_READ_ONLY_CACHE"
INSIDE = "opwright"
"""The folder below the named one, as below ``TORCH_EXTENSIONS_DIR``."""


def read_only_cache() -> Cache | None:
    """Return the cache that ``OPWRIGHT_READ_ONLY_CACHE`` names; None if the variable isn't set.

    Raises:
        ToolchainError: as for `read_only_root`.
    """
    root = read_only_root()
    return Cache(root, read_only=True) if root else None


def read_only_root() -> Path | None:
    """Return the folder that ``OPWRIGHT_READ_ONLY_CACHE`` names, links followed; None if the variable isn't set.

    Raises:
        ToolchainError: there is no such folder, ``opwright build --output`` hasn't filled it, or users other than its
            owner can write to it or replace it.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    path = Path(named) / INSIDE
    real = os.path.realpath(path)
    try:
        status = os.lstat(real)
    except OSError as error:
        raise ToolchainError(
            f"{VARIABLE}={named}: {path} can't be read: {error.strerror or error}\n"
            f"  likely fix: fill it: opwright build --output {named} FILES; or unset {VARIABLE}"
        ) from error
    if not stat.S_ISDIR(status.st_mode):
        raise ToolchainError(
            f"{VARIABLE}={named}: {path} is not a folder\n  likely fix: remove it, or unset {VARIABLE}"
        )
    if status.st_mode & WORLD_WRITABLE:
        raise ToolchainError(
            f"{VARIABLE}={named}: {path} has mode {status.st_mode & 0o777:04o}: others than its owner can put code "
            f"into it\n  likely fix: chmod -R go-w {named} if you trust what is in it"
        )
    check_parents(path, real)
    return Path(real)


@contextlib.contextmanager
def filling(folder: Path) -> Iterator[None]:
    """Let everything that is built in this process go into ``folder``; then let others read it, as the umask allows.

    Nothing is taken from another cache meanwhile, and nothing in ``folder`` is evicted.

    Raises:
        OSError: the folder can't be created.
    """
    folder.mkdir(parents=True, exist_ok=True)
    changed = {VARIABLE: "", "TORCH_EXTENSIONS_DIR": str(folder.absolute()), "OPWRIGHT_CACHE_SIZE": "0"}
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        _let_read(folder / INSIDE)


def _let_read(root: Path) -> None:
    """Give readers access to a folder and what is in it, as far as the umask allows."""
    umask = os.umask(0)
    os.umask(umask)
    for folder, _, names in os.walk(root):
        for path, wanted in ((folder, 0o555), *((os.path.join(folder, name), 0o444) for name in names)):
            mode = os.lstat(path).st_mode
            if not stat.S_ISLNK(mode):
                os.chmod(path, (stat.S_IMODE(mode) | wanted & ~umask) & ~WORLD_WRITABLE)
