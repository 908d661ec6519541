"""Calling an instance of a Function: ``F(a)(x)``."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import Function

from opwright.errors import ArgumentError, UnsupportedError
from opwright.legacy.autograd.node import finish, is_instance_style, link_to, prepare, set_link, start
from opwright.legacy.patching import replace
from opwright.runtime.torch_internals import not_compiled, set_node_factory, transforms_active

_original_call: Any = Function.__call__
_original_init: Any = Function.__init__


class _Pending(threading.local):
    """The node for the call that this thread is making."""

    node: Any = None

    def take(self) -> Any:
        """Return the pending node; PyTorch calls this to create a context."""
        node, self.node = self.node, None
        if node is None:
            raise UnsupportedError(
                "an instance-style Function can only be run by calling its instance\n"
                "  this looks like a graph that was recorded with it"
            )
        return node


_pending = _Pending()
_drivers: weakref.WeakKeyDictionary[type, Any] = weakref.WeakKeyDictionary()


def change_function() -> Callable[[], None]:
    """Allow instances to be created and called; return a function that undoes the change."""
    return replace(Function, {"__call__": _call, "__init__": _Init(), "_do_forward": _call})


class _Init:
    """``Function.__init__``: does nothing for instance-style classes; for other classes, the original."""

    def __get__(self, instance: Any, cls: type) -> Callable[..., None]:
        if instance is None:
            return _init
        return _silent if is_instance_style(type(instance)) else _original_init.__get__(instance, cls)


def _silent(*_: Any, **__: Any) -> None:
    """Do nothing, whatever arguments a subclass passes: there is nothing to initialize."""


def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    if not is_instance_style(type(self)):
        _original_init(self, *args, **kwargs)


def _call(self: Any, *inputs: Any, **named: Any) -> Any:
    """Run the instance's ``forward`` on tensors, and make the instance the autograd node of the results.

    Raises:
        ArgumentError: An input isn't a tensor, or is passed by keyword.
        UnsupportedError: Under torch.jit.trace or a transform of torch.func.
    """
    # torch.compile must not trace the call. The function marked so imports all of torch._dynamo at its first call, so
    # it is called only if torch._dynamo is already imported.
    call = _uncompiled if "torch._dynamo" in sys.modules else _in_python
    return call(self, inputs, named)


def _in_python(self: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
    cls = type(self)
    if not is_instance_style(cls):
        return _original_call(self, *inputs, **named)
    _check(cls, inputs, named)
    prepare(cls)
    if any(getattr(type(x), "is_volatile", False) for x in inputs):
        from opwright.legacy.idioms.variable import make_volatile

        with torch.no_grad():
            return make_volatile(_run(self, inputs), inputs)
    return _run(self, inputs)


_uncompiled = not_compiled(_in_python)


def _check(cls: type, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Check that the inputs are tensors and are passed by position."""
    for place, value in enumerate(inputs, 1):
        if not isinstance(value, torch.Tensor):
            raise ArgumentError(
                f"{cls.__name__}()(...): argument {place} is a {type(value).__name__}, not a tensor\n"
                "  expected:   tensors only; an instance-style Function takes everything else in __init__\n"
                f"  likely fix: {cls.__name__}(value)(x), or a static forward(ctx, ...) and {cls.__name__}.apply(...)"
            )
    if named:
        raise ArgumentError(
            f"{cls.__name__}()(...): arguments by name: {', '.join(named)}\n"
            "  expected:   tensors by position\n"
            "  likely fix: give them without their names, in the order of forward"
        )
    if transforms_active():
        raise UnsupportedError(
            f"{cls.__name__}: torch.func (vmap, grad, jvp...) can't transform an instance-style Function\n"
            "  likely fix: make forward and backward static methods with a ctx argument, and add setup_context and vmap"
        )
    tracer: Any = torch.jit  # PyTorch doesn't annotate it
    if tracer.is_tracing():
        raise UnsupportedError(
            f"{cls.__name__}: torch.jit.trace can't record an instance-style Function\n"
            "  likely fix: make forward and backward static methods with a ctx argument"
        )


def _run(instance: Any, inputs: tuple[torch.Tensor, ...]) -> Any:
    """Pass the call to PyTorch, with the instance or a twin of it as the context."""
    differentiable = torch.is_grad_enabled() and any(x.requires_grad for x in inputs)
    driver = _driver(type(instance))
    link = link_to(inputs) if differentiable else None
    node = _pending.node = start(instance, differentiable=differentiable)
    succeeded = False
    try:
        # The function that Function.apply calls in the end; Function.apply itself is for classes.
        outputs = super(Function, driver).apply(*inputs)
        if link is not None:
            set_link(node, link)
        succeeded = True
    finally:
        _pending.node = None
        finish(instance, node, succeeded=succeeded)
    return outputs


def _driver(cls: type) -> Any:
    """Return a static Function that runs the ``forward`` of this class's nodes; profiles show the class's name."""
    driver: Any = _drivers.get(cls)
    if driver is None:
        driver = type(cls.__name__, (Function,), {"forward": staticmethod(_forward)})
        set_node_factory(driver, _pending.take)
        _drivers[cls] = driver
    return driver


def _forward(node: Any, *inputs: torch.Tensor) -> Any:
    """Run ``forward``, which returns a tensor or a tuple of tensors."""
    output = node.forward(*inputs)
    outputs = output if isinstance(output, tuple) else (output,)
    for place, value in enumerate(outputs, 1):
        if not isinstance(value, torch.Tensor):
            raise TypeError(
                f"{type(node).__name__}.forward returned a {type(value).__name__} as value {place}\n"
                "  expected:   a tensor or a tuple of tensors\n"
                "  likely fix: keep everything else as an attribute of self; return several tensors as a tuple"
            )
    return output
