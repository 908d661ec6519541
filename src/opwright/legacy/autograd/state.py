"""Which attributes a call of an instance sees, so that a second call never spoils the first one's backward.

PyTorch's node and its Python object are one and the same, and a node belongs to one call. So the instance itself is the
node of its first call that needs a gradient; every other call runs on a *twin*: an object of the same class, with a
copy of the instance's attributes. When the call is over, instance and twin share one ``__dict__``: the instance shows
what the last call left, and what is set on it before backward is seen there, as ever. What the call before had in that
place stays with its node, numbers and texts as its forward left them: who sets one and calls again means that call.
"""

from __future__ import annotations

import threading
from typing import Any

from torch.autograd import Function

__all__ = ["finish", "own_attributes", "start"]

# The C struct of a Function keeps mark_dirty's arguments there until forward is over. After that the slot is free, and,
# unlike a table of ours, it is seen by the garbage collector: attributes may well hold results, and these the node.
_SLOT = "dirty_tensors"
_PLAIN = (bool, int, float, complex, str, bytes, type(None))

_saved_tensors: Any = Function.saved_tensors
_lock = threading.Lock()
_running: set[int] = set()


class _Calls:
    """What is known of an instance that has been called."""

    __slots__ = ("left", "own")

    def __init__(self, left: dict[str, Any], own: dict[str, Any] | None) -> None:
        self.left = left  # the plain attributes after the last call
        self.own = own  # all attributes of the call whose node the instance is, once there was another


def start(instance: Any, *, differentiable: bool) -> Any:
    """The node for a call of ``instance``: itself, if it is free to be one, or a twin."""
    with _lock:
        # needs_input_grad is None until PyTorch has made the object the node of a call.
        if differentiable and instance.needs_input_grad is None and id(instance) not in _running:
            _running.add(id(instance))
            setattr(instance, _SLOT, None)
            return instance
    return _twin(instance, dict(vars(instance)))


def finish(instance: Any, node: Any, *, succeeded: bool) -> None:
    """The call is over: the instance shows what it left."""
    with _lock:
        if node is instance:
            _running.discard(id(instance))
        elif id(instance) in _running:
            return  # its first call isn't over, in another thread or around this one
        if succeeded:
            _show(instance, node)


def _show(instance: Any, node: Any) -> None:
    """From now on the instance's attributes are the node's; those of the call before stay with that."""
    calls = getattr(instance, _SLOT)
    own = calls.own if isinstance(calls, _Calls) else None
    if node is not instance:
        before = vars(instance)
        if isinstance(calls, _Calls):
            before.update(calls.left)
        if own is None and instance.needs_input_grad is not None:
            own = before
        object.__setattr__(instance, "__dict__", vars(node))
    setattr(instance, _SLOT, _Calls({key: x for key, x in vars(node).items() if isinstance(x, _PLAIN)}, own))


def own_attributes(node: Any) -> Any:
    """The object whose ``backward`` is to run: the node, or one with the attributes of the node's own call.

    Raises:
        RuntimeError: The graph was freed by an earlier backward.
    """
    calls = getattr(node, _SLOT)
    if not isinstance(calls, _Calls) or calls.own is None:
        return node
    twin = _twin(node, calls.own)
    twin.needs_input_grad = node.needs_input_grad
    twin.saved_for_forward = _saved_tensors.__get__(node)  # what the twin's saved_tensors returns
    return twin


def _twin(instance: Any, attributes: dict[str, Any]) -> Any:
    """A new object of the instance's class, with these attributes."""
    twin = Function.__new__(type(instance))
    object.__setattr__(twin, "__dict__", attributes)
    return twin
