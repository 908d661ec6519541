"""Volatile tensors: what is computed from one requires no grad, whatever else goes in."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import get_default_nowrap_functions

__all__ = ["VolatileTensor", "make_volatile"]

_get_data: Any = torch.Tensor.data.__get__  # type: ignore[attr-defined]


class VolatileTensor(torch.Tensor):
    """A tensor that PyTorch 0.3 would have called a volatile Variable.

    Every function of PyTorch that is given one runs in ``torch.no_grad()``, and the tensors that it makes are volatile
    again; a tensor that it overwrites stays what it was. ``x.data`` is an ordinary tensor.
    """

    is_volatile = True

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run ``func`` without a graph, and mark what it makes."""
        named = kwargs or {}
        with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001
            result = func(*args, **named)
        if func == _get_data or func in get_default_nowrap_functions():
            return result
        return make_volatile(result, (args, list(named.values())))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Volatile, too."""
        return make_volatile(copy.deepcopy(_plain(self), memo))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Saved as an ordinary tensor: who loads it may know nothing of this class."""
        return _plain(self).__reduce_ex__(protocol)


def make_volatile(result: Any, given: Any = ()) -> Any:
    """Mark the tensors in what a function returned, except those that it was given.

    Tensors of a class of their own (a parameter, say) are left alone.
    """
    known = {id(tensor) for tensor in _tensors(given)}
    for tensor in _tensors(result):
        if type(tensor) is torch.Tensor and id(tensor) not in known:
            tensor.__class__ = VolatileTensor
    return result


def _tensors(nested: Any) -> Iterator[torch.Tensor]:
    """The tensors in tuples and lists."""
    if isinstance(nested, torch.Tensor):
        yield nested
    elif isinstance(nested, (tuple, list)):
        for element in nested:
            yield from _tensors(element)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory, not volatile."""
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001
        return tensor.detach()
