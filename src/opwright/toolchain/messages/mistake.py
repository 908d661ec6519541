"""The explanation of a compiler's error in the author's words, and the rules that find one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from opwright.toolchain.messages.author import Spot

if TYPE_CHECKING:
    from opwright.toolchain.messages.diagnostics import Diagnostic

__all__ = ["Explain", "Mistake", "Rule", "one_of", "plain_type"]


class Mistake(NamedTuple):
    """What is wrong.

    Attributes:
        problem: the problem in the author's words; "": the compiler's own words say it.
        fix: what to write.
        line: the line of the author's file, if it isn't the one that the compiler names.
        signature: whether the signature is shown, because the two disagree.
    """

    problem: str
    fix: str
    line: int = 0
    signature: bool = False


Explain = Callable[["re.Match[str]", "Diagnostic", Spot], "Mistake | None"]


class Rule(NamedTuple):
    """One kind of mistake.

    Attributes:
        pattern: matches the error's first line, as gcc, clang, or nvcc and NVRTC word it.
        explain: returns the mistake, or None if what is known of the author's code doesn't confirm it.
    """

    pattern: re.Pattern[str]
    explain: Explain


def one_of(*patterns: str) -> re.Pattern[str]:
    """Compile a pattern for the wordings of several compilers."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def plain_type(name: str) -> str:
    """Return a C++ type as an author writes it: without ``const``, ``&`` and ``opwright::``."""
    return re.sub(r"\bconst\b|&|\bopwright::", "", name).strip()
