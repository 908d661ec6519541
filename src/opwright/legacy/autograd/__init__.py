"""Instance-style ``torch.autograd.Function``, as PyTorch 1.0 had it, on today's engine.

::

    class Scale(torch.autograd.Function):
        def __init__(self, by):
            self.by = by

        def forward(self, x):
            return x * self.by

        def backward(self, grad):
            return grad * self.by

    y = Scale(2.0)(x)  # y.grad_fn is the instance

What a call does is in ``calling``, what the engine asks of an instance in ``nodes``, which call's attributes are whose
in ``state``. Functions with static methods take none of these paths.
"""

from __future__ import annotations

from collections.abc import Callable

from opwright.legacy.change import Change

__all__ = ["CHANGES"]


def _instances_are_called() -> Callable[[], None]:
    """Change ``torch.autograd.Function``."""
    from opwright.legacy.autograd.calling import change_function  # it needs PyTorch

    return change_function()


CHANGES: tuple[Change, ...] = (
    Change(
        "torch.autograd.Function",
        "an instance of a Function whose forward is no static method can be made and called: F(a)(x)",
        _instances_are_called,
    ),
)
