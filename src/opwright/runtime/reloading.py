"""A namespace's operators, brought up to what its sources say now: what stays, what is new, what is retired."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from opwright.runtime.current import make_current, retire
from opwright.runtime.interface import KernelState, Provider
from opwright.runtime.operators import Registered, check_chain, overload_name, register
from opwright.runtime.registry import switch
from opwright.signature import DType, Signature
from opwright.signature.derive import jvp_name


@dataclass(frozen=True)
class _Chain:
    """An operator with its backward, the backward's backward, and so on, as they were registered."""

    signatures: tuple[Signature, ...]
    registered: tuple[Registered, ...]


# By namespace, first operator, and overload. PyTorch keeps them for ever; an edit that is taken back finds its own.
_CHAINS: dict[tuple[str, str, str], _Chain] = {}


def is_ours(namespace: str, name: str) -> bool:
    """Whether an operator of that name was ever registered there by us."""
    return any(
        space == namespace and name in {signature.name for signature in chain.signatures}
        for (space, _, _), chain in _CHAINS.items()
    )


def renew(
    namespace: str,
    current: Mapping[str, Registered],
    found: Sequence[Sequence[Signature]],
    providers: Mapping[str, Provider],
    then: Callable[[dict[str, Registered]], None],
) -> None:
    """Make the chains `found` the namespace's operators, in place of the `current` ones.

    A chain that was registered before, now or earlier, is used again; its kernels change hands by one store each. What
    is in use is compiled before anything changes.

    Args:
        namespace: below ``torch.ops``.
        current: the operators that it has now, by name.
        found: an operator, its backward, and so on, for each operator.
        providers: where each operator's machine code comes from.
        then: called with the new operators, by name, while nobody else can change any.

    Raises:
        SignatureError: a backward doesn't fit its forward.
        CompileError: a source doesn't compile. After either, everything is as it was.
    """
    for chain in found:  # all are judged before any is registered: what is registered stays
        check_chain(chain)
    for chain in found:
        if _key(namespace, chain, _forward_modes(chain, providers)) not in _CHAINS:
            _build_ahead(chain, current, providers)
    new: dict[str, Registered] = {}
    for chain in sorted(found, key=_forward_modes_first):
        known = _registered(namespace, chain, providers, _forward_modes(chain, new))
        new |= {each.kernel.signature.name: each for each in known.registered}

    def change_names() -> None:
        for op in (op for each in new.values() for op in each.forms):
            make_current(op)
        then(new)
        for name, each in current.items():
            if new.get(name) is not each:
                _retire(each, _farewell(namespace, each, current, new))

    switch({name: each.kernel for name, each in new.items()}, providers, change_names)


def _retire(registered: Registered, text: str) -> None:
    for op in registered.forms:
        retire(op, text)


def changes(before: Mapping[str, Registered], after: Mapping[str, Registered]) -> str:
    """What a reload did beyond new code: "; another signature: f; new: g; removed: h"; often nothing."""
    said = (
        ("another signature", [name for name in after if name in before and before[name] is not after[name]]),
        ("new", [name for name in after if name not in before]),
        ("removed", [name for name in before if name not in after]),
    )
    shown = [(what, list(filter(_is_public, names))) for what, names in said]
    return "".join(f"; {what}: {', '.join(names)}" for what, names in shown if names)


def _is_public(name: str) -> bool:
    return not name.startswith("_")


_Any = TypeVar("_Any")


def _forward_modes_first(chain: Sequence[Signature]) -> bool:
    """A sorting key: an operator is wired to its forward mode, which has to be there by then."""
    return not chain[0].name.startswith("_")


def _forward_modes(chain: Sequence[Signature], known: Mapping[str, _Any]) -> dict[str, _Any]:
    """Of what is known, the forward modes of a chain, by whose they are."""
    names = [signature.name for signature in chain]
    return {name: known[jvp_name(name)] for name in names if jvp_name(name) in known}


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
    """Compile an operator with another signature for the element types that it was used with."""
    for signature in chain:
        before = current.get(signature.name)
        for types, wanted, device in _in_use(before.kernel) if before else ():
            mine = {variable: types[variable] for variable in signature.type_variables if variable in types}
            allowed = all(dtype in signature.allowed(variable) for variable, dtype in mine.items())
            provider = providers[signature.name]
            if allowed and len(mine) == len(signature.type_variables) and device in provider.devices:
                provider.library(mine, wanted, device=device)


def _in_use(kernel: KernelState) -> list[tuple[dict[str, DType], int, str]]:
    return [(kernel.types(key), kernel.wanted(key), kernel.device(key)) for key in tuple(kernel.paths)]


def _farewell(namespace: str, old: Registered, current: Mapping[str, Registered], new: Mapping[str, Registered]) -> str:
    """What a call of an operator that was taken earlier says."""
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
        f"  likely fix:  take it again, from what load() returned or as torch.ops.{namespace}.{name}.default"
    )


def _change(name: str, each: str, current: Mapping[str, Registered], new: Mapping[str, Registered]) -> str:
    """What became of `each`, which `name` is or is wired to."""
    if each not in current or each not in new:
        return f"{each} was {'removed' if each in current else 'added'}"
    return "the signature has changed" if each == name else f"{each}'s signature has changed"


def _difference(name: str, current: Mapping[str, Registered], new: Mapping[str, Registered]) -> tuple[str, str, str]:
    """The first of an operator's chain whose signature isn't what it was: itself, or a relative that it is wired to."""
    root = name.split("_backward", maxsplit=1)[0]
    related = [name, *sorted(n for n in {*current, *new} if n == root or n.startswith(f"{root}_backward"))]
    for each in related:
        then = str(current[each].kernel.signature) if each in current else f"no {each}"
        now = str(new[each].kernel.signature) if each in new else f"no {each}"
        if then != now:
            return each, then, now
    return name, str(current[name].kernel.signature), str(new[name].kernel.signature)
