"""Variables as they were made, and how what was done is undone."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.autograd import Variable

Undo = list[Callable[[], None]]


def variable(*args: Any, **named: Any) -> Any:
    return Variable(*args, **named)
