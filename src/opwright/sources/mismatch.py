"""The text of an error that shows a signature and its function side by side."""

from __future__ import annotations

from opwright.errors import SourceError
from opwright.sources.model import Kernel

__all__ = ["mismatch"]


def mismatch(kernel: Kernel, problem: str, fix: str) -> SourceError:
    """The error for a kernel whose function doesn't fit its signature.

    Args:
        kernel: the kernel.
        problem: what arrived and what was expected.
        fix: what most likely puts it right.
    """
    function, signature = kernel.function, kernel.signature
    return SourceError(
        f"{kernel.path}:{function.line}: {signature.name}: {problem}\n"
        f"  signature:  {signature}  ({kernel.path}:{kernel.line})\n"
        f"  function:   {function.text}  ({kernel.path}:{function.line})\n"
        f"  likely fix: {fix}"
    )
