"""The autograd node of a Function instance's call, and each call's attributes.

PyTorch's node and its Python object are one, and a node belongs to one call. So the instance itself is the node of its
first call that needs a gradient; every other call runs on a *twin*: an object of the same class with a copy of the
instance's attributes. A second call therefore can't spoil the first one's backward. After a call, instance and twin
share one ``__dict__``: the instance shows the attributes that the last call left, and that call's backward sees
attributes set on the instance later. The attributes of the previous call stay with its node; its numbers and strings
get back the values that its forward left, because a value set before the next call is meant for that next call.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import Function

from opwright.errors import OpwrightError, UnsupportedError
from opwright.runtime.torch_internals import before_compiled_autograd, set_forward_class

# The C struct of a Function keeps mark_dirty's arguments in this slot until forward is over, and doesn't use it later.
# Unlike a table of ours, the slot is seen by the garbage collector: attributes may hold results, and these the node.
_CALLS_SLOT = "dirty_tensors"
_PLAIN = (bool, int, float, complex, str, bytes, type(None))

_saved_tensors: Any = Function.saved_tensors
_lock = threading.Lock()
_running: set[int] = set()


class _Calls:
    """The attributes recorded for an instance that has been called."""

    __slots__ = ("left", "own")

    def __init__(self, left: dict[str, Any], own: dict[str, Any] | None) -> None:
        self.left = left  # the plain attributes after the last call
        self.own = own  # all attributes of the call whose node the instance is, set once there was another call


def start(instance: Any, *, differentiable: bool) -> Any:
    """Return the node for a call of ``instance``: the instance, if it isn't another call's node yet, or a twin."""
    with _lock:
        # needs_input_grad is None until PyTorch has made the object the node of a call.
        if differentiable and instance.needs_input_grad is None and id(instance) not in _running:
            _running.add(id(instance))
            setattr(instance, _CALLS_SLOT, None)
            return instance
    return _twin(instance, dict(vars(instance)))


def finish(instance: Any, node: Any, *, succeeded: bool) -> None:
    """Finish a call: the instance gets the attributes that the call left."""
    with _lock:
        if node is instance:
            _running.discard(id(instance))
        elif id(instance) in _running:
            return  # the instance's first call is still running, in another thread or around this call
        if succeeded:
            _show(instance, node)


def _show(instance: Any, node: Any) -> None:
    """Set the instance's attributes to the node's; the previous call keeps its own."""
    calls = getattr(instance, _CALLS_SLOT)
    own = calls.own if isinstance(calls, _Calls) else None
    if node is not instance:
        before = vars(instance)
        if isinstance(calls, _Calls):
            before.update(calls.left)
        if own is None and instance.needs_input_grad is not None:
            own = before
        object.__setattr__(instance, "__dict__", vars(node))
    setattr(instance, _CALLS_SLOT, _Calls({key: x for key, x in vars(node).items() if isinstance(x, _PLAIN)}, own))


def own_attributes(node: Any) -> Any:
    """Return the object whose ``backward`` runs: the node, or a twin with the attributes of the node's own call.

    Raises:
        RuntimeError: The graph was freed by an earlier backward.
    """
    calls = getattr(node, _CALLS_SLOT)
    if not isinstance(calls, _Calls) or calls.own is None:
        return node
    twin = _twin(node, calls.own)
    twin.needs_input_grad = node.needs_input_grad
    twin.saved_for_forward = _saved_tensors.__get__(node)  # the twin's saved_tensors returns these
    return twin


def _twin(instance: Any, attributes: dict[str, Any]) -> Any:
    """Make a new object of the instance's class, with these attributes."""
    twin = Function.__new__(type(instance))
    object.__setattr__(twin, "__dict__", attributes)
    return twin


_prepared: weakref.WeakSet[type] = weakref.WeakSet()


def is_instance_style(cls: type) -> bool:
    """Return whether the class's ``forward`` is an ordinary method, neither static nor a class method."""
    return not _is_static(cls, "forward")


def _is_static(cls: type, name: str) -> bool:
    """Return whether the method is called without an instance; ``inspect.getattr_static`` would be slow here."""
    method = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    return isinstance(method, (staticmethod, classmethod))


def prepare(cls: type) -> None:
    """Add the attributes that the engine expects of a node to the user's class.

    Users of the class don't notice them. They remain after ``uninstall()``, so that existing graphs can still be
    differentiated.
    """
    if cls in _prepared or cls.__module__ == Function.__module__:  # PyTorch's own (NestedIOFunction) are base classes
        return
    node_class: Any = cls
    node_class.apply = _Apply(inspect.getattr_static(cls, "apply"))
    set_forward_class(cls, _ForwardClass())
    node_class.apply_jvp = _no_forward_mode
    before_compiled_autograd(cls, _no_compiled_autograd)
    if inspect.getattr_static(cls, "saved_variables") is inspect.getattr_static(Function, "saved_variables"):
        node_class.saved_variables = property(lambda node: node.saved_tensors)  # PyTorch's version warns
    _prepared.add(cls)


class _Apply:
    """``apply``: for the class, the original; for a node, its backward, which the engine calls by this name."""

    def __init__(self, inner: Any) -> None:
        self.inner: Any = inner.inner if isinstance(inner, _Apply) else inner

    def __get__(self, node: Any, cls: type) -> Any:
        if node is None or node.needs_input_grad is None:
            return self.inner.__get__(node, cls)
        return lambda *grads: _backward(node, grads)


class _ForwardClass:
    """``_forward_cls``: the class itself. PyTorch's nodes find their Function by this attribute."""

    def __get__(self, node: Any, cls: type) -> type:
        return cls


def _backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run the user's ``backward`` with grad mode off, and check its results."""
    owner = own_attributes(node)
    backward: Callable[..., Any] = owner.backward
    first = (owner,) if "backward" not in vars(owner) and _is_static(type(owner), "backward") else ()
    with torch.no_grad():
        result = backward(*first, *grads)
    results = _checked(node, result if isinstance(result, tuple) else (result,))
    return _not_twice(node, grads, results) if torch.is_grad_enabled() else results


def _checked(node: Any, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """Check that there is one gradient per input; extra values must be None."""
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
    """An empty tensor computed from a call's inputs: a tensor that depends on the link depends on the inputs."""

    @staticmethod
    def forward(_: Any, *inputs: torch.Tensor) -> torch.Tensor:
        return inputs[0].new_empty(0)

    @staticmethod
    def backward(*_: Any) -> Any:
        raise OpwrightError("an instance-style Function is not differentiable twice")


class _Refused(Function):
    """The identity, with a backward that raises: marks gradients as not differentiable again."""

    @staticmethod
    def forward(ctx: Any, text: str, *tensors: torch.Tensor) -> Any:
        ctx.text = text
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(ctx.text)


# Like `_CALLS_SLOT`, this slot is free after forward.
_LINK_SLOT = "non_differentiable"


def link_to(inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """Return the link through which a second derivative reaches the inputs; it doesn't keep their memory alive."""
    connect: Any = _Link.apply
    link: torch.Tensor = connect(*(x for x in inputs if x.requires_grad))
    return link


def set_link(node: Any, link: torch.Tensor) -> None:
    """Store the link in the node."""
    setattr(node, _LINK_SLOT, link)


def _not_twice(node: Any, came_in: tuple[Any, ...], grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the same gradients, in a form that raises when differentiated.

    The gradients depend on `came_in`, and may depend on the inputs through the instance's attributes. Without a link to
    both, a part of the second derivative could be missing without an error.
    """
    places = [place for place, grad in enumerate(grads) if grad is not None and _has_gradient(grad)]
    if not places:
        return grads
    text = (
        f"{type(node).__name__} is not differentiable twice\n"
        "  its backward is an instance's, and such a one runs with grad mode off\n"
        "  likely fix: make forward and backward static methods with a ctx argument"
    )
    links = [getattr(node, _LINK_SLOT), *(grad for grad in came_in if grad.requires_grad)]
    refused: Any = _Refused.apply
    raised = refused(text, *(grads[place].detach() for place in places), *links)
    wrapped = dict(zip(places, raised, strict=False))
    return tuple(wrapped.get(place, grad) for place, grad in enumerate(grads))


def _has_gradient(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _no_forward_mode(node: Any, *_: Any) -> Any:
    """Raise: there is no forward-mode derivative."""
    raise UnsupportedError(
        f"{type(node).__name__}: an instance-style Function has no forward-mode derivative\n"
        "  likely fix: make forward and backward static methods with a ctx argument, and add jvp"
    )


def _no_compiled_autograd(*_: Any) -> Any:
    """Raise: compiled autograd calls this, but can't trace an instance's method."""
    raise UnsupportedError(
        "compiled autograd can't run the backward of an instance-style Function\n"
        "  likely fix: leave torch._dynamo.config.compiled_autograd off, or make its methods static with a ctx argument"
    )
