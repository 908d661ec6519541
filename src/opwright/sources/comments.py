"""What the author of a kernel says of it."""

from __future__ import annotations

import re

from opwright.sources.model import Kernel

_COMMENT = re.compile(r"\s*///[ \t]?(?!/)(.*?)\s*")


def comment(kernel: Kernel, text: str) -> str:
    """The ``///`` lines right above its mark in the source's text, without the slashes."""
    lines: list[str] = []
    for line in reversed(text.splitlines()[: kernel.line - 1]) if kernel.given is None else ():
        if not (found := _COMMENT.fullmatch(line)):
            break
        lines.append(found[1])
    return "\n".join(reversed(lines))
