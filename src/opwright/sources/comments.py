"""What the author of a kernel says of it."""

from __future__ import annotations

import re
from pathlib import Path

from opwright.sources.model import Kernel

_COMMENT = re.compile(r"\s*///[ \t]?(?!/)(.*?)\s*")
_OF_DECLARATION = re.compile(r"\s*[^\s/#].*[^;}\s]\s*|\s*[\w>]\s*")


def comment(kernel: Kernel, path: Path, text: str) -> str:
    """The ``///`` lines right above its mark, without the slashes; `path`, `text`: of the source that it is in.

    Without a mark: above its function, whose declaration may have begun in lines before that of its name. Of one that
    an included file declares, nothing is known.
    """
    if kernel.path != path:
        return ""
    above = text.splitlines()[: kernel.line - 1]
    while kernel.given and above and _OF_DECLARATION.fullmatch(above[-1]):
        above.pop()
    lines: list[str] = []
    while above and (found := _COMMENT.fullmatch(above.pop())):
        lines.append(found[1])
    return "\n".join(reversed(lines))
