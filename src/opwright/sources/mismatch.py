"""The text of an error that shows a signature and its function side by side."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.errors import SourceError
from opwright.sources.model import Kernel

__all__ = ["meant", "mismatch"]


def mismatch(kernel: Kernel, problem: str, fix: str) -> SourceError:
    """The error for a kernel whose function doesn't fit its signature.

    Args:
        kernel: the kernel.
        problem: what arrived and what was expected.
        fix: what most likely puts it right.
    """
    function, signature = kernel.function, kernel.signature
    place = f"{function.path or kernel.path}:{function.line}"
    origin = "given in ops" if kernel.given else f"{kernel.path}:{kernel.line}"
    return SourceError(
        f"{place}: {signature.name}: {problem}\n"
        f"  signature:  {signature}  ({origin})\n"
        f"  function:   {function.text}  ({place})\n"
        f"  likely fix: {fix}"
    )


def meant(name: str, known: Iterable[str]) -> str | None:
    """Which of the names was most likely meant; a difference of case counts little."""
    import difflib  # only errors need it

    by_lower = {each.lower(): each for each in known}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return by_lower[close[0]] if close else None
