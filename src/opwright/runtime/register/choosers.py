"""Registration of what chooses between alternatives (:mod:`opwright.signature.alternatives`): one operator for all.

Its kernel is composite: it looks at the element types and ranks of the arguments, and calls the alternative that they
fit. So autograd, fake tensors, tracing, vmap and autocast see that alternative, an operator like any other. Variants
(``f.out``, ``f_``) of alternatives, and backwards that are called by hand, are chosen the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import torch

from opwright.runtime.alternatives import chosen, none_fits
from opwright.runtime.interface import Operator
from opwright.runtime.register.call_errors import explain_calls
from opwright.runtime.register.definitions import define
from opwright.runtime.register.kernels import started_runtime
from opwright.runtime.register.operators import Registered, library_of
from opwright.runtime.register.python_numbers import WithNumbers, takes_numbers
from opwright.runtime.torch_internals import OpOverload, call_of, schema_of, set_call
from opwright.signature import Signature
from opwright.signature.alternatives import Alternatives, overlap
from opwright.signature.derivatives import overload_with_name
from opwright.signature.names import operator_of


@dataclass(frozen=True)
class Chooser:
    """The operator that chooses between alternatives.

    Attributes:
        choice: the alternatives, and what decides.
        signatures: theirs, or those of their variants, with the name that callers use.
        ops: the operator of each.
        op: the operator that chooses.
        run: it in the form that the runtime uses.
    """

    choice: Alternatives
    signatures: tuple[Signature, ...]
    ops: tuple[OpOverload, ...]
    op: OpOverload
    run: Operator


_CHOOSERS: dict[str, Chooser] = {}
"""All that were ever made, by their qualified names."""


class _Alternative(NamedTuple):
    """An alternative, or a variant of one.

    Attributes:
        signature: the alternative's signature, which decides.
        own: its own.
        op: its operator.
        run: that in the form that the runtime uses; None for a variant.
    """

    signature: Signature
    own: Signature
    op: OpOverload
    run: Operator | None


def choosers(registered: Iterable[Registered]) -> dict[str, Chooser]:
    """Return what chooses between the alternatives among a namespace's operators, by name; register what is new."""
    by_name: dict[str, list[_Alternative]] = {}
    for name, each in (pair for one in registered for pair in _alternatives(one)):
        by_name.setdefault(name, []).append(each)
    return {name: _chooser(name, each) for name, each in by_name.items() if _can_be_chosen(each)}


def _alternatives(registered: Registered) -> Iterator[tuple[str, _Alternative]]:
    signature = registered.kernel.signature
    if not signature.alternative or signature.name.startswith("_"):
        return
    yield signature.shown_name, _Alternative(signature, signature, registered.op, registered.run)
    for variant in registered.variants.values():
        yield variant.signature.shown_name, _Alternative(signature, variant.signature, variant.op, None)


def _can_be_chosen(found: list[_Alternative]) -> bool:
    """Return whether there is one operator for them: not for backwards that are given different sizes."""
    schemas = {_arguments(each.op) for each in found}
    return len(found) > 1 and len(schemas) == 1 and not overlap([each.signature for each in found])


def _arguments(op: OpOverload) -> str:
    return str(schema_of(op)).partition("(")[2]


def _chooser(name: str, found: list[_Alternative]) -> Chooser:
    ops = tuple(each.op for each in found)
    names = "\n".join(sorted(op.name() for op in ops))
    overload = overload_with_name("sig_" + sha256(names.encode()).hexdigest()[:12], name)
    qualified = f"{ops[0].namespace}::{operator_of(name)}.{overload}"
    if qualified not in _CHOOSERS:
        choice = Alternatives([each.signature for each in found], name)
        tags = [tag for tag in torch.Tag.__members__.values() if any(tag in op.tags for op in ops)]
        text = f"{operator_of(name)}.{overload}({_arguments(ops[0])}"
        op = define(library_of(ops[0].namespace), operator_of(name), overload, text, tags)
        run = started_runtime().add_chooser(op, choice, [(each.op, each.run) for each in found])
        signatures = tuple(each.own.as_written.replaced(name=name) for each in found)
        _CHOOSERS[qualified] = Chooser(choice, signatures, ops, op, run)
        explain_calls(op, *signatures)
        _accept_numbers(op, choice)
    return _CHOOSERS[qualified]


def _accept_numbers(op: OpOverload, choice: Alternatives) -> None:
    """Let calls have numbers for tensors and lists, if an alternative takes them."""
    if any(map(takes_numbers, choice.signatures)) and call_of(op) is not op:
        set_call(op, _ChosenWithNumbers(call_of(op), choice))


class _ChosenWithNumbers(WithNumbers):
    """Numbers in calls of an operator that chooses: alternatives make different tensors of them."""

    def __init__(self, call: Callable[..., Any], choice: Alternatives) -> None:
        """Wrap `call`, which chooses."""
        self._call, self._choice = call, choice
        self._each = [WithNumbers(call, each) if takes_numbers(each) else None for each in choice.signatures]
        self.__module__ = call.__module__

    def converted(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]] | None:
        """Return the arguments as the alternative takes them that they then fit; None if there are no numbers."""
        names = [param.name for param in self._choice.signatures[0].inputs]
        refused: dict[str, Any] = {}
        for number, each in enumerate(self._each):
            found = each.converted(args, kwargs) if each else None
            values = {**dict(zip(names, found[0], strict=False)), **found[1]} if found else {}
            if found and chosen(self._choice, values) == number:
                return found
            refused = refused or values
        if refused:
            raise none_fits(self._choice, refused)
        return None
