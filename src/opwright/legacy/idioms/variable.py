"""The removed features of ``Variable`` in PyTorch 0.3: ``volatile``, and ``loss.data[0]`` of a sum."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.autograd.variable import Variable
from torch.overrides import get_default_nowrap_functions

from opwright.errors import ArgumentError
from opwright.legacy.patching import replace

_get_data: Any = torch.Tensor.data.__get__  # type: ignore[attr-defined]


class VolatileTensor(torch.Tensor):
    """A tensor with the effect of a volatile Variable in PyTorch 0.3.

    Every PyTorch function called with one runs in ``torch.no_grad()``, and its new results are volatile, too. A tensor
    that the function overwrites keeps its class. ``x.data`` is an ordinary tensor.
    """

    is_volatile = True

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run ``func`` without recording a graph, and mark its results as volatile."""
        named = kwargs or {}
        with torch.no_grad(), torch.DisableTorchFunctionSubclass():
            result = func(*args, **named)
        if func == _get_data or func in get_default_nowrap_functions():
            return result
        return make_volatile(result, (args, list(named.values())))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return a copy that is volatile, too."""
        return make_volatile(copy.deepcopy(_plain(self), memo))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle as an ordinary tensor, since the loading process may not have this class."""
        return _plain(self).__reduce_ex__(protocol)


def make_volatile(result: Any, inputs: Any = ()) -> Any:
    """Mark the tensors in a function's result as volatile, except those in `inputs`.

    Tensors of a subclass (a parameter, say) aren't marked.
    """
    known = {id(tensor) for tensor in _tensors(inputs)}
    for tensor in _tensors(result):
        if type(tensor) is torch.Tensor and id(tensor) not in known:
            tensor.__class__ = VolatileTensor
    return result


def _tensors(nested: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in tuples and lists."""
    if isinstance(nested, torch.Tensor):
        yield nested
    elif isinstance(nested, (tuple, list)):
        for element in nested:
            yield from _tensors(element)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return an ordinary tensor that shares the memory."""
    with torch.DisableTorchFunctionSubclass():
        return tensor.detach()


def patch_volatile() -> Callable[[], None]:
    """Change ``Variable(...)`` and ``Tensor.volatile``; return a function that undoes the changes."""
    undo = replace(type(Variable), {"__call__": _make}), replace(torch.Tensor, {"volatile": property(_get, _set)})

    def both() -> None:
        for one in undo:
            one()

    return both


def _make(
    cls: Any, data: Any = None, requires_grad: Any = False, volatile: Any = False, *rest: Any, **named: Any
) -> Any:
    """Create ``Variable(data, requires_grad, volatile)``, without PyTorch's warning about `volatile`."""
    if requires_grad and volatile:
        raise ArgumentError(
            "Variable(..., requires_grad=True, volatile=True)\n"
            "  expected:   one of the two: nothing that is computed from a volatile Variable requires grad\n"
            "  likely fix: leave out volatile, or requires_grad"
        )
    # Call the C constructor. By name, because an omitted argument differs from None.
    if data is not None:
        named["data"] = data
    tensor = type.__call__(cls, *rest, requires_grad=bool(requires_grad), **named)
    return make_volatile(tensor) if volatile else tensor


def _get(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, VolatileTensor)


def _set(tensor: torch.Tensor, value: Any) -> None:
    """Set ``x.volatile = True``; only for plain tensors that don't require grad."""
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


_original_getitem: Any = torch.Tensor.__getitem__
_original_setitem: Any = torch.Tensor.__setitem__


def patch_indexing() -> Callable[[], None]:
    """Allow ``x[0]`` and ``x[0] = v`` for an x without dimensions; return a function that undoes the change."""
    return replace(torch.Tensor, {"__getitem__": _getitem, "__setitem__": _setitem})


def _setitem(self: torch.Tensor, index: Any, value: Any) -> None:
    """Assign as PyTorch does; if that fails for index 0 (or -1) of a tensor without dimensions, set the element."""
    try:
        _original_setitem(self, index, value)
    except IndexError:
        if self.dim() or type(index) is not int or index not in (0, -1):
            raise
        _original_setitem(self, (), value)


def _getitem(self: torch.Tensor, index: Any) -> Any:
    """Index as PyTorch does; if that fails for index 0 (or -1) of a tensor without dimensions, return the element.

    The result is a number, as ``.data[0]`` was; if the tensor requires grad or is volatile, a tensor with its graph.
    """
    try:
        return _original_getitem(self, index)
    except IndexError:
        if self.dim() or type(index) is not int or index not in (0, -1):
            raise
    if self.requires_grad or getattr(type(self), "is_volatile", False):
        return self.view(())
    return self.item()
