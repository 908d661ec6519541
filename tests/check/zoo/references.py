"""What the zoo's operators should give, from arguments in float64."""

from __future__ import annotations

import torch
from torch import Tensor


def row_products(x: Tensor) -> Tensor:
    """Of each row."""
    return x.prod(1)


def affine(x: Tensor) -> Tensor:
    """Twice the argument and one."""
    return 2 * x + 1


def softmax(x: Tensor) -> Tensor:
    """Of each row."""
    return x.softmax(1)


def total(x: Tensor) -> Tensor:
    """Of all."""
    return x.sum()


def logistic(x: Tensor) -> Tensor:
    """The sigmoid."""
    return x.sigmoid()


def rectified(x: Tensor) -> Tensor:
    """Of ReLU; a NaN stays one."""
    return x.relu()


def row_maxima(x: Tensor) -> Tensor:
    """Of each row; NaN where there is one."""
    return x.amax(1)


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), never overflowing."""
    return torch.logaddexp(x, torch.zeros_like(x))


def doubled(x: Tensor) -> Tensor:
    """Twice."""
    return 2 * x


def negated(x: Tensor) -> Tensor:
    """The other sign, zero's as well."""
    return -x


def quantised(x: Tensor, by: Tensor) -> Tensor:
    """In 8-bit floats."""
    return (x * by).to(torch.float8_e4m3fn)
