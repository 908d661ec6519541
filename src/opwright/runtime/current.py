"""Which overload an operator's plain name stands for, and what becomes of the one before.

PyTorch keeps a schema for the life of the process, so an operator whose signature changes gets another overload. What
is renewed here is Python's side: ``torch.ops.ns.foo``, its ``default``, and the callables that somebody took earlier.
The dispatcher still has every overload: a graph that autograd recorded earlier finds its backward there.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import torch

from opwright.errors import OpwrightError


class _StandIn:
    """Called in place of PyTorch's own function; packets and overloads take their hash from it, so it keeps that."""

    def __init__(self, call: Callable[..., Any], instead_of: Callable[..., Any]) -> None:
        self.call, self.original = call, instead_of
        self.__module__ = instead_of.__module__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self.original)

    def __eq__(self, other: object) -> bool:
        return self is other


def _original(function: Callable[..., Any]) -> Callable[..., Any]:
    return function.original if isinstance(function, _StandIn) else function


def make_current(op: torch._ops.OpOverload) -> None:
    """Let ``torch.ops.ns.foo`` and ``torch.ops.ns.foo.default`` be `op`; one that was retired runs again."""
    packet: Any = op._overloadpacket  # noqa: SLF001 - PyTorch has no public way to any of this
    op._op = _original(op._op)  # noqa: SLF001
    packet.default = op  # the name by which everybody looks for an operator's only overload
    # torch.compile's caches know a call of the packet by this name alone, so it has to tell the signature; a pickled
    # graph finds the packet by it.
    packet.__name__ = op.__name__.replace(".", "_")
    setattr(getattr(torch.ops, op.namespace), packet.__name__, packet)
    if packet._overload_names != [op._overloadname] or isinstance(packet._op, _StandIn):  # noqa: SLF001
        # The packet's own function would try every overload that there ever was.
        packet._op = _StandIn(op._op, _original(packet._op))  # noqa: SLF001
        packet._overload_names = [op._overloadname]  # noqa: SLF001


def retire(op: torch._ops.OpOverload, text: str) -> None:
    """Let every call of `op` from Python raise OpwrightError(`text`), by its name too if nobody else has that now."""

    def refuse(*_args: Any, **_kwargs: Any) -> None:
        raise OpwrightError(text)

    packet: Any = op._overloadpacket  # noqa: SLF001
    op._op = _StandIn(refuse, _original(op._op))  # noqa: SLF001
    if packet.default is op:
        packet._op = _StandIn(refuse, _original(packet._op))  # noqa: SLF001


@contextlib.contextmanager
def unnoticed(packet: Any) -> Any:
    """Let a definition of another overload change nothing about the packet of its operator, if there is one."""
    before = None if packet is None else (packet._op, packet._overload_names)  # noqa: SLF001
    try:
        yield
    finally:
        if before:
            packet._op, packet._overload_names = before  # noqa: SLF001


def traced(op: torch._ops.OpOverload, rule: Callable[..., Any]) -> Callable[..., Any]:
    """The fake kernel `rule`; a graph of torch.compile's that it helps to trace is good only while `op` is current."""

    def fake(*args: Any, **kwargs: Any) -> Any:
        if "torch._dynamo.guards" in sys.modules:
            _guard(op)
        return rule(*args, **kwargs)

    return fake


def _guard(op: torch._ops.OpOverload) -> None:
    """Have the graph that is being traced compare ``torch.ops.ns.foo.default``'s overload at each call.

    Dynamo does so by itself for ``ops.foo``, but takes what it finds in ``torch.ops`` for constant. Should its
    interface change, the old graph calls a retired operator, which says so.
    """
    with contextlib.suppress(ImportError, AttributeError, TypeError):
        from torch._dynamo.guards import GuardBuilder, install_guard
        from torch._dynamo.source import AttrSource, ImportSource
        from torch._guards import TracingContext

        if TracingContext.try_get() is None:
            return
        source: Any = ImportSource("torch")
        for name in ("ops", *op._schema.name.split("::"), "default", "_overloadname"):  # noqa: SLF001
            source = AttrSource(source, name)
        install_guard(source.make_guard(GuardBuilder.EQUALS_MATCH))
