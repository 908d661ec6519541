"""The files of a project: which to read, how to write one, and which belong to TH's generation of extensions.

A single file doesn't always show its generation: the kernels of such an extension may contain no tensor type, only
``THCudaCheck``, and are compiled by the same build script as the C code that does. Rewritten kernels would no longer
fit this code.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from opwright.languages import LANGUAGES
from opwright.sources.cpp.directives import includes
from opwright.toolchain.cache.folder import write_atomically

_CPP = {*LANGUAGES, ".h", ".hh", ".hpp", ".hxx", ".inl"}
KINDS = dict.fromkeys(_CPP, "c++") | {".py": "python", ".sh": "flags", ".mk": "flags", ".cmake": "flags"}
"""The kind of a file, by its suffix."""
_NAMES = {"Makefile": "flags", "makefile": "flags", "GNUmakefile": "flags", "CMakeLists.txt": "flags"}
_PASSED_OVER = {"build", "dist", "node_modules", "site-packages", "__pycache__"}


def file_kind(path: Path) -> str:
    """Return the kind of a file, by its name; empty for a file that isn't to be read."""
    return _NAMES.get(path.name) or KINDS.get(path.suffix.lower(), "")


def source_files(path: Path) -> Iterator[Path]:
    """Yield the files to read: `path` itself, or the files in the folder `path`, in order.

    Hidden folders, build folders and links to folders are skipped. Links to files within `path` are skipped, too, as
    the files themselves are read.

    Raises:
        OSError: a folder can't be read.
    """
    if not path.is_dir():
        yield path
        return
    root = Path(os.path.realpath(path))
    for place, folders, names in os.walk(path, onerror=_raised):
        folders[:] = sorted(name for name in folders if not _is_passed_over(name))
        for name in sorted(names):
            file = Path(place, name)
            inside = file.is_symlink() and root in Path(os.path.realpath(file)).parents
            if file_kind(file) and file.is_file() and not inside:
                yield file


def write_file(path: Path, before: bytes, after: bytes) -> None:
    """Replace a file's contents atomically; links and permissions are kept.

    Raises:
        OSError: the file can't be written, or its contents are no longer `before`.
    """
    target = Path(os.path.realpath(path))
    if target.read_bytes() != before:
        raise OSError(0, "it was changed by somebody else meanwhile")
    write_atomically(target, after, mode=stat.S_IMODE(os.stat(target).st_mode))


def _is_passed_over(name: str) -> bool:
    return name.startswith(".") or name in _PASSED_OVER or name.endswith(".egg-info")


def _raised(error: OSError) -> None:
    raise error


TH_TYPE = re.compile(r"\bTHC?(?:Cuda)?(?:Float|Double|Long|Int|Short|Char|Byte|Half)?(?:Tensor|Storage)(?=\b|_)")
TH_GENERIC = re.compile(r"#include [\"<](?P<header>THC?/THC?Generate\w+\.h)|\b(?P<macro>THC?_GENERIC_FILE)\b")
_FFI = re.compile(r"^[^#\n]*(?:\btorch\.utils(?:\.ffi\b| import ffi\b)|\bcffi_modules\s*=)", re.MULTILINE)
_SECOND = ("torch/", "ATen/", "c10/", "pybind11/")
"""Folders of headers that only the second generation of extensions includes."""


def first_generation(files: Iterable[Path]) -> frozenset[Path]:
    """Return the C, C++ and CUDA files that belong to an extension with TH's tensors.

    These are in or below a folder with a file that uses TH's tensors or (Python) ``torch.utils.ffi``. They neither
    include headers of ATen nor are included by a file that does.

    Args:
        files: the files of a project, including Python files; unreadable files are ignored.
    """
    texts = {path: text for path in files if (text := _text(path)) is not None}
    sources = {path: text for path, text in texts.items() if file_kind(path) == "c++"}
    folders = {path.parent for path, text in sources.items() if TH_TYPE.search(text) or TH_GENERIC.search(text)}
    folders |= {path.parent for path, text in texts.items() if file_kind(path) == "python" and _FFI.search(text)}
    second = _with_what_they_include(
        [path for path, text in sources.items() if any(include.name.startswith(_SECOND) for include in includes(text))],
        sources,
    )
    return frozenset(path for path in sources if path not in second and not folders.isdisjoint(path.parents))


def _with_what_they_include(files: Sequence[Path], texts: dict[Path, str]) -> set[Path]:
    """Return the files, and the files in `texts` that they include directly or indirectly."""
    places = {os.path.realpath(path): path for path in texts}
    reached: set[Path] = set()
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            quoted = (include.name for include in includes(texts[path]) if include.quoted)
            names = (os.path.realpath(path.parent / name) for name in quoted)
            waiting += [places[name] for name in names if name in places]
    return reached


def _text(path: Path) -> str | None:
    with contextlib.suppress(OSError):
        if file_kind(path) in {"c++", "python"} and path.is_file():
            return path.read_bytes().decode("latin-1")
    return None
