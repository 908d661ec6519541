"""The operator of csrc/my_op.c as a function and as a module."""

from __future__ import annotations

from torch import Tensor, nn

from my_op import ops


def my_op(x: Tensor, alpha: float) -> Tensor:
    """The exponential moving average of each row: y[0] = x[0], then y[n] = y[n-1] + alpha (x[n] - y[n-1]).

    Args:
        x: (B, N), float32.
        alpha: the weight of what is new, from 0 to 1.

    Returns:
        (B, N), float32.

    Raises:
        opwright.ArgumentError: `x` has another element type or number of axes.
    """
    return ops.my_op(x, alpha)


class MyOp(nn.Module):
    """`my_op` as a layer; it has nothing to learn."""

    def __init__(self, alpha: float) -> None:
        """Keep the weight.

        Args:
            alpha: as for `my_op`.

        Raises:
            ValueError: it isn't from 0 to 1.
        """
        super().__init__()
        if not 0 <= alpha <= 1:
            raise ValueError(f"MyOp() got alpha={alpha!r}, expected a number from 0 to 1")
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        """See `my_op`."""
        return my_op(x, self.alpha)

    def extra_repr(self) -> str:
        """What is shown between the brackets when a model is printed."""
        return f"alpha={self.alpha:g}"
