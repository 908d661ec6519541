"""The page of the headers: the comment and the declarations of each."""

from __future__ import annotations

import html
import re
import textwrap
from pathlib import Path

from declarations import declarations  # beside this file

import opwright

INCLUDE = Path(opwright.__file__).parent / "include"
_STAND_INS = {"shadow", "device", "fallback", "host"}
_HEAD = """# Headers

A kernel's author includes `opwright.h`, which brings most of what follows; `opwright/tensors/accessor.h` comes with it
in CUDA sources, and `opwright/caffe.h` is included by name. All is in the namespace `opwright`, which
`opwright.h` opens. Shown are declarations, without words for compilers; the functions of mathematics take
numbers of any floating type, and have derivatives ([more about them](../math.md)). CUDA is described in [CUDA
kernels](../cuda.md).
"""
_INSIDE = """
## The rest

These are included by the ones above or by generated code, or emulate CUDA: they are no interface.

| header | what it is |
|---|---|
"""


def public() -> list[Path]:
    """Return the headers that users include by name, and the headers that these include."""
    main = INCLUDE / "opwright.h"
    brought = re.findall(r'#include "(opwright/[\w/]+\.h)"', main.read_text(encoding="utf-8"))
    return [main, *(INCLUDE / header for header in (*brought, "opwright/tensors/accessor.h", "opwright/caffe.h"))]


def inside() -> list[Path]:
    """Return the other headers, without stand-ins for CUDA's and PyTorch's."""
    headers = (path for path in sorted((INCLUDE / "opwright").glob("**/*.h")) if not {*path.parts} & _STAND_INS)
    return [path for path in headers if path not in public()]


def name(path: Path) -> str:
    """Return the path in ``#include``."""
    return path.relative_to(INCLUDE).as_posix()


def page() -> str:
    """Return the page, in Markdown."""
    rows = (f"| `{name(path)}` | {_prose(_sentence(_comment(path.read_text())))} |\n" for path in inside())
    return _HEAD + "".join(map(_section, public())) + _INSIDE + "".join(rows)


def _section(path: Path) -> str:
    source = path.read_text(encoding="utf-8")
    declared = _spaced(declarations(source.encode()))
    code = f"```cpp\n{declared}\n```\n" if declared else ""
    return f"\n## {name(path)}\n\n{_described(_comment(source))}\n{code}"


def _spaced(parts: list[str]) -> str:
    """Join declarations with newlines; an empty line separates those of several lines."""
    text = ""
    for part in parts:
        text += "\n" * bool(text and ("\n" in part or text.endswith("};\n"))) + part + "\n"
    return text.rstrip()


def _comment(source: str) -> str:
    """Return the comment at the beginning of a header, without comment marks."""
    found = re.match(r"/\*(.*?)\*/|((?://.*\n)+)", source, re.DOTALL)
    if not found:
        return ""
    return re.sub(r"^ ?(?:\*|//) ?", "", found[1] or found[2], flags=re.MULTILINE).strip()


def _described(comment: str) -> str:
    """Convert a comment to Markdown; indented lines are shown literally."""
    parts: list[str] = []
    for indented, lines in _runs(comment.splitlines()):
        parts.append(f"```text\n{textwrap.dedent(lines)}\n```\n" if indented else _prose(lines) + "\n")
    return "\n".join(parts)


def _runs(lines: list[str]) -> list[tuple[bool, str]]:
    runs: list[tuple[bool, list[str]]] = []
    for line in lines:
        indented = line.startswith("  ")
        if runs and (not line or runs[-1][0] == indented):
            runs[-1][1].append(line)
        elif line:
            runs.append((indented, [line]))
    return [(indented, "\n".join(run).rstrip()) for indented, run in runs]


def _sentence(comment: str) -> str:
    return re.split(r"(?<=[.]) ", " ".join(comment.split()), maxsplit=1)[0].replace("|", "\\|")


def _prose(text: str) -> str:
    """Escape text for Markdown; text in backticks is left as code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*_\[\]])", r"\\\1", html.escape(part)) for part in parts
    )
