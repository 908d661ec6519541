"""Headers that replace CUDA's own while the two halves are preprocessed.

In the host half, CUDA's headers are read as by a plain C++ compiler, and headers for device code only are empty. In the
device half, CUDA's headers become pragmas, since NVRTC reads the real ones, and headers that only the host has are
empty.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from opwright.cuda.nvrtc.device_half import INCLUDE_MARK
from opwright.sources.cpp.directives import includes
from opwright.toolchain import header_dir
from opwright.toolchain.cache.folder import cache_root, write_atomically
from opwright.toolchain.cache.read_only import read_only_root

_DEVICE_ONLY = re.compile(r"(?:cub|thrust|cuda|cooperative_groups)/|cooperative_groups\.h|(?:mma|curand_\w+)\.h")
_FOR_OTHERS = """\
#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include_next <{name}>
#pragma pop_macro("__CUDACC__")
"""
"""A shadow header that includes CUDA's header as for a compiler without CUDA."""


class ShadowFolders(NamedTuple):
    """Folders to search before all others, for the host half and for the device half."""

    host: Path
    device: Path


def shadow_folders(text: str, beside: Path, folders: Sequence[str], cuda: Sequence[str]) -> ShadowFolders:
    """Return the folders of shadow headers for a source in the cache; write them if they are missing.

    Args:
        text: the source code.
        beside: the source's folder.
        folders: further header folders, except CUDA's.
        cuda: the folders of CUDA's headers.
    """
    known = str(_of_opwright() / "device")
    wanted = sorted(set(_included(text, str(beside), [*folders, str(header_dir())], [known, *cuda])))
    host: dict[str, str] = {}
    device: dict[str, str] = {}
    for name in wanted:
        if os.path.isfile(os.path.join(known, name)):
            continue
        is_cuda = _find(name, cuda) is not None
        device[name] = f"#pragma {INCLUDE_MARK} <{name}>\n" if is_cuda else ""
        if is_cuda:
            host[name] = "" if _DEVICE_ONLY.match(name) else _FOR_OTHERS.format(name=name)
    return ShadowFolders(_written(host), _written(device))


def _of_opwright() -> Path:
    return header_dir() / "opwright" / "nvrtc"


def _included(text: str, beside: str, folders: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    """Yield the headers in angle brackets that aren't the user's or Opwright's; search those for includes, too."""
    waiting, seen = [(text, beside)], {""}
    while waiting:
        text, beside = waiting.pop()
        for include in includes(text):
            path = _find(include.name, [beside, *folders] if include.quoted else folders)
            if path is None:
                yield include.name
            elif path not in seen and (include.quoted or _find(include.name, others) is None):
                seen.add(path)
                with open(path, encoding="utf-8", errors="replace") as file:
                    waiting.append((file.read(), os.path.dirname(path)))


def _find(name: str, folders: Sequence[str]) -> str | None:
    return next((path for folder in folders if os.path.isfile(path := os.path.join(folder, name))), None)


def _written(files: dict[str, str]) -> Path:
    """Write a folder with these files, named by the hash of its contents, unless the read-only cache has it."""
    key = sha256(repr(sorted(files.items())).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    below = Path("shadows", key)
    texts = {os.path.normpath(name.replace("..", "_")): text for name, text in files.items()}
    if (shipped := read_only_root()) and all(_has(shipped / below / name, text) for name, text in texts.items()):
        return shipped / below
    folder = cache_root() / below
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in texts.items():
        path = folder / name
        if not _has(path, text):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(path, text)
    return folder


def _has(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text() == text
