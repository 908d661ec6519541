"""Chooses the smallest set of PyTorch's headers with which a source compiles.

There are three levels, each a folder that precedes PyTorch's in the search path and has its own ``torch/extension.h``:

* ``slim``: tensors, and functions bound with ``PYBIND11_MODULE`` and ``m.def``; pybind11 itself is compiled
  separately, once per PyTorch (``include/binding.cpp``). Used only if that file and the headers are precompiled.
* ``light``: also pybind11, autograd and operator registration; without torch::nn, optim, data and jit.
* ``full``: PyTorch's own headers.

The names in a source determine the level. If the compiler misses a name that PyTorch's headers define, the source is
compiled again with the next level, and that level is recorded for the file.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
from collections.abc import Collection, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from opwright.aten.pytorch import Torch
from opwright.sources.cpp.directives import find_header, includes
from opwright.sources.cpp.tokens import without_comments
from opwright.toolchain import cache_root
from opwright.toolchain.cache.folder import write_atomically

Level = Literal["slim", "light", "full"]
LEVELS: tuple[Level, ...] = ("slim", "light", "full")

INCLUDE = Path(__file__).parent / "include"
_DEPTH = 8
_COVERED = frozenset({"torch/extension.h", "torch/torch.h", "torch/types.h", "ATen/ATen.h"})
# Names that only the C++ frontend has. The list is incomplete: compiling finds the rest.
_FULL = re.compile(
    r"\btorch\s*::\s*(?:nn|optim|data|jit|python|serialize|save|load|pickle_\w+|fft|special|sparse|nested|cuda|mps|xpu|"
    r"print|OrderedDict|ExpandingArray|linalg)\b|\busing\s+namespace\s+torch\b|\bnamespace\s+\w+\s*=\s*torch\b"
)
# Names that `slim` lacks.
_LIGHT = re.compile(
    r"\b(?:py|pybind11)\s*::\s*(?!(?:arg|gil_scoped_release|call_guard|module_?)\b)|\bPYBIND11_(?!MODULE\b)\w+|"
    r"\bTORCH_LIBRARY\w*|\bTHP\w+|\bautograd\b|\bVariable\b|\btorch::(?:Library|class_|dispatch|CppFunction)\b|"
    r"\busing\s+namespace\s+(?:py|pybind11)|\bnamespace\s+\w+\s*=\s*pybind11|\bmod_gil_not_used|\bopwright"
)
_MODULE = re.compile(r"\bPYBIND11_MODULE\s*\(\s*\w+\s*,\s*(\w+)\s*\)")
_ERROR = re.compile(r"error: (.*)$", re.MULTILINE)
_QUOTED = re.compile(r"['\"]([^'\"\n]+)['\"]")
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_SUGGESTED = re.compile(r"; did you mean .*")
_NO_NAMES = {"std", "torch", "const", "Tensor", "class", "struct", "union", "enum", "typename", "namespace"}
_OURS = re.compile(r"opwright_binding|pybind11|module_|opwright/aten/include")
# Missing members of a class aren't included: the class is known, so more headers would add no members.
_ABSENT = re.compile(
    r"is not a member|not declared|does not name|has not been declared|incomplete type|undeclared|"
    r"no member named '[^']*' in namespace|"
    r"is not a class|no type named|unknown type|not a template|No such file|not a namespace"
)


class Text(NamedTuple):
    """The code of a source and the headers next to it that it includes, without comments."""

    code: str
    headers: frozenset[str]
    digest: str

    @property
    def is_covered(self) -> bool:
        """Whether the source includes a header that is precompiled."""
        return not _COVERED.isdisjoint(self.headers)

    @property
    def is_a_programs(self) -> bool:
        """Whether the source includes PyTorch's whole C++ frontend, which is precompiled for programs."""
        return "torch/torch.h" in self.headers

    @property
    def binds(self) -> bool:
        """Whether the source defines a Python module."""
        return "PYBIND11_MODULE" in self.code


def read(source: Path, include_dirs: Sequence[str]) -> Text:
    """Read `source` and its project headers.

    Raises:
        OSError: the source can't be read.
    """
    seen: dict[Path, str] = {}
    _gather(source, [Path(folder) for folder in include_dirs], seen, _DEPTH)
    code = "\n".join(without_comments(text) for text in seen.values())
    headers = frozenset(include.name for text in seen.values() for include in includes(text))
    return Text(code, headers, sha256(repr(list(seen.items())).encode("utf-8", "surrogateescape")).hexdigest())


def _gather(path: Path, folders: Sequence[Path], seen: dict[Path, str], depth: int) -> None:
    seen[path] = text = path.read_text("utf-8", "surrogateescape")
    for include in includes(text) if depth else ():
        header = find_header(include, path, folders)
        if header is not None and header not in seen:
            with contextlib.suppress(OSError):
                _gather(header, folders, seen, depth - 1)


def least_level(text: Text) -> Level:
    """Return the smallest level with which the source can compile, judging by its names."""
    if _FULL.search(text.code):
        return "full"
    if _LIGHT.search(text.code) or any(map(_is_beyond_slim, text.headers)):
        return "light"
    for variable in _MODULE.findall(text.code):
        if re.search(rf"\b{variable}\s*\.\s*(?!def\s*\()", text.code):
            return "light"
    return "slim" if text.code.count("PYBIND11_MODULE") == len(_MODULE.findall(text.code)) else "light"


def spoils_slim(macros: Collection[str]) -> bool:
    """Return whether a macro of the command line has the same name as an identifier in our slim headers."""
    return not _names_in_slim().isdisjoint(macros)


@functools.lru_cache
def _names_in_slim() -> frozenset[str]:
    files = [INCLUDE / "binding.h", *(INCLUDE / "slim").rglob("*.h")]
    return frozenset(name for path in files for name in re.findall(r"\b[A-Za-z_]\w*", path.read_text("utf-8")))


def _is_beyond_slim(name: str) -> bool:
    return name.startswith(("torch/", "pybind11/")) and name not in _COVERED


def include_dirs(level: Level) -> tuple[str, ...]:
    """Return our include folders that precede PyTorch's."""
    return () if level == "full" else (str(INCLUDE / level),)


@functools.lru_cache
def identity() -> str:
    """Return a key that changes with any of our headers."""
    folders = INCLUDE, INCLUDE.parent / "compat"
    files = sorted(path for folder in folders for path in folder.rglob("*.*") if path.suffix not in {".py", ".pyc"})
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def next_level(level: Level, message: str, torch: Torch) -> Level | None:
    """Return the level to try after the compiler has rejected a source; None if more headers wouldn't help.

    Args:
        level: the level of the failed compilation.
        message: the error's text.
        torch: the PyTorch whose headers are used.
    """
    if level == "full":
        return None
    message = message.partition("\nfull log:")[0]  # after this comes the command, which contains our folders
    lines = _ERROR.findall(message)
    if level == "slim" and _OURS.search(message):
        return "light"
    absent = [_SUGGESTED.sub("", line) for line in lines if _ABSENT.search(line)]
    names = {word for line in absent for quoted in _QUOTED.findall(line) for word in _WORD.findall(quoted)}
    names -= _NO_NAMES
    folders = ["torch", "pybind11"] if level == "slim" else ["torch/csrc/api", "torch/csrc/jit"]
    if not names or not _mentioned(names, [torch.root / "include" / folder for folder in folders]):
        return None
    return LEVELS[LEVELS.index(level) + 1]


def _mentioned(names: set[str], folders: Sequence[Path]) -> bool:
    pattern = re.compile(rb"\b(?:" + "|".join(map(re.escape, sorted(names))).encode() + rb")\b")
    return any(pattern.search(path.read_bytes()) for folder in folders for path in folder.rglob("*.h"))


class Note(NamedTuple):
    """The result of earlier compilations of a source: the least level, and the level for one version of its content."""

    least: Level = "slim"
    digest: str = ""
    level: Level = "slim"


def read_note(source: Path, torch: Torch) -> Note:
    """Return the note about `source`; an empty one if there is none."""
    try:
        note = Note(**json.loads(_note(source, torch).read_bytes()))
    except (OSError, ValueError, TypeError):
        return Note()
    return note if note.least in LEVELS and note.level in LEVELS else Note()


def write_note(source: Path, torch: Torch, note: Note) -> None:
    """Store `note` in the cache; losing it does no harm."""
    path = _note(source, torch)
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(path, json.dumps(note._asdict()))


def _note(source: Path, torch: Torch) -> Path:
    key = sha256(f"{os.path.abspath(source)}|{torch.identity}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return cache_root() / "headers" / f"{key}.json"


def heaviest(*levels: Level) -> Level:
    """Return the level with the most headers."""
    return LEVELS[max(map(LEVELS.index, levels))]
