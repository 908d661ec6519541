"""What ``torch.autograd.gradcheck`` (the module) had until PyTorch 1.8."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from opwright.legacy.attributes import add

__all__ = ["apply"]


def apply() -> Callable[[], None]:
    """Add them to the module (as an attribute of ``torch.autograd``, its name is the function's)."""
    module = importlib.import_module("torch.autograd.gradcheck")
    names = {"zero_gradients": zero_gradients, "iter_tensors": iter_tensors, "make_jacobian": make_jacobian}
    return add(module, names)


def zero_gradients(x: torch.Tensor | Iterable[Any]) -> None:
    """Detach and zero the gradients of a tensor, or of all in a nested iterable."""
    for tensor in iter_tensors(x):
        if tensor.grad is not None:
            tensor.grad.detach_()
            tensor.grad.zero_()


def iter_tensors(x: Any, only_requiring_grad: bool = False) -> Iterator[torch.Tensor]:
    """The tensors in nested iterables."""
    if isinstance(x, torch.Tensor):
        if x.requires_grad or not only_requiring_grad:
            yield x
    elif isinstance(x, Iterable) and not isinstance(x, (str, bytes)):
        for element in x:
            yield from iter_tensors(element, only_requiring_grad)


def make_jacobian(input: Any, num_out: int) -> Any:  # noqa: A002
    """Zeros, (elements of an input) x ``num_out``, in the structure of the inputs; None where nothing requires grad."""
    if isinstance(input, torch.Tensor):
        return input.new_zeros(input.numel(), num_out) if input.requires_grad and input.is_floating_point() else None
    if isinstance(input, Iterable) and not isinstance(input, (str, bytes)):
        parts = [part for part in (make_jacobian(x, num_out) for x in input) if part is not None]
        return type(input)(parts) if parts else None  # type: ignore[call-arg]
    return None
