"""y += alpha x: the functions of saxpy.c, plain C, as operators."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

import opwright

ops = opwright.load(
    Path(__file__).with_name("saxpy.c"),
    ops={
        "saxpy": "saxpy(alpha: float, x: f32[N], y: f32[N]!)",
        # grad_y is the gradient of the new y (an input here) and of the old y (an output): the names follow the order.
        "saxpy_backward(N, alpha, grad_y, grad_x, grad_y)": (
            "saxpy_backward(alpha: float, grad_y: f32[N]) -> (grad_x: f32[N], grad_y: f32[N])"
        ),
        "sdot": "sdot(x: f32[N], y: f32[N]) -> (sum: f32[])",
    },
)


def saxpy_(alpha: float, x: Tensor, y: Tensor) -> Tensor:
    """Add `alpha` times `x` to `y`, in place, as `y.add_(x, alpha=alpha)` does.

    Args:
        alpha: the factor; rounded to float32.
        x: float32, one axis.
        y: float32, of the same length; it is overwritten, and returned.

    Raises:
        opwright.ArgumentError: the types or the lengths don't match, or `x` and `y` share memory.
    """
    ops.saxpy(alpha, x, y)
    return y


def sdot(x: Tensor, y: Tensor) -> Tensor:
    """Return the sum of `x * y`, accumulated in double precision.

    Args:
        x: float32, one axis.
        y: float32, of the same length.

    Raises:
        opwright.ArgumentError: the types or the lengths don't match.
    """
    total: Tensor = ops.sdot(x, y)
    return total
