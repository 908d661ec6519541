"""What Python finds of operators: packets (``torch.ops.ns.foo``) with their overloads, and what calls of them run.

The dispatcher keeps every overload that was ever defined. Here ``torch.ops.ns.foo`` and its attributes become those of
the overloads that are current, and calls of all others raise.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from opwright.errors import ArgumentError, OpwrightError
from opwright.runtime.interface import KernelState, Operator
from opwright.runtime.register.call_errors import problem_of
from opwright.runtime.register.flops import count_flops
from opwright.runtime.register.kernels import started_runtime
from opwright.runtime.register.operators import Registered
from opwright.runtime.register.python_numbers import WithNumbers
from opwright.runtime.torch_internals import (
    OpOverload,
    OpOverloadPacket,
    call_of,
    overloads_of,
    set_call,
    set_overloads,
)
from opwright.signature import Signature
from opwright.signature.names import attribute_of, operator_of, recorded_attribute_of

if TYPE_CHECKING:
    from opwright.runtime.register.choosers import Chooser


class _StandIn:
    """A replacement for PyTorch's own function; it keeps the hash, from which packets and overloads take theirs."""

    def __init__(self, call: Callable[..., Any], instead_of: Callable[..., Any]) -> None:
        self.call, self.original = call, instead_of
        self.__module__ = instead_of.__module__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self.original)

    def __eq__(self, other: object) -> bool:
        return self is other


def _original(function: Callable[..., Any]) -> Callable[..., Any]:
    return function.original if isinstance(function, _StandIn) else function


class _Overload(NamedTuple):
    """An overload of a packet.

    Attributes:
        name: the author's name for it, with the operator's.
        signatures: its signature; those of all alternatives, if it chooses between them.
        op: the operator.
        recorded: what runs in its place while a gradient is recorded.
        run: the operator in the form that the runtime uses; None if PyTorch's dispatcher runs all calls.
    """

    name: str
    signatures: Sequence[Signature]
    op: OpOverload
    recorded: OpOverload
    run: Operator | None


def _overloads(registered: Registered) -> Iterator[_Overload]:
    signature = registered.kernel.signature
    yield _Overload(signature.name, [signature.as_written], registered.op, registered.recorded, registered.run)
    for name, each in registered.variants.items():
        yield _Overload(name, [each.signature], each.op, each.op, None)


def _choosing(name: str, chooser: Chooser) -> _Overload:
    """Return what chooses as an overload; the alternatives are its attributes, by the names that they have as such."""
    for signature, op in zip(chooser.choice.signatures, chooser.ops, strict=True):
        setattr(chooser.op, signature.alternative, op)
    return _Overload(name, chooser.signatures, chooser.op, chooser.op, chooser.run)


def make_current(registered: Iterable[Registered], choosers: Mapping[str, Chooser]) -> None:
    """Make ``torch.ops.ns.foo`` and its attributes call these operators, also ones that were retired.

    Args:
        registered: all operators of a namespace, or of some of its packets; the overloads of one in the order in which
            calls of the packet try them.
        choosers: what chooses between the alternatives among them, by name. Calls of the packet try it, and not them.
    """
    by_operator: dict[str, list[_Overload]] = {}
    waiting = dict(choosers)
    among = {op: name for name, chooser in choosers.items() for op in chooser.ops}
    for each in (overload for one in registered for overload in _overloads(one)):
        _make_overload_current(each)
        name = among.get(each.op)
        tried = each if name is None else _choosing(name, waiting.pop(name)) if name in waiting else None
        if tried is not None:  # for alternatives, once
            by_operator.setdefault(operator_of(each.name), []).append(tried)
        if tried is not None and tried is not each:
            _make_overload_current(tried)
    for overloads in by_operator.values():
        _make_packet_current(overloads)
    _count_flops(registered)


def _count_flops(registered: Iterable[Registered]) -> None:
    by_packet: dict[OpOverloadPacket, list[tuple[OpOverload, Signature, KernelState]]] = {}
    for one in registered:
        for each in _overloads(one):
            by_packet.setdefault(each.op.overloadpacket, []).append((each.op, each.signatures[0], one.kernel))
    for packet, overloads in by_packet.items():
        count_flops(packet, overloads)


def _make_overload_current(each: _Overload) -> None:
    for form in (each.op, each.recorded):
        if isinstance(call := call_of(form), _StandIn):
            set_call(form, call.original)
    started_runtime().call_directly(each.op, each.run)
    packet = each.op.overloadpacket
    setattr(packet, attribute_of(each.name), each.op)
    setattr(packet, recorded_attribute_of(each.name), each.recorded)


def _make_packet_current(overloads: Sequence[_Overload]) -> None:
    ops = [each.op for each in overloads]
    packet: Any = ops[0].overloadpacket
    # PyTorch tries overloads in order: where the arguments are the first one's, as they are, it would take that one.
    started_runtime().call_directly(packet, overloads[0].run)
    # torch.compile's caches identify a call of the packet by this name alone, so it has to be unique to the signatures;
    # a pickled graph finds the packet by it.
    packet.__name__ = _name(ops)
    setattr(getattr(torch.ops, ops[0].namespace), packet.__name__, packet)
    names, own = [op.name().partition(".")[2] for op in ops], call_of(packet)
    if len(ops) > 1:
        set_call(packet, _StandIn(_FirstThatFits(overloads), _original(own)))
        set_overloads(packet, names)
    elif overloads_of(packet) != names or isinstance(call_of(ops[0]), WithNumbers) or isinstance(own, _StandIn):
        # The packet's own function would try every overload that was ever defined.
        set_call(packet, _StandIn(call_of(ops[0]), _original(own)))
        set_overloads(packet, names)


def _name(ops: Sequence[OpOverload]) -> str:
    names = [op.__name__.replace(".", "_") for op in ops]
    if len(names) == 1:
        return names[0]
    return f"{ops[0].name().partition('::')[2].partition('.')[0]}_sig_{sha256(repr(names).encode()).hexdigest()[:12]}"


class _FirstThatFits:
    """What calling a packet with several overloads runs: the first one whose schema has a place for the arguments."""

    def __init__(self, overloads: Sequence[_Overload]) -> None:
        self._overloads = [(each.op, each.signatures) for each in overloads]
        self._known: dict[Any, OpOverload] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        types = (*map(type, args), *map(type, kwargs.values()))
        key = (types, *kwargs)
        op = self._known.get(key)
        if op is None:
            op = self._find(args, kwargs)
            if _OF_ONE_KIND.issuperset(types):
                self._known[key] = op
        return op(*args, **kwargs)

    def _find(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> OpOverload:
        found: list[tuple[str, Signature]] = []
        for op, signatures in self._overloads:
            problems = [problem_of(signature, op, args, kwargs) for signature in signatures]
            if None in problems:
                return op
            found += [(str(problem), each) for problem, each in zip(problems, signatures, strict=True)]
        told = [f"\n  {problem}\n    signature:  {signature}" for problem, signature in found]
        name, count = operator_of(found[0][1].name), len(self._overloads)
        raise ArgumentError(f"{name}(): the arguments fit none of its {count} overloads{''.join(told)}")


_OF_ONE_KIND = frozenset({torch.Tensor, torch.nn.Parameter, float, int, bool, str, type(None)})
"""Types of which each value fits into the same schemas, so that what was found for one holds for all."""


def refuse_calls(registered: Registered | Chooser, text: str, current: Container[str]) -> None:
    """Make every call of an operator and its variants from Python raise OpwrightError(`text`).

    `current`: the operators, without overloads, that are there; calls of other packets raise, too.
    """

    def refuse(*_args: Any, **_kwargs: Any) -> None:
        raise OpwrightError(text)

    several = _overloads(registered) if isinstance(registered, Registered) else [_choosing("", registered)]
    for each in several:
        ops = list(dict.fromkeys((each.op, each.recorded)))
        name = operator_of(each.op.name().partition("::")[2])
        targets: list[Any] = [*ops, *[each.op.overloadpacket] * (name not in current)]
        for target in targets:
            started_runtime().call_directly(target, None)
            set_call(target, _StandIn(refuse, _original(call_of(target))))
