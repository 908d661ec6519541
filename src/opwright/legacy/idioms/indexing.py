"""``loss.data[0]``: in PyTorch 0.3 a sum had one dimension, of size 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from opwright.legacy.attributes import replace

__all__ = ["apply"]

_original: Any = torch.Tensor.__getitem__


def apply() -> Callable[[], None]:
    """Let ``x[0]`` work where x has no dimensions."""
    return replace(torch.Tensor, {"__getitem__": _getitem})


def _getitem(self: torch.Tensor, index: Any) -> Any:
    """PyTorch's own indexing; only where that fails, for index 0 (or -1) of no dimensions, the element.

    A number, as ``.data[0]`` was; of a Variable (a tensor that requires grad, or is volatile) a tensor, with its graph.
    """
    try:
        return _original(self, index)
    except IndexError:
        if self.dim() or type(index) is not int or index not in (0, -1):
            raise
    if self.requires_grad or getattr(type(self), "is_volatile", False):
        return self.view(())
    return self.item()
