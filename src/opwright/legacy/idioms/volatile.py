"""``Variable(x, volatile=True)`` and ``x.volatile``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.variable import Variable

from opwright.errors import ArgumentError
from opwright.legacy.attributes import replace
from opwright.legacy.idioms.volatile_tensor import VolatileTensor, make_volatile

__all__ = ["apply"]


def apply() -> Callable[[], None]:
    """Change ``Variable(...)`` and ``Tensor.volatile``."""
    undo = replace(type(Variable), {"__call__": _make}), replace(torch.Tensor, {"volatile": property(_get, _set)})

    def both() -> None:
        for one in undo:
            one()

    return both


def _make(
    cls: Any, data: Any = None, requires_grad: Any = False, volatile: Any = False, *rest: Any, **named: Any
) -> Any:
    """``Variable(data, requires_grad, volatile)``, without the warning that PyTorch has in the place of the last."""
    if requires_grad and volatile:
        raise ArgumentError(
            "Variable(..., requires_grad=True, volatile=True)\n"
            "  expected:   one of the two: nothing that is computed from a volatile Variable requires grad\n"
            "  likely fix: leave out volatile, or requires_grad"
        )
    # What the class was before: its C constructor. By name, for what is left out is not the same as None.
    if data is not None:
        named["data"] = data
    tensor = type.__call__(cls, *rest, requires_grad=bool(requires_grad), **named)
    return make_volatile(tensor) if volatile else tensor


def _get(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, VolatileTensor)


def _set(tensor: torch.Tensor, value: Any) -> None:
    """``x.volatile = True``, for tensors of no class of their own that require no grad."""
    if bool(value) == _get(tensor):
        return
    if not value:
        tensor.__class__ = torch.Tensor
        return
    if type(tensor) is not torch.Tensor or tensor.requires_grad:
        raise ArgumentError(
            f"volatile = True for a {type(tensor).__name__}{' that requires grad' * tensor.requires_grad}\n"
            "  expected:   a plain tensor that requires no grad\n"
            "  likely fix: x = x.detach() first, or compute under torch.no_grad()"
        )
    tensor.__class__ = VolatileTensor
