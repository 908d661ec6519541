"""Which sources belong to an extension of the first generation, with TH's tensors and ``torch.utils.ffi``.

One file alone doesn't always say it: the kernels of such an extension name no tensor, only ``THCudaCheck``, and are
compiled by the same build script as the C that does. What is rewritten in them would no longer fit the rest.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from opwright.migrate.files import kind

__all__ = ["TH_GENERIC", "TH_TYPE", "first_generation"]

TH_TYPE = re.compile(r"\bTHC?(?:Cuda)?(?:Float|Double|Long|Int|Short|Char|Byte|Half)?(?:Tensor|Storage)(?=\b|_)")
TH_GENERIC = re.compile(r"#include [\"<](?P<header>THC?/THC?Generate\w+\.h)|\b(?P<macro>THC?_GENERIC_FILE)\b")
_FFI = re.compile(r"^[^#\n]*(?:\btorch\.utils(?:\.ffi\b| import ffi\b)|\bcffi_modules\s*=)", re.MULTILINE)
_SECOND = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch/|ATen/|c10/|pybind11/)", re.MULTILINE)
_LOCAL = re.compile(r"^[ \t]*#[ \t]*include[ \t]*\"([^\"\n]+)\"", re.MULTILINE)


def first_generation(files: Iterable[Path]) -> frozenset[Path]:
    """Those of the C, C++ and CUDA files that belong to an extension of the first generation.

    They lie in or below a folder with a file of that kind, and neither include headers of ATen nor are included by a
    file that does.

    Args:
        files: of a project, Python too; what can't be read belongs to nothing.
    """
    texts = {path: text for path in files if (text := _text(path)) is not None}
    sources = {path: text for path, text in texts.items() if kind(path) == "c++"}
    folders = {path.parent for path, text in sources.items() if TH_TYPE.search(text) or TH_GENERIC.search(text)}
    folders |= {path.parent for path, text in texts.items() if kind(path) == "python" and _FFI.search(text)}
    second = _with_what_they_include([path for path, text in sources.items() if _SECOND.search(text)], sources)
    return frozenset(path for path in sources if path not in second and not folders.isdisjoint(path.parents))


def _with_what_they_include(files: Sequence[Path], texts: dict[Path, str]) -> set[Path]:
    """Files, and those of `texts` that they include, directly or not."""
    places = {os.path.realpath(path): path for path in texts}
    found: set[Path] = set()
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            names = (os.path.realpath(path.parent / name) for name in _LOCAL.findall(texts[path]))
            waiting += [places[name] for name in names if name in places]
    return found


def _text(path: Path) -> str | None:
    with contextlib.suppress(OSError):
        if kind(path) in {"c++", "python"} and path.is_file():
            return path.read_bytes().decode("latin-1")
    return None
