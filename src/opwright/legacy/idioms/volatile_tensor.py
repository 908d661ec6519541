"""Volatile tensors: what is computed from one requires no grad, whatever else goes in."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch

__all__ = ["VolatileTensor", "volatile"]

_get_data: Any = torch.Tensor.data.__get__  # type: ignore[attr-defined]


class VolatileTensor(torch.Tensor):
    """A tensor that PyTorch 0.3 would have called a volatile Variable.

    Every function of PyTorch that is given one runs in ``torch.no_grad()``, and the tensors that it returns are
    volatile again. ``x.data`` is an ordinary tensor.
    """

    is_volatile = True

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run ``func`` without a graph, and mark what it returns."""
        with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001
            result = func(*args, **(kwargs or {}))
        if func == _get_data or func in torch.overrides.get_default_nowrap_functions():
            return _plain(result)
        return _marked(result)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Volatile, too."""
        return volatile(copy.deepcopy(_plain(self), memo))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Saved as an ordinary tensor: who loads it may know nothing of this class."""
        return _plain(self).__reduce_ex__(protocol)


def volatile(tensor: Any) -> Any:
    """The same tensor, volatile; what is of a class of its own (a parameter, say) is left alone."""
    return tensor.as_subclass(VolatileTensor) if type(tensor) is torch.Tensor else tensor


def _marked(result: Any) -> Any:
    """Tensors in what a function returned, made volatile; also those in tuples and lists."""
    if isinstance(result, torch.Tensor):
        return volatile(result)
    if isinstance(result, (tuple, list)) and any(isinstance(x, (torch.Tensor, tuple, list)) for x in result):
        return type(result)(map(_marked, result))
    return result


def _plain(tensor: Any) -> Any:
    """The same tensor, not volatile."""
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001
        return tensor.as_subclass(torch.Tensor) if isinstance(tensor, VolatileTensor) else tensor
