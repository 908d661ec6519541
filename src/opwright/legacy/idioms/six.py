"""The module ``torch._six``, which PyTorch had until 2.0 for the differences between Python 2 and 3."""

from __future__ import annotations

import builtins
import collections.abc
import io
import math
import queue
import sys
import types
from collections.abc import Callable
from typing import Any

import torch

from opwright.legacy.attributes import replace

__all__ = ["apply"]


def apply() -> Callable[[], None]:
    """Make it importable, where PyTorch has none."""
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
    """A base class whose subclasses have these bases and this metaclass."""
    return types.new_class("with_metaclass", bases, {"metaclass": meta})


def raise_from(value: BaseException, from_value: BaseException | None) -> None:
    """``raise value from from_value``."""
    raise value from from_value


def get_function_from_type(cls: type, name: str) -> Any:
    """The attribute, or None."""
    return getattr(cls, name, None)


def istuple(value: Any) -> bool:
    """Whether it is a tuple, named or not."""
    return isinstance(value, tuple)


def bind_method(function: Callable[..., Any], instance: Any, cls: type) -> Any:  # noqa: ARG001
    """The function as a method of the instance (``cls`` was for Python 2)."""
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
