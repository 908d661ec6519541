"""The signatures of the derivatives that follow from a pointwise operator's body.

Reverse mode: ``f(x: T, y: T) -> (z: T)`` gives ``f_backward(grad_z: T?, x: T, y: T) -> (grad_x: T, grad_y: T)``, whose
own backward is derived in turn. Forward mode: ``_f_jvp(tangent_x: T?, tangent_y: T?, x: T, y: T) -> (tangent_z: T)``.
All are pointwise operators like any other: they work at the shape and type that the arguments broadcast and promote to,
and autograd reduces and casts what they return.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from opwright.errors import SignatureError
from opwright.signature.dtypes import DType
from opwright.signature.model import OLD, Param, ScalarParam, Signature, TensorParam
from opwright.signature.record import record
from opwright.signature.wiring import BACKWARD, GRAD, chains, may_be_differentiable

TANGENT = "tangent_"
JVP = "_jvp"
MAX_TENSORS = 64
"""How many tensors a kernel may have, results included: what the bits of ``strided`` in ``abi.h`` count."""
MAX_RESULTS, MAX_VARIABLES = 32, 4
"""Of a derived kernel: what the key of its instance has room for."""

Rule = Literal["vjp", "jvp"]


@record
class Derived:
    """An operator whose kernel is made of another one's body.

    Attributes:
        signature: its own signature.
        body: the operator whose function is differentiated.
        rules: how, from the inside out: ``("vjp", "jvp")`` is the forward mode of the backward.
    """

    signature: Signature
    body: Signature
    rules: tuple[Rule, ...]


def active(signature: Signature, params: Iterable[Param]) -> tuple[TensorParam, ...]:
    """Those of the parameters that derivatives flow through: tensors whose type is a floating type variable."""
    tensors = (param for param in params if isinstance(param, TensorParam))
    return tuple(t for t in tensors if t.type.kind != "dtype" and may_be_differentiable(t, signature))


def obstacle(signature: Signature) -> str:
    """Why no derivative follows from the body; empty where one does."""
    if not signature.pointwise:
        return "derivatives are derived for pointwise operators only (bare element types, as x: T)"
    tensors = signature.tensors + signature.results
    fixed = [t for t in tensors if t.type.kind == "dtype" and may_be_differentiable(t, signature)]
    if fixed:
        return f"{fixed[0]} has a fixed type, which can't carry a derivative; write {fixed[0].name}: T"
    if signature.generator:
        return f"it draws from the generator {signature.generator.name}"
    inputs, written = active(signature, signature.tensors), active(signature, signature.written)
    if not inputs or not written:
        return "none of its arguments, or none of its results, has a derivative"
    names = {param.name for param in signature.inputs + signature.results}
    taken = [t.name for t in signature.mutated if OLD + t.name in names]
    if taken:
        return f"{OLD}{taken[0]} is what the overwritten value of {taken[0]} would be called; rename that parameter"
    return _misfit(vjp(kept(signature)))


def kept(signature: Signature) -> Signature:
    """The operator with each value that it overwrites as a residual: the backward works on the old one."""
    residuals = tuple(TensorParam(OLD + t.name, t.type, None) for t in signature.mutated)
    return signature.replaced(residuals=signature.residuals + residuals)


def vjp(signature: Signature) -> Signature:
    """Reverse mode: the gradients of all active inputs, from those of what the operator writes."""
    gradients = [_optional(GRAD, t) for t in active(signature, signature.written)]
    results = tuple(TensorParam(GRAD + t.name, t.type, None) for t in active(signature, signature.tensors))
    inputs = (*gradients, *(_saved(param) for param in signature.inputs))
    return Signature(signature.name + BACKWARD, inputs, results, where=_where(signature, (*inputs, *results)))


def jvp(signature: Signature) -> Signature:
    """Forward mode: the tangents of what the operator returns and overwrites, from those of all active inputs."""
    tangents = [_optional(TANGENT, t) for t in active(signature, signature.tensors)]
    results = tuple(
        TensorParam(TANGENT + t.name, t.type, None) for t in active(signature, signature.outputs + signature.mutated)
    )
    inputs = (*tangents, *(_plain(param) for param in signature.inputs))
    return Signature(jvp_name(signature.name), inputs, results, where=_where(signature, (*inputs, *results)))


def tangents(signature: Signature) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Forward mode: the inputs, by place, that have tangents; and which of :attr:`Signature.written` get one."""
    inputs, results = active(signature, signature.tensors), active(signature, signature.outputs + signature.mutated)
    return (
        tuple(signature.inputs.index(tensor) for tensor in inputs),
        tuple(i for i, tensor in enumerate(signature.written) if any(tensor is each for each in results)),
    )


def old_values(signature: Signature) -> tuple[tuple[int, int], ...]:
    """The residuals that :func:`kept` adds: their places in :attr:`Signature.written`, and those of the inputs."""
    names = {residual.name: i for i, residual in enumerate(signature.results) if residual in signature.residuals}
    changed = active(signature, signature.mutated)  # what else is kept has no tangent
    return tuple((names[OLD + t.name], signature.inputs.index(t)) for t in changed if OLD + t.name in names)


def jvp_name(name: str) -> str:
    """What the forward mode of an operator is called. No operator of an author's can have such a name."""
    return f"_{name.removeprefix('_')}{JVP}"


def with_derived(written: Iterable[Signature]) -> tuple[list[Signature], dict[str, Derived]]:
    """What is written, and what follows from it: all signatures, and by name those that are derived.

    A backward that is written wins: nothing is derived from the forward then, in forward mode neither. A forward that
    overwrites something comes back with its old values as residuals. What would have too many tensors is left out.
    """
    given = {signature.name: signature for signature in written}
    signatures, derived = dict(given), dict[str, Derived]()
    for signature in given.values():
        if obstacle(signature) or signature.name + BACKWARD in given:
            continue
        if signature.is_backward:
            _second_order(signature, signatures, derived)
        else:
            forward = signatures[signature.name] = kept(signature)
            _all_orders(forward, signatures, derived)
    return list(signatures.values()), derived


def _all_orders(forward: Signature, signatures: dict[str, Signature], derived: dict[str, Derived]) -> None:
    backward = vjp(forward)
    found: list[tuple[Signature, tuple[Rule, ...]]] = [
        (backward, ("vjp",)),
        (vjp(backward), ("vjp", "vjp")),
        (jvp(forward), ("jvp",)),
        (vjp(jvp(forward)), ("jvp", "vjp")),
        (jvp(backward), ("vjp", "jvp")),
    ]
    for signature, rules in found:
        if _misfit(signature):
            continue
        signatures[signature.name] = signature
        derived[signature.name] = Derived(signature, forward, rules)


def _second_order(backward: Signature, signatures: dict[str, Signature], derived: dict[str, Derived]) -> None:
    """The derivative of a backward that is written; none where its author left out what it would need."""
    second = vjp(backward)
    if _misfit(second):
        return
    family = [s for s in signatures.values() if second.name.startswith(s.name)]
    try:
        chains([*family, second])
    except SignatureError:
        return
    signatures[second.name] = second
    derived[second.name] = Derived(second, backward, ("vjp",))


def _misfit(signature: Signature) -> str:
    """Why it can't be an operator, if it can't: an author's `tangent_x` beside `x` leaves no name for the tangent."""
    names = [param.name for param in signature.inputs]
    if twice := [name for name in names if names.count(name) > 1]:
        return f"{signature.name} would have two arguments with the name {twice[0]}"
    counts = [
        (len(signature.tensors + signature.results), MAX_TENSORS, "tensors"),
        (len(signature.results), MAX_RESULTS, "results"),
        (len(signature.type_variables), MAX_VARIABLES, "type variables"),
    ]
    over = (
        f"{signature.name} would have {n} {what}; at most {most} are supported" for n, most, what in counts if n > most
    )
    return next(over, "")


def _optional(prefix: str, tensor: TensorParam) -> TensorParam:
    return TensorParam(prefix + tensor.name, tensor.type, None, optional=True)


def _saved(param: Param) -> Param:
    """An input as a derivative takes it: what was overwritten is there under another name."""
    if isinstance(param, TensorParam) and param.mutated:
        return TensorParam(OLD + param.name, param.type, None, param.optional, index_range=param.index_range)
    return _plain(param)


def _plain(param: Param) -> Param:
    if isinstance(param, ScalarParam):
        return ScalarParam(param.name, param.kind)
    if isinstance(param, TensorParam):
        return TensorParam(param.name, param.type, None, param.optional, index_range=param.index_range)
    return param


def _where(signature: Signature, params: Iterable[Param]) -> tuple[tuple[str, tuple[DType, ...]], ...]:
    used = {param.type.name for param in params if isinstance(param, TensorParam)}
    return tuple((name, types) for name, types in signature.where if name in used)
