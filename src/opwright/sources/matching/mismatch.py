"""The error for a function that doesn't fit its signature, with both side by side."""

from __future__ import annotations

from opwright.errors import SourceError
from opwright.sources.model import Kernel

__all__ = ["mismatch"]


def mismatch(kernel: Kernel, problem: str, fix: str) -> SourceError:
    """Return the error for a kernel whose function doesn't fit its signature.

    Args:
        kernel: the kernel.
        problem: the actual and the expected declaration.
        fix: the likely fix.
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
