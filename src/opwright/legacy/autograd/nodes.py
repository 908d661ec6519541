"""What PyTorch's engine asks of the node of an instance-style Function."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import Function

from opwright.errors import OpwrightError, UnsupportedError
from opwright.legacy.autograd.state import own_attributes

__all__ = ["is_instance_style", "link_to", "prepare", "set_link"]

_prepared: weakref.WeakSet[type] = weakref.WeakSet()


def is_instance_style(cls: type) -> bool:
    """Whether the class has a ``forward`` of its own that is an ordinary method."""
    return not _is_static(cls, "forward")


def _is_static(cls: type, name: str) -> bool:
    """Whether the method is called without an instance; ``inspect.getattr_static`` would be slow here."""
    method = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    return isinstance(method, (staticmethod, classmethod))


def prepare(cls: type) -> None:
    """Give the user's class what the engine looks for in a node.

    Nothing of it is seen by who uses the class. It stays after ``uninstall()``: graphs that were made before are
    differentiated as they would have been.
    """
    if cls in _prepared or cls.__module__ == Function.__module__:  # PyTorch's own (NestedIOFunction) are only bases
        return
    theirs: Any = cls
    theirs.apply = _Apply(inspect.getattr_static(cls, "apply"))
    theirs._forward_cls = _ForwardClass()  # noqa: SLF001
    theirs.apply_jvp = _no_forward_mode
    theirs._compiled_autograd_key = staticmethod(_no_compiled_autograd)  # noqa: SLF001
    if inspect.getattr_static(cls, "saved_variables") is inspect.getattr_static(Function, "saved_variables"):
        theirs.saved_variables = property(lambda node: node.saved_tensors)  # PyTorch's warns
    _prepared.add(cls)


class _Apply:
    """``apply``: of the class, what it was; of a node, its backward, for that is what the engine calls by this name."""

    def __init__(self, inner: Any) -> None:
        self.inner: Any = inner.inner if isinstance(inner, _Apply) else inner

    def __get__(self, node: Any, cls: type) -> Any:
        if node is None or node.needs_input_grad is None:
            return self.inner.__get__(node, cls)
        return lambda *grads: _backward(node, grads)


class _ForwardClass:
    """``_forward_cls``: the class itself; PyTorch's own nodes name theirs by this attribute."""

    def __get__(self, node: Any, cls: type) -> type:
        return cls


def _backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run the user's ``backward`` with grad mode off, and check what it returns."""
    owner = own_attributes(node)
    backward: Callable[..., Any] = owner.backward
    first = (owner,) if "backward" not in vars(owner) and _is_static(type(owner), "backward") else ()
    with torch.no_grad():
        result = backward(*first, *grads)
    results = _checked(node, result if isinstance(result, tuple) else (result,))
    return _not_twice(node, grads, results) if torch.is_grad_enabled() else results


def _checked(node: Any, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """One gradient for each input; more of them may only be None."""
    name, inputs = type(node).__name__, len(node.needs_input_grad)
    if len(results) < inputs or any(extra is not None for extra in results[inputs:]):
        raise OpwrightError(
            f"{name}.backward returned {_count(len(results))}\n"
            f"  expected:   {inputs}, one for each input of forward\n"
            "  likely fix: return None for an input that has none; more than there are inputs may only be None"
        )
    for place, grad in enumerate(results[:inputs], 1):
        if grad is not None and not isinstance(grad, torch.Tensor):
            raise OpwrightError(
                f"{name}.backward returned a {type(grad).__name__} as gradient {place}\n"
                "  expected:   a tensor or None\n"
                "  likely fix: return one value for each input, several of them as a tuple"
            )
    return results[:inputs]


def _count(number: int) -> str:
    return f"{number} gradient" if number == 1 else f"{number} gradients"


class _Link(Function):
    """Nothing, computed from a call's inputs: what depends on it depends on them."""

    @staticmethod
    def forward(_: Any, *inputs: torch.Tensor) -> torch.Tensor:
        return inputs[0].new_empty(0)

    @staticmethod
    def backward(*_: Any) -> Any:
        raise OpwrightError("an instance-style Function is not differentiable twice")


# Free after forward, as the slot in state.py is.
_SLOT = "non_differentiable"


def link_to(inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """What a second derivative goes through; it holds none of the inputs' memory."""
    connect: Any = _Link.apply
    link: torch.Tensor = connect(*(x for x in inputs if x.requires_grad))
    return link


def set_link(node: Any, link: torch.Tensor) -> None:
    """Keep it with the node."""
    setattr(node, _SLOT, link)


def _not_twice(node: Any, came_in: tuple[Any, ...], grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same gradients, which raise when somebody differentiates them.

    They depend on what came in, and may depend on the inputs by whatever backward took from the instance; were they not
    linked to both, a part of the second derivative could be missing in silence.
    """
    places = [place for place, grad in enumerate(grads) if grad is not None and _has_gradient(grad)]
    if not places:
        return grads
    text = (
        f"{type(node).__name__} is not differentiable twice\n"
        "  its backward is an instance's, and such a one runs with grad mode off\n"
        "  likely fix: make forward and backward static methods with a ctx argument"
    )
    links = [getattr(node, _SLOT), *(grad for grad in came_in if grad.requires_grad)]
    error = torch._C._functions.DelayedError(text.encode(), len(places) + len(links))  # noqa: SLF001
    raised: Any = error(*(grads[place].detach() for place in places), *links)
    wrapped = dict(zip(places, raised, strict=False))
    return tuple(wrapped.get(place, grad) for place, grad in enumerate(grads))


def _has_gradient(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _no_forward_mode(node: Any, *_: Any) -> Any:
    """Forward-mode AD asks for this."""
    raise UnsupportedError(
        f"{type(node).__name__}: an instance-style Function has no forward-mode derivative\n"
        "  likely fix: make forward and backward static methods with a ctx argument, and add jvp"
    )


def _no_compiled_autograd(*_: Any) -> Any:
    """Compiled autograd asks for this: it would trace a method that it can't know."""
    raise UnsupportedError(
        "compiled autograd can't run the backward of an instance-style Function\n"
        "  likely fix: leave torch._dynamo.config.compiled_autograd off, or make its methods static with a ctx argument"
    )
