"""The native runtime in the cache, for every environment with the same PyTorch.

The build's own key holds paths of the environment that it was built in. So each runtime is also put below
``runtimes/``, under what it depends on: Opwright's sources, PyTorch's version, revision and ABI, and the build ids of
the libraries that it is linked to. A second environment with the same PyTorch builds nothing, and needs no compiler.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Container
from hashlib import sha256
from pathlib import Path

import torch

from opwright._version import format_minor
from opwright.errors import ToolchainError
from opwright.runtime.native import prebuilt
from opwright.toolchain.binary.elf import build_id
from opwright.toolchain.cache.folder import cache_root, is_private
from opwright.toolchain.cache.read_only import read_only_root
from opwright.toolchain.cache.store import Cache
from opwright.toolchain.compilers.flags import sanitizers

_LINKED = ("libc10.so", "libtorch_cpu.so")


def find_shared() -> Path | None:
    """Return the runtime that any environment with this PyTorch has put into the cache; None if there is none."""
    with contextlib.suppress(ToolchainError, OSError):
        name = _name()
        if (root := read_only_root()) and (found := _intact(root / name, (0, os.stat(root).st_uid))) is not None:
            return found
        folder = cache_root() / name
        if (found := _intact(folder)) is not None:
            with contextlib.suppress(OSError):  # the cache may be read-only
                os.utime(folder)  # its last use, for the cache's limit
            return found
    return None


def _intact(folder: Path, owners: Container[int] = ()) -> Path | None:
    return prebuilt.find(folder) if is_private(folder.parent, owners) and is_private(folder, owners) else None


def share(runtime: Path) -> None:
    """Put a runtime that was built for this PyTorch where `find_shared` looks, if the cache can be written."""
    if sanitizers() or find_shared() is not None:
        return
    with contextlib.suppress(ToolchainError, OSError):
        root = cache_root()
        folder = root / _name()
        Cache(root).make(folder)
        prebuilt.add(folder, runtime)


def _name() -> str:
    libraries = Path(torch.__file__).parent / "lib"
    linked = [build_id(libraries / name) for name in _LINKED]
    facts = {**prebuilt.here(), "version": torch.__version__, "git": torch.version.git_version, "linked": linked}
    key = sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return f"runtimes/torch{format_minor(torch.__version__)}-{key[:24]}"
