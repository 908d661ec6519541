"""Reloading of a namespace's operators: which ones are kept, added and retired.

PyTorch keeps a schema for the life of the process, so an operator whose signature changes gets another overload; what
Python finds is updated (packets.py). The dispatcher keeps every overload, so a graph that autograd recorded earlier
finds its backward.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from opwright.runtime.interface import KernelState, Provider
from opwright.runtime.register.kernels import switch
from opwright.runtime.register.operators import Registered, check_chain, register
from opwright.runtime.register.packets import make_current, refuse_calls
from opwright.runtime.torch_internals import OpOverload
from opwright.signature import DType, Signature
from opwright.signature.derivatives import overload_name
from opwright.signature.names import attribute_of, backward_of, forward_of, jvp_of, operator_of

if TYPE_CHECKING:
    from opwright.runtime.register.choosers import Chooser


@dataclass(frozen=True)
class _Chain:
    """An operator with its backward, the backward's backward, and so on, as they were registered."""

    signatures: tuple[Signature, ...]
    registered: tuple[Registered, ...]


# By namespace, first operator, and overload. PyTorch keeps them for ever; an edit that is undone reuses the old ones.
_CHAINS: dict[tuple[str, str, str], _Chain] = {}


@dataclass(frozen=True)
class Current:
    """The operators that a namespace has.

    Attributes:
        registered: by name.
        choosers: what chooses between the alternatives among them, by name.
    """

    registered: Mapping[str, Registered] = field(default_factory=dict)
    choosers: Mapping[str, Chooser] = field(default_factory=dict)

    @property
    def ops(self) -> dict[str, OpOverload]:
        """What users call, by name: the operators and their variants, and what chooses in place of alternatives."""
        named = {op: name for name, chooser in self.choosers.items() for op in chooser.ops}
        found = [(named.get(op, name), op) for name, op in self.all_ops.items()]
        return {name: self.choosers[name].op if op in named else op for name, op in found}

    @property
    def all_ops(self) -> dict[str, OpOverload]:
        """The operators and their variants, by name, also alternatives."""
        return {name: op for each in self.registered.values() for name, op in each.ops.items()}


def _choosers(registered: Mapping[str, Registered]) -> Mapping[str, Chooser]:
    if not any(each.kernel.signature.alternative for each in registered.values()):
        return {}
    from opwright.runtime.register.choosers import choosers

    return choosers(registered.values())


def is_ours(namespace: str, name: str) -> bool:
    """Return whether Opwright ever registered the operator, or another overload of it, in the namespace."""
    return any(
        space == namespace and operator_of(name) in {operator_of(known) for r in chain.registered for known in r.ops}
        for (space, _, _), chain in _CHAINS.items()
    )


def renew(
    namespace: str,
    current: Current,
    found: Sequence[Sequence[Signature]],
    providers: Mapping[str, Provider],
    then: Callable[[Current], None],
) -> None:
    """Replace the `current` operators of the namespace by the chains `found`.

    A chain that was registered at any time before is used again; each of its kernels is replaced by one store. All
    instances in use are compiled before anything changes.

    Args:
        namespace: the namespace below ``torch.ops``.
        current: the operators that it has now.
        found: for each operator, its signature, its backward's, and so on.
        providers: the provider of each operator's machine code.
        then: called with the new operators, while the lock is held.

    Raises:
        SignatureError: a backward doesn't fit its forward; nothing is changed.
        CompileError: a source doesn't compile; nothing is changed.
    """
    for chain in found:  # check all before registering any: a registration can't be undone
        check_chain(chain)
    for chain in found:
        if _key(namespace, chain, _forward_modes(chain, providers)) not in _CHAINS:
            _build_ahead(chain, current.registered, providers)
    new: dict[str, Registered] = {}
    for chain in sorted(found, key=_forward_modes_first):
        known = _registered(namespace, chain, providers, _forward_modes(chain, new))
        new |= {each.kernel.signature.name: each for each in known.registered}

    now = Current(new, _choosers(new))

    def change_names() -> None:
        """Make the new operators the current ones; calls of those that are no more are refused."""
        make_current(new.values(), now.choosers)
        then(now)
        operators = {*map(operator_of, now.ops)}
        for name, each in current.registered.items():
            if new.get(name) is not each:
                refuse_calls(each, _farewell(namespace, each, current.registered, new), operators)
        for name, chooser in current.choosers.items():
            if now.choosers.get(name) is not chooser:
                refuse_calls(chooser, _farewell_of_all(namespace, name, now.choosers.get(name)), operators)

    switch({name: each.kernel for name, each in new.items()}, providers, change_names)


def changes(before: Mapping[str, Registered], after: Mapping[str, Registered]) -> str:
    """Return the changes of a reload, other than code: "; another signature: f; new: g; removed: h"; often empty."""
    kinds = (
        ("another signature", [name for name in after if name in before and before[name] is not after[name]]),
        ("new", [name for name in after if name not in before]),
        ("removed", [name for name in before if name not in after]),
    )
    shown = [(what, list(filter(_is_public, names))) for what, names in kinds]
    return "".join(f"; {what}: {', '.join(names)}" for what, names in shown if names)


def _is_public(name: str) -> bool:
    return not name.startswith("_")


_Any = TypeVar("_Any")


def _forward_modes_first(chain: Sequence[Signature]) -> bool:
    """Return a sorting key that puts forward modes before the operators that they belong to."""
    return not chain[0].name.startswith("_")


def _forward_modes(chain: Sequence[Signature], known: Mapping[str, _Any]) -> dict[str, _Any]:
    """Return the chain's forward modes among `known`, by the name of the operator that each belongs to."""
    names = [signature.name for signature in chain]
    return {name: known[jvp_of(name)] for name in names if jvp_of(name) in known}


def _key(namespace: str, chain: Sequence[Signature], forward_modes: Container[str]) -> tuple[str, str, str]:
    return namespace, chain[0].name, overload_name(chain, forward_modes)


def _registered(
    namespace: str,
    chain: Sequence[Signature],
    providers: Mapping[str, Provider],
    forward_modes: Mapping[str, Registered],
) -> _Chain:
    key = _key(namespace, chain, forward_modes)
    if key not in _CHAINS:
        registered = register(namespace, chain, providers, forward_modes)
        _CHAINS[key] = _Chain(tuple(chain), tuple(registered))
    return _CHAINS[key]


def _build_ahead(
    chain: Sequence[Signature], current: Mapping[str, Registered], providers: Mapping[str, Provider]
) -> None:
    """Compile operators whose signature changed for the element types that they were used with."""
    for signature in chain:
        before = current.get(signature.name)
        for types, wanted, device in _in_use(before.kernel) if before else ():
            mine = {variable: types[variable] for variable in signature.type_variables if variable in types}
            allowed = signature.exists(mine)
            provider = providers[signature.name]
            if allowed and len(mine) == len(signature.type_variables) and device in provider.devices:
                provider.library(mine, wanted, device=device)


def _in_use(kernel: KernelState) -> list[tuple[dict[str, DType], int, str]]:
    return [(kernel.types(key), kernel.wanted(key), kernel.device(key)) for key in tuple(kernel.paths)]


def _farewell(namespace: str, old: Registered, current: Mapping[str, Registered], new: Mapping[str, Registered]) -> str:
    """Return the error of calling an operator that the user obtained before a reload."""
    name = old.kernel.signature.name
    if name not in new:
        return (
            f"{name}() was removed from its source, which was loaded again since this callable was taken\n"
            f"  it was:      {old.kernel.signature}\n"
            f"  now there:   {', '.join(filter(_is_public, new)) or 'nothing'}"
        )
    each, then, now = _difference(name, current, new)
    return (
        f"{name}(): {_change(name, each, current, new)} since this callable was taken; its source was loaded again\n"
        f"  then:        {then}\n"
        f"  now:         {now}\n"
        f"  likely fix:  take it again, from what load() returned or as torch.ops.{namespace}."
        f"{operator_of(name)}.{attribute_of(name)}"
    )


def _farewell_of_all(namespace: str, name: str, new: Chooser | None) -> str:
    """Return the error of calling what chose between alternatives, before a reload changed these."""
    if new is None:
        then = "it has no alternatives any more"
    else:
        then = "".join(f"\n  now:         {each}" for each in new.choice.signatures)
        then = f"its alternatives have changed{then}"
    return (
        f"{name}(): its source was loaded again since this callable was taken: {then}\n"
        f"  likely fix:  take it again, from what load() returned or as torch.ops.{namespace}."
        f"{operator_of(name)}.{attribute_of(name)}"
    )


def _change(name: str, each: str, current: Mapping[str, Registered], new: Mapping[str, Registered]) -> str:
    """Return a description of the change of `each`, which is `name` itself or an operator of its chain."""
    if each not in current or each not in new:
        return f"{each} was {'removed' if each in current else 'added'}"
    return "the signature has changed" if each == name else f"{each}'s signature has changed"


def _difference(name: str, current: Mapping[str, Registered], new: Mapping[str, Registered]) -> tuple[str, str, str]:
    """Return the first operator of the chain whose signature has changed, its old signature, and its new one."""
    root = name
    while forward := forward_of(root):
        root = forward
    chain, known = [root], {*current, *new}
    while backward_of(chain[-1]) in known:
        chain.append(backward_of(chain[-1]))
    related = [name, *(each for each in chain if each in known)]
    for each in related:
        then = str(current[each].kernel.signature) if each in current else f"no {each}"
        now = str(new[each].kernel.signature) if each in new else f"no {each}"
        if then != now:
            return each, then, now
    return name, str(current[name].kernel.signature), str(new[name].kernel.signature)
