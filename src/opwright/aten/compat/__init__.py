"""Compatibility code for unmodified sources that were written for an older PyTorch.

:func:`needed` reads sources and returns the headers of ours that restore removed names. Only headers for names that a
source uses are included. Nothing here needs PyTorch.
"""

from __future__ import annotations

from opwright.aten.compat.selection import Compat, needed

__all__ = ["Compat", "needed"]
