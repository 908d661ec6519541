"""Instance-style ``torch.autograd.Function``, as in PyTorch 1.0, on today's engine.

::

    class Scale(torch.autograd.Function):
        def __init__(self, by):
            self.by = by

        def forward(self, x):
            return x * self.by

        def backward(self, grad):
            return grad * self.by

    y = Scale(2.0)(x)  # y.grad_fn is the instance

``call`` implements a call of an instance. ``node`` has the methods that the engine calls on an instance, and keeps each
call's attributes apart. Functions with static methods aren't affected.
"""

from __future__ import annotations

from collections.abc import Callable

from opwright.legacy.patching import Change

__all__ = ["CHANGES"]


def _instances_are_called() -> Callable[[], None]:
    """Change ``torch.autograd.Function``."""
    from opwright.legacy.autograd.call import change_function

    return change_function()


CHANGES: tuple[Change, ...] = (
    Change(
        "torch.autograd.Function",
        "an instance of a Function whose forward is no static method can be made and called: F(a)(x)",
        _instances_are_called,
    ),
)
