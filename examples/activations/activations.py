"""Activations and a loss: the scalar functions of activations.cpp as functions of tensors and as modules."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn

import opwright

ops = opwright.load(Path(__file__).with_name("activations.cpp"))


def mish(x: Tensor) -> Tensor:
    """Mish: x tanh(log(1 + exp(x))), elementwise.

    Args:
        x: any shape; float32, float64, float16 or bfloat16. Integers are converted to the default type.

    Raises:
        opwright.ArgumentError: `x` is complex.
    """
    y: Tensor = ops.mish(x)
    return y


def hard_swish(x: Tensor) -> Tensor:
    """Hard swish: x clamp(x + 3, 0, 6) / 6, elementwise; `x` as in `mish`."""
    y: Tensor = ops.hard_swish(x)
    return y


def gelu(x: Tensor) -> Tensor:
    """GELU: x times the standard normal distribution function at x, elementwise; `x` as in `mish`."""
    y: Tensor = ops.gelu(x)
    return y


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Softplus: log(1 + exp(beta x)) / beta, or x if beta x is above the threshold; `x` as in `mish`."""
    y: Tensor = ops.softplus(x, beta, threshold)
    return y


def smooth_l1(input: Tensor, target: Tensor, beta: float = 1.0) -> Tensor:  # noqa: A002 - PyTorch's name
    """Compute the loss of each element: with d = abs(input - target), d * d / (2 beta) if d < beta, else d - beta / 2.

    Args:
        input: any shape; float32, float64, float16 or bfloat16.
        target: a shape that broadcasts with `input`; the element type may differ.
        beta: positive.

    Returns:
        The loss in the broadcast shape and the promoted type. Its `.mean()` is torch.nn.functional.smooth_l1_loss.
    """
    loss: Tensor = ops.smooth_l1(input, target, beta)
    return loss


class Mish(nn.Module):
    """`mish` as a layer, a replacement for `torch.nn.Mish`."""

    def forward(self, x: Tensor) -> Tensor:
        """See `mish`."""
        return mish(x)


class HardSwish(nn.Module):
    """`hard_swish` as a layer, a replacement for `torch.nn.Hardswish`."""

    def forward(self, x: Tensor) -> Tensor:
        """See `hard_swish`."""
        return hard_swish(x)


class GELU(nn.Module):
    """`gelu` as a layer, a replacement for `torch.nn.GELU`."""

    def forward(self, x: Tensor) -> Tensor:
        """See `gelu`."""
        return gelu(x)


class Softplus(nn.Module):
    """`softplus` as a layer, a replacement for `torch.nn.Softplus`."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, x: Tensor) -> Tensor:
        """See `softplus`."""
        return softplus(x, self.beta, self.threshold)


class SmoothL1Loss(nn.Module):
    """The mean of `smooth_l1`, a replacement for `torch.nn.SmoothL1Loss`."""

    def __init__(self, beta: float = 1.0) -> None:
        super().__init__()
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # noqa: A002 - PyTorch's name
        """See `smooth_l1`."""
        return smooth_l1(input, target, self.beta).mean()
