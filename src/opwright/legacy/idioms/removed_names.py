"""Names that PyTorch has removed: ``torch._six``, parts of ``torch.testing`` and ``torch.autograd.gradcheck``."""

from __future__ import annotations

import builtins
import collections.abc
import importlib
import io
import math
import queue
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from opwright.legacy.patching import add, replace


def add_torch_six() -> Callable[[], None]:
    """Add ``torch._six`` if PyTorch doesn't have it; return a function that undoes the change."""
    if "torch._six" in sys.modules:
        return lambda: None
    module = types.ModuleType("torch._six", "What torch._six was, under Python 3.")
    vars(module).update(_NAMES)
    sys.modules["torch._six"] = module
    undo = replace(torch, {"_six": module})

    def both() -> None:
        undo()
        if sys.modules.get("torch._six") is module:
            del sys.modules["torch._six"]

    return both


def with_metaclass(meta: type, *bases: type) -> type:
    """Return a base class that gives its subclasses these bases and this metaclass."""
    return types.new_class("with_metaclass", bases, {"metaclass": meta})


def raise_from(value: BaseException, from_value: BaseException | None) -> None:
    """Execute ``raise value from from_value``."""
    raise value from from_value


def get_function_from_type(cls: type, name: str) -> Any:
    """Return the attribute, or None."""
    return getattr(cls, name, None)


def istuple(value: Any) -> bool:
    """Return whether the value is a tuple, named or not."""
    return isinstance(value, tuple)


def bind_method(function: Callable[..., Any], instance: Any, cls: type) -> Any:  # noqa: ARG001
    """Bind the function as a method of the instance (``cls`` was for Python 2)."""
    return types.MethodType(function, instance)


_NAMES: dict[str, Any] = {
    "FileNotFoundError": FileNotFoundError,
    "PY2": False,
    "PY3": True,
    "PY37": True,
    "StringIO": io.StringIO,
    "bind_method": bind_method,
    "builtins": builtins,
    "container_abcs": collections.abc,
    "get_function_from_type": get_function_from_type,
    "imap": map,
    "inf": math.inf,
    "int_classes": int,
    "istuple": istuple,
    "nan": math.nan,
    "queue": queue,
    "raise_from": raise_from,
    "string_classes": (str, bytes),
    "with_metaclass": with_metaclass,
}


_FLOATING = (torch.float32, torch.float64, torch.float16)
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def patch_testing() -> Callable[[], None]:
    """Add the removed functions to ``torch.testing``; return a function that undoes the change."""
    return add(
        torch.testing,
        {
            "get_all_dtypes": get_all_dtypes,
            "get_all_math_dtypes": get_all_math_dtypes,
            "get_all_device_types": get_all_device_types,
            "is_tensor": torch.is_tensor,
            "make_non_contiguous": make_non_contiguous,
            "rand_like": torch.rand_like,
            "randn_like": torch.randn_like,
        },
    )


def get_all_dtypes() -> list[torch.dtype]:
    """Return the element types of PyTorch 1.0 (no bool, bfloat16 or complex) as a new list."""
    return [*_INTEGERS, *_FLOATING]


def get_all_math_dtypes(device: str | torch.device) -> list[torch.dtype]:
    """Return the element types for which PyTorch 1.0 defined arithmetic: float16 only on CUDA."""
    halves = [torch.float16] if torch.device(device).type == "cuda" else []
    return [*_INTEGERS, torch.float32, torch.float64, *halves]


def get_all_device_types() -> list[str]:
    """Return ``cpu``, and ``cuda`` if it is available."""
    return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


def make_non_contiguous(tensor: torch.Tensor) -> torch.Tensor:
    """Return a non-contiguous tensor with the same values (with at most one element, it is always contiguous)."""
    if tensor.numel() <= 1:
        return tensor.clone()
    spread = tensor.new_empty((*tensor.shape, 2))[..., 0]
    return spread.copy_(tensor)


def patch_gradcheck() -> Callable[[], None]:
    """Add the removed functions to the module, which the function of the same name hides in ``torch.autograd``."""
    module = importlib.import_module("torch.autograd.gradcheck")
    names = {"zero_gradients": zero_gradients, "iter_tensors": iter_tensors, "make_jacobian": make_jacobian}
    return add(module, names)


def zero_gradients(x: torch.Tensor | Iterable[Any]) -> None:
    """Detach and zero the gradients of a tensor, or of all tensors in a nested iterable."""
    for tensor in iter_tensors(x):
        if tensor.grad is not None:
            tensor.grad.detach_()
            tensor.grad.zero_()


def iter_tensors(x: Any, only_requiring_grad: bool = False) -> Iterator[torch.Tensor]:
    """Yield the tensors in nested iterables."""
    if isinstance(x, torch.Tensor):
        if x.requires_grad or not only_requiring_grad:
            yield x
    elif isinstance(x, Iterable) and not isinstance(x, (str, bytes)):
        for element in x:
            yield from iter_tensors(element, only_requiring_grad)


def make_jacobian(input: Any, num_out: int) -> Any:  # noqa: A002
    """Return zeros, (elements of an input) x ``num_out``, in the inputs' structure; None for inputs without grad."""
    if isinstance(input, torch.Tensor):
        return input.new_zeros(input.numel(), num_out) if input.requires_grad and input.is_floating_point() else None
    if isinstance(input, Iterable) and not isinstance(input, (str, bytes)):
        parts = [part for part in (make_jacobian(x, num_out) for x in input) if part is not None]
        return type(input)(parts) if parts else None  # type: ignore[call-arg]
    return None
