"""The lightest set of PyTorch's headers that a source compiles with.

`LIGHT` puts a folder with a ``torch/extension.h`` of ours before PyTorch's, which leaves out the C++ frontend. What a
source names says whether that will do. Where the compiler then misses something that the whole header has, it is
compiled again with `FULL`, and that is remembered for the file.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

from opwright.aten.installed import Torch
from opwright.toolchain import cache_root
from opwright.toolchain.cache import write_atomically

Level = Literal["light", "full"]
LIGHT: Level = "light"
FULL: Level = "full"

_OURS = Path(__file__).parent / "include" / "light"
_EXTENSION = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]torch/(?:extension|torch)\.h[>\"]", re.MULTILINE)
# What only the C++ frontend has. Not complete: what is missing is found out by compiling.
_FRONTEND = re.compile(
    r"\btorch::(?:nn|optim|data|jit|python|serialize|save|load|pickle_save|pickle_load|fft|special|sparse|nested|cuda|"
    r"mps|xpu|print|OrderedDict|ExpandingArray|linalg)\b"
    r"|\busing\s+namespace\s+torch\s*(?:::|;)|\bnamespace\s+\w+\s*=\s*torch\b"
)
_MISSED = re.compile(r"error: (.*)$", re.MULTILINE)
_QUOTED = re.compile(r"['\"‘]([^'\"’\n]+)['\"’]")
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_ABSENT = re.compile(
    r"is not a member|not declared|does not name|has not been declared|incomplete type|no member named|undeclared|"
    r"is not a class|no type named|unknown type|not a template|No such file"
)


def include_dirs(level: Level) -> tuple[str, ...]:
    """The folders of ours that are searched before PyTorch's."""
    return (str(_OURS),) if level == LIGHT else ()


def includes_extension_header(text: str) -> bool:
    """Whether a source's text includes the header whose place is taken (comments count: it does no harm)."""
    return bool(_EXTENSION.search(text))


def choose(source: Path, text: str, torch: Torch) -> Level:
    """The header set with which `source` is compiled first."""
    return FULL if _FRONTEND.search(text) or _note(source, torch).exists() else LIGHT


def remember_full(source: Path, torch: Torch) -> None:
    """That `source` needs the whole header; forgotten with the cache."""
    note = _note(source, torch)
    with contextlib.suppress(OSError):
        note.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(note, f"{source}\n")


def may_be_missing(said: str, torch: Torch) -> bool:
    """Whether what the compiler misses, by the text of its error, is in a header that `LIGHT` leaves out."""
    lines = [line for line in _MISSED.findall(said) if _ABSENT.search(line)]
    names = {word for line in lines for quoted in _QUOTED.findall(line) for word in _WORD.findall(quoted)}
    names -= {"std", "torch", "const", "pybind11", "Tensor"}
    return bool(names) and _frontend_has(names, torch)


def _frontend_has(names: set[str], torch: Torch) -> bool:
    pattern = re.compile(rb"\b(?:" + "|".join(map(re.escape, sorted(names))).encode() + rb")\b")
    root = torch.root / "include/torch/csrc/api/include/torch"
    files = [*root.rglob("*.h"), *(torch.root / "include/torch/csrc/jit").rglob("*.h")]
    return any(pattern.search(path.read_bytes()) for path in files)


def _note(source: Path, torch: Torch) -> Path:
    key = sha256(f"{os.path.abspath(source)}|{torch.identity}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return cache_root() / "headers" / f"{key}.txt"


def prefix_text(level: Level, headers: Sequence[str | os.PathLike[str]] = ()) -> str:
    """The text of the header that is compiled ahead."""
    del level
    return "".join(f"#include <{header}>\n" for header in ("torch/extension.h", *headers))
