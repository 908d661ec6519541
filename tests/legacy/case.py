"""What a test knows of a function of TH."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tests.legacy.drawing import Draw
from tests.legacy.th import DTYPES

FLOATING = (torch.float64, torch.float32)
ALL = tuple(DTYPES)


class Case(NamedTuple):
    """One function.

    Attributes:
        make: all of its arguments, results included.
        expect: what the results (and what it returns) must be, from the arguments without `Out`s.
        flat: whether a result that has as many elements already keeps its shape.
    """

    name: str
    make: Callable[[Draw], list[Any]]
    expect: Callable[..., Any]
    dtypes: tuple[torch.dtype, ...] = ALL
    flat: bool = False


def in_shape(x: Tensor, y: Tensor) -> Tensor:
    return y.reshape(x.shape)


def wrapped(value: Tensor, dtype: torch.dtype) -> Tensor:
    return value.to(dtype)
