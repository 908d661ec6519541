"""What our TH headers declare: for cffi, and by name."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from opwright.legacy.th_library import header_dirs

TYPES = ("Double", "Float", "Long", "Int", "Short", "Char", "Byte")
_STATIC_FUNCTION = re.compile(r"static inline [^{;]*\{")


@functools.cache
def declarations(header: str = "TH/TH.h") -> str:
    """``header`` after preprocessing, without the system's headers and without bodies of functions."""
    root = header_dirs()[0]
    with tempfile.TemporaryDirectory() as empty:
        for path in root.rglob("*.h"):
            for name in re.findall(r"#include <([^>/]+)>", path.read_text()):
                if not name.startswith("cu"):  # CUDA's aren't there
                    Path(empty, name).touch()
        words = ["-E", "-P", "-nostdinc", "-isystem", empty, "-D__attribute__(x)=", f"-I{root}", "-"]
        command = [shutil.which("cc") or "cc", *words]
        done = subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True, check=True)
    return _without_bodies(done.stdout)


def _without_bodies(text: str) -> str:
    while match := _STATIC_FUNCTION.search(text):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: match.start()] + text[end:]
    return text


@functools.cache
def declared(header: str = "TH/TH.h") -> frozenset[str]:
    """The names of all functions and data that the headers declare ``extern``."""
    found = set()
    for statement in declarations(header).split(";"):
        if match := re.fullmatch(r"extern\s+[^(]*?(\w+)\s*(\(.*\))?", statement.strip(), re.DOTALL):
            found.add(match[1])
    return frozenset(found)


def operations(*, of: str, headers: Iterable[str]) -> frozenset[str]:
    """The names of one element type's tensor functions that these headers declare, without ``TH<T>Tensor_``."""
    prefix = f"TH{of}Tensor_"
    names = frozenset().union(*(declared(f"TH/{header}") for header in headers)) - declared("TH/THTensor.h")
    return frozenset(name.removeprefix(prefix) for name in names if name.startswith(prefix))
