"""Flags that ask for an older C++ than PyTorch's headers are written in."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["CURRENT", "outdated", "raised"]

CURRENT = "c++20"
_FLAG = re.compile(r"(?P<before>--?std=)(?P<dialect>c|gnu)\+\+(?P<year>98|0x|03|11|1y|14|1z|17)")
_SEPARATE = ("-std", "--std")  # nvcc takes the value as a word of its own


def outdated(flag: str) -> str:
    """What a word for the compiler becomes where it names an old standard; nothing where it doesn't."""
    found = _FLAG.fullmatch(flag)
    return f"{found['before']}{found['dialect']}++{CURRENT[3:]}" if found else ""


def raised(flags: Sequence[str]) -> list[str]:
    """The words for a compiler, with C++ standards before 20 made 20, as which PyTorch is compiled.

    Also those in a list that ``-Xcompiler`` passes on.
    """
    result: list[str] = []
    for flag in flags:
        if result and result[-1] in _SEPARATE:
            result.append(outdated(f"-std={flag}")[5:] or flag)
        else:
            result.append(",".join(outdated(part) or part for part in flag.split(",")))
    return result
