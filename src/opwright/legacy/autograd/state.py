"""Which attributes a call of an instance sees, so that a second call never spoils the first one's backward.

PyTorch's node and its Python object are one and the same, and a node belongs to one call. So the instance itself is the
node of its first call that needs a gradient; every other call runs on a *twin*: an object of the same class, with a
copy of the instance's attributes. When the call is over, instance and twin share one ``__dict__``: the instance shows
what the last call left, and what is set on it before backward is seen there, as ever. The attributes of the call
before stay with that call's node.
"""

from __future__ import annotations

import threading
from typing import Any

from torch.autograd import Function

__all__ = ["finish", "own_attributes", "start"]

# The C struct of a Function keeps mark_dirty's arguments there until forward is over. After that the slot is free,
# and unlike a table of ours it is seen by the garbage collector: attributes may well hold results, and these the node.
_SLOT = "dirty_tensors"

_lock = threading.Lock()
_running: set[int] = set()


class _Own(tuple[dict[str, Any]]):
    """The attributes of a node whose instance has been called again."""

    __slots__ = ()


def start(instance: Any, *, differentiable: bool) -> Any:
    """The node for a call of ``instance``: itself, if it is free to be one, or a twin."""
    with _lock:
        # needs_input_grad is None until PyTorch has made the object the node of a call.
        if differentiable and instance.needs_input_grad is None and id(instance) not in _running:
            _running.add(id(instance))
            return instance
    return _twin(instance, dict(vars(instance)))


def finish(instance: Any, node: Any, *, succeeded: bool) -> None:
    """The call is over: the instance shows what it left."""
    with _lock:
        if node is instance:
            _running.discard(id(instance))
        elif succeeded and id(instance) not in _running:
            _share(instance, node)


def _share(instance: Any, twin: Any) -> None:
    """From now on the instance's attributes are the twin's; those of its own call stay with that."""
    if instance.needs_input_grad is not None and not isinstance(getattr(instance, _SLOT), _Own):
        setattr(instance, _SLOT, _Own((vars(instance),)))
    object.__setattr__(instance, "__dict__", vars(twin))


def own_attributes(node: Any) -> Any:
    """The object whose ``backward`` is to run: the node, or one with the attributes of the node's own call.

    Raises:
        RuntimeError: The graph was freed by an earlier backward.
    """
    own = getattr(node, _SLOT)
    if not isinstance(own, _Own):
        return node
    twin = _twin(node, own[0])
    twin.needs_input_grad = node.needs_input_grad
    twin.saved_for_forward = _BaseTensors.__get__(node)  # what saved_tensors then returns
    return twin


_BaseTensors: Any = Function.saved_tensors


def _twin(instance: Any, attributes: dict[str, Any]) -> Any:
    """A new object of the instance's class, with these attributes."""
    cls = type(instance)
    twin = Function.__new__(cls)
    object.__setattr__(twin, "__dict__", attributes)
    return twin
