"""What our TH headers declare: for cffi, and by name."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from opwright.legacy.library import header_dirs

TYPES = ("Double", "Float", "Long", "Int", "Short", "Char", "Byte")
_STATIC_FUNCTION = re.compile(r"static inline [^{;]*\{")


@functools.cache
def declarations() -> str:
    """``TH.h`` after preprocessing, without the system's headers and without bodies of functions."""
    root = header_dirs()[0]
    with tempfile.TemporaryDirectory() as empty:
        for header in (root / "TH").rglob("*.h"):
            for name in re.findall(r"#include <([^>/]+)>", header.read_text()):
                Path(empty, name).touch()
        command = [
            shutil.which("cc") or "cc",
            "-E",
            "-P",
            "-nostdinc",
            "-isystem",
            empty,
            "-D__attribute__(x)=",
            f"-I{root}",
        ]
        done = subprocess.run([*command, "-"], input="#include <TH/TH.h>\n", capture_output=True, text=True, check=True)
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
def declared() -> frozenset[str]:
    """The names of all functions and data that the headers declare ``extern``."""
    found = set()
    for statement in declarations().split(";"):
        if match := re.fullmatch(r"extern\s+[^(]*?(\w+)\s*(\(.*\))?", statement.strip(), re.DOTALL):
            found.add(match[1])
    return frozenset(found)


def operations(*, of: str, headers: Iterable[str]) -> frozenset[str]:
    """The names of one element type's tensor functions in these generic headers, without ``TH<T>Tensor_``."""
    prefix = f"TH{of}Tensor_"
    folder = header_dirs()[0] / "TH" / "generic"
    text = "".join((folder / header).read_text() for header in headers)
    names = (name.removeprefix(prefix) for name in declared() if name.startswith(prefix))
    return frozenset(name for name in names if f"({name})" in text)
