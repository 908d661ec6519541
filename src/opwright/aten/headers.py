"""The lightest set of PyTorch's headers that a source compiles with.

Three levels, each a folder that is searched before PyTorch's and has a ``torch/extension.h`` of its own:

* ``slim``: tensors, and functions bound with ``PYBIND11_MODULE`` and ``m.def``; pybind11 itself is compiled apart,
  once for each PyTorch (``include/binding.cpp``). Only where that and the headers have been compiled ahead.
* ``light``: also pybind11, autograd and operator registration; without torch::nn, optim, data and jit.
* ``full``: PyTorch's own.

What a source names says which will do. Where the compiler then misses something that PyTorch's headers have, the source
is compiled again with the next level, and that is remembered for the file.
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

from opwright.aten.installed import Torch
from opwright.toolchain import cache_root
from opwright.toolchain.cache import write_atomically

Level = Literal["slim", "light", "full"]
LEVELS: tuple[Level, ...] = ("slim", "light", "full")

INCLUDE = Path(__file__).parent / "include"
_DEPTH = 8
_INCLUDED = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_COVERED = frozenset({"torch/extension.h", "torch/torch.h", "torch/types.h", "ATen/ATen.h"})
# What only the C++ frontend has. Not complete: what is missing is found out by compiling.
_FULL = re.compile(
    r"\btorch\s*::\s*(?:nn|optim|data|jit|python|serialize|save|load|pickle_\w+|fft|special|sparse|nested|cuda|mps|xpu|"
    r"print|OrderedDict|ExpandingArray|linalg)\b|\busing\s+namespace\s+torch\b|\bnamespace\s+\w+\s*=\s*torch\b"
)
# What `slim` doesn't have.
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
# Not what a class lacks: that it is known at all says that more headers give it no more members.
_ABSENT = re.compile(
    r"is not a member|not declared|does not name|has not been declared|incomplete type|undeclared|"
    r"no member named '[^']*' in namespace|"
    r"is not a class|no type named|unknown type|not a template|No such file|not a namespace"
)


class Text(NamedTuple):
    """A source with the headers beside it that it includes, without comments."""

    code: str
    digest: str

    @property
    def is_covered(self) -> bool:
        """Whether it includes a header that is compiled ahead."""
        return not _COVERED.isdisjoint(_INCLUDED.findall(self.code))

    @property
    def is_a_programs(self) -> bool:
        """Whether it includes the whole of PyTorch's C++ frontend, which programs have compiled ahead."""
        return "torch/torch.h" in _INCLUDED.findall(self.code)

    @property
    def binds(self) -> bool:
        """Whether it defines a module."""
        return "PYBIND11_MODULE" in self.code


def read(source: Path, include_dirs: Sequence[str]) -> Text:
    """The text of `source`.

    Raises:
        OSError: it can't be read.
    """
    seen: dict[Path, str] = {}
    _gather(source, [Path(folder) for folder in include_dirs], seen, _DEPTH)
    code = "\n".join(_COMMENT.sub(" ", text) for text in seen.values())
    return Text(code, sha256(repr(list(seen.items())).encode("utf-8", "surrogateescape")).hexdigest())


def _gather(path: Path, folders: Sequence[Path], seen: dict[Path, str], depth: int) -> None:
    seen[path] = text = path.read_text("utf-8", "surrogateescape")
    for name in _INCLUDED.findall(text) if depth else ():
        candidates = (folder / name for folder in (path.parent, *folders))
        found = next((each for each in candidates if each.is_file()), None)
        if found is not None and found not in seen:
            with contextlib.suppress(OSError):
                _gather(found, folders, seen, depth - 1)


def needed(text: Text) -> Level:
    """The least level that a source with this text may compile with."""
    if _FULL.search(text.code):
        return "full"
    if _LIGHT.search(text.code) or any(_is_beyond_slim(name) for name in _INCLUDED.findall(text.code)):
        return "light"
    for variable in _MODULE.findall(text.code):
        if re.search(rf"\b{variable}\s*\.\s*(?!def\s*\()", text.code):
            return "light"
    return "slim" if text.code.count("PYBIND11_MODULE") == len(_MODULE.findall(text.code)) else "light"


def spoils_slim(macros: Collection[str]) -> bool:
    """Whether a macro of the command line has the name of something in our slim headers."""
    return not _names_in_slim().isdisjoint(macros)


@functools.lru_cache
def _names_in_slim() -> frozenset[str]:
    files = [INCLUDE / "binding.h", *(INCLUDE / "slim").rglob("*.h")]
    return frozenset(name for path in files for name in re.findall(r"\b[A-Za-z_]\w*", path.read_text("utf-8")))


def _is_beyond_slim(name: str) -> bool:
    return name.startswith(("torch/", "pybind11/")) and name not in _COVERED


def include_dirs(level: Level) -> tuple[str, ...]:
    """The folders of ours that are searched before PyTorch's."""
    return () if level == "full" else (str(INCLUDE / level),)


@functools.lru_cache
def identity() -> str:
    """Changes when one of our headers does."""
    folders = INCLUDE, INCLUDE.parent / "compat"
    files = sorted(path for folder in folders for path in folder.rglob("*.*") if path.suffix not in {".py", ".pyc"})
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def next_level(level: Level, said: str, torch: Torch) -> Level | None:
    """The level to try after the compiler has refused a source; None where more headers wouldn't help.

    Args:
        level: with which it was compiled.
        said: the text of the error.
        torch: whose headers.
    """
    if level == "full":
        return None
    said = said.partition("\nfull log:")[0]  # what follows is the command, with our folders in it
    lines = _ERROR.findall(said)
    if level == "slim" and _OURS.search(said):
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
    """What is known of a source from before: the least level, and the level of one content of it."""

    least: Level = "slim"
    digest: str = ""
    level: Level = "slim"


def remembered(source: Path, torch: Torch) -> Note:
    """The note about `source`; an empty one where there is none."""
    try:
        note = Note(**json.loads(_note(source, torch).read_bytes()))
    except (OSError, ValueError, TypeError):
        return Note()
    return note if note.least in LEVELS and note.level in LEVELS else Note()


def remember(source: Path, torch: Torch, note: Note) -> None:
    """Keep `note` with the cache; nothing depends on its being there."""
    path = _note(source, torch)
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(path, json.dumps(note._asdict()))


def _note(source: Path, torch: Torch) -> Path:
    key = sha256(f"{os.path.abspath(source)}|{torch.identity}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return cache_root() / "headers" / f"{key}.json"


def highest(*levels: Level) -> Level:
    """The heaviest of them."""
    return LEVELS[max(map(LEVELS.index, levels))]
