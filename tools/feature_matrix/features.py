"""The registry of features, and what several of them use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .operators import Operator, reference

Feature = Callable[[Operator], Any]
FEATURES: dict[str, Feature] = {}


def feature(text: str) -> Callable[[Feature], Feature]:
    """Register a function that raises `WrongResultError` for a wrong result, and anything else for what is refused."""

    def register(function: Feature) -> Feature:
        FEATURES[text] = function
        return function

    return register


class WrongResultError(Exception):
    """A result is wrong, and nothing said so."""


def tensors(dtype: torch.dtype = torch.float64, grad: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """Return arguments: x of shape [4, 3] and w of shape [3]."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, 3, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)
    w = torch.randn(3, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)
    return x, w


def same(ours: Any, theirs: Any) -> None:
    """Raise `WrongResultError` unless two nests of tensors are close."""
    try:
        torch.testing.assert_close(ours, theirs)
    except AssertionError as error:
        raise WrongResultError(str(error).split("\n\n")[0]) from error


def require(condition: object, text: str) -> None:
    """Raise `WrongResultError` unless a condition holds."""
    if not condition:
        raise WrongResultError(text)


def gradients(function: Callable[..., Any], *arguments: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the gradients of the sum of sines of a function's result, for detached copies of its arguments."""
    copies = [argument.detach().clone().requires_grad_() for argument in arguments]
    return torch.autograd.grad(function(*copies).sin().sum(), copies)


def same_gradients(function: Callable[..., Any], *arguments: torch.Tensor) -> None:
    """Compare a function's gradients with those of the reference."""
    same(gradients(function, *arguments), gradients(reference, *arguments))
