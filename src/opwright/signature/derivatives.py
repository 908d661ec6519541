"""Families of operators: a forward, its backward, the backward's backward; and derived operators.

Reverse mode: ``f(x: T, y: T) -> (z: T)`` yields ``f_backward(grad_z: T?, x: T, y: T) -> (grad_x: T, grad_y: T)``, whose
backward is derived, too. Forward mode: ``_f_jvp(tangent_x: T?, tangent_y: T?, x: T, y: T) -> (tangent_z: T)``.
Derived operators are ordinary pointwise operators: they compute in the shape and type to which the arguments broadcast
and promote, and autograd reduces and casts their results. Those of an operator with axes that says ``derived`` have its
shapes, and the gradients of its outputs as inputs that are always given (:mod:`opwright.signature.clauses.derived`).
What a call changes, overwritten tensors and the generator, it keeps as residuals: ``old_x``, ``old_rng``.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Literal

from opwright.errors import SignatureError
from opwright.record import record
from opwright.signature.clauses.derived import differentiable_types, tape_obstacle
from opwright.signature.clauses.variants import variant_names
from opwright.signature.dtypes import DType
from opwright.signature.expr import Constant, Shape, resolved
from opwright.signature.model import OLD, Signature
from opwright.signature.names import BACKWARD, RECORDED, backward_of, forward_of, is_backward, jvp_of, overload_of
from opwright.signature.parameters import GeneratorParam, Param, ScalarParam, TensorParam, TypeRef
from opwright.signature.wiring import (
    GRAD,
    TENSOR_SOURCES,
    derivative,
    find_tensor,
    inherit,
    may_be_differentiable,
    type_of,
)

# Version of signatures' semantics: incremented when a signature's shapes, gradients or graph change.
FORMAT = 4


def chains(signatures: Iterable[Signature]) -> tuple[tuple[Signature, ...], ...]:
    """Group signatures: each operator with its backward, the backward's backward, and so on.

    Raise SignatureError if a backward has no forward, or if a gradient would be lost between two operators of a group.
    """
    by_name = {signature.name: signature for signature in signatures}
    for name in by_name:
        if (forward := forward_of(name)) and forward not in by_name:
            raise SignatureError(
                f"{name} is the backward of {forward}, which isn't there\n"
                f"  there are: {', '.join(by_name)}\n"
                f"  likely fix: add {forward}, or give {name} a name without {BACKWARD}"
            )
    for signature in by_name.values():
        _check_variants(signature, by_name)
    return tuple(_family(signature, by_name) for name, signature in by_name.items() if not is_backward(name))


def _family(first: Signature, by_name: Mapping[str, Signature]) -> tuple[Signature, ...]:
    chain = [first]
    while (backward := by_name.get(backward_of(chain[-1].name))) is not None:
        chain.append(inherit(chain[-1], backward))
    for forward, backward, second in zip(chain, chain[1:], chain[2:], strict=False):
        _check_nothing_lost(forward, backward, second)
        _check_saved_results(forward, backward)
        _check_complete(forward, backward, second)
    return tuple(chain)


def _check_variants(signature: Signature, by_name: Mapping[str, Signature]) -> None:
    for variant, kind in variant_names(signature).items():
        if variant in by_name:
            raise SignatureError(
                f"{variant} is what variants: {kind} of {signature.name} makes, and there is a signature of that name\n"
                f"  signature:  {by_name[variant]}\n"
                f"  likely fix: leave out one of them"
            )


def _check_complete(forward: Signature, backward: Signature, second: Signature) -> None:
    """Check that the double backward returns a gradient for each differentiable tensor that the backward takes.

    A missing gradient would silently be zero.
    """
    first = derivative(forward, backward)
    inputs = {forward.inputs[i].name for i in first.inputs}
    results = {result.name for result, has in zip(forward.results, first.differentiable, strict=False) if has}
    returned = {output.name for output in second.outputs}
    for param, wire in zip(backward.tensors, [w for w in first.wires if w.source in TENSOR_SOURCES], strict=True):
        known = {"input": inputs, "output": results}.get(wire.source, {param.name})
        if param.name in known and GRAD + param.name not in returned:
            raise SignatureError(
                f"{second.name} doesn't return {GRAD}{param.name}, but {backward.name} depends on {param.name}: second "
                f"derivatives would lack that term in silence\n"
                f"  signature:  {second}\n"
                f"  likely fix: return {GRAD}{param.name}: {type_of(param)} as well, zeros if the derivative is zero"
            )


def _check_saved_results(forward: Signature, backward: Signature) -> None:
    """Check that a backward that takes a result but not its gradient also takes the differentiated inputs."""
    taken = {param.name for param in backward.tensors}
    missing = {forward.inputs[i].name for i in derivative(forward, backward).inputs} - taken
    inputs = {param.name for param in forward.tensors}
    for result in forward.results:
        name = result.name
        constant = name not in taken or name in inputs or not may_be_differentiable(result, forward)
        if missing and not constant and GRAD + name not in taken:
            raise SignatureError(
                f"{backward.name} depends on {forward.name}'s result {name} and takes no gradient for it: second "
                f"derivatives through {name} would be lost\n"
                f"  signature:  {backward}\n"
                f"  likely fix: add {GRAD}{name}: {type_of(result)}? to its inputs, to be added to the gradients; or "
                f"take {', '.join(sorted(missing))} as well, and account for {name} in {backward_of(backward.name)}"
            )


def _check_nothing_lost(forward: Signature, backward: Signature, second: Signature) -> None:
    results = {result.name for result in forward.results}
    taken = {param.name for param in backward.tensors}
    for output in second.outputs:
        name = output.name.removeprefix(GRAD)
        if name in results and name not in {p.name for p in forward.tensors} and GRAD + name not in taken:
            of = find_tensor(forward.results, name)
            raise SignatureError(
                f"{second.name} returns {output.name}, the gradient of {forward.name}'s result {name}, but "
                f"{backward.name} doesn't take {output.name}: it would be lost\n"
                f"  signature:  {backward}\n"
                f"  likely fix: add {GRAD}{name}: {type_of(of)}? to {backward.name}'s inputs"
            )


def overload_name(chain: Sequence[Signature], forward_modes: Container[str] = ()) -> str:
    """Return the operators' overload name: the author's, if there is one, and a hash of the chain's signatures.

    `forward_modes`: the names of the operators that have a forward-mode derivative.

    torch.compile's caches identify operators by name alone. As a changed signature changes the overload name, they
    never return a graph that was traced with another signature.
    """
    modes = [f"jvp of {signature.name}" for signature in chain if signature.name in forward_modes]
    text = "\n".join([str(FORMAT), *map(str, chain), *modes])
    return overload_with_name("sig_" + sha256(text.encode()).hexdigest()[:12], chain[0].name)


def overload_with_name(overload: str, name: str) -> str:
    """Return an overload's name with the hash of `overload`, and what the author, or a variant, is called: `name`."""
    hashed = overload[overload.rindex("sig_") :]
    return f"{overload_of(name)}_{hashed}".removeprefix("_")


def recorded_name(overload: str) -> str:
    """Return the name of the overload that runs while a gradient is recorded: it returns the residuals, too."""
    return f"{overload}_{RECORDED}"


def without_hash(text: str) -> str:
    """Return a text, as of PyTorch's errors, without the hashes in it: people never wrote them."""
    return re.sub(r"(?:\.|(?<=\w)_)sig_[0-9a-f]{12}(_recorded)?", "", text)


TANGENT = "tangent_"
MAX_TENSORS = 64
"""Maximum number of a kernel's tensors, including results: the number of bits of ``strided`` in ``abi.h``."""
MAX_RESULTS, MAX_VARIABLES = 32, 4
"""Maximum numbers of a derived kernel's results and type variables: the capacity of an instance's key."""

Rule = Literal["vjp", "jvp"]


@record
class Derived:
    """An operator whose kernel is derived from another operator's function.

    Attributes:
        signature: the derived operator's signature.
        body: the signature of the operator whose function is differentiated.
        rules: the differentiation rules, innermost first: ``("vjp", "jvp")`` is the forward mode of the backward.
    """

    signature: Signature
    body: Signature
    rules: tuple[Rule, ...]

    @property
    def masked(self) -> bool:
        """Whether there is an instance for each subset of results; a taped kernel has one for all subsets."""
        return self.body.pointwise and self.signature.is_backward


def carries_derivative(types: Mapping[str, DType]) -> bool:
    """Return whether a derived kernel exists for these element types: one of them has derivatives."""
    return any(dtype.is_floating or dtype.is_complex for dtype in types.values())


def active(signature: Signature, params: Iterable[Param]) -> tuple[TensorParam, ...]:
    """Return the parameters with derivatives: tensors whose type is a type variable that may be floating."""
    tensors = (param for param in params if isinstance(param, TensorParam))
    return tuple(t for t in tensors if t.type.kind != "dtype" and may_be_differentiable(t, signature))


def obstacle(signature: Signature, constants: Container[str] = ()) -> str:
    """Return why no derivative can be derived from the operator's function; empty if one can.

    `constants`: the names of inputs whose derivatives nobody wants, of an operator that isn't pointwise.
    """
    if not signature.pointwise:
        found = tape_obstacle(signature, constants)[0] or _name_taken(signature)
        return found or _limit_exceeded(vjp(with_old_values(signature)))
    tensors = signature.tensors + signature.results
    fixed = [t for t in tensors if t.type.kind == "dtype" and may_be_differentiable(t, signature)]
    if fixed:
        return f"{fixed[0]} has a fixed type, which can't carry a derivative; write {fixed[0].name}: T"
    if signature.dtypes:
        chosen = next(iter(signature.dtypes.values()))
        return f"{chosen.name} says which type an argument or a result has"
    if signature.generator:
        return f"it draws from the generator {signature.generator.name}"
    inputs, written = active(signature, signature.tensors), active(signature, signature.written)
    if not inputs or not written:
        return "none of its arguments, or none of its results, has a derivative"
    return _name_taken(signature) or _limit_exceeded(vjp(with_old_values(signature)))


def _name_taken(signature: Signature) -> str:
    names = {param.name for param in signature.inputs + signature.results}
    taken = [t.name for t in signature.mutated if OLD + t.name in names]
    if taken:
        return f"{OLD}{taken[0]} is what the overwritten value of {taken[0]} would be called; rename that parameter"
    rng = signature.generator
    if rng and OLD + rng.name in names:
        return f"{OLD}{rng.name} is what the state of {rng.name} would be called; rename that parameter"
    return ""


def with_old_values(signature: Signature) -> Signature:
    """Add residuals for what a call changes and its backward needs.

    They are the old value of each overwritten tensor, and the generator's seed and offset.
    """
    residuals = [TensorParam(OLD + t.name, t.type, t.shape) for t in signature.mutated]
    if signature.generator and not signature.pointwise:
        residuals.append(_state_of(signature.generator))
    return signature.replaced(residuals=(*signature.residuals, *residuals))


def _state_of(generator: GeneratorParam) -> TensorParam:
    """Return the tensor that keeps a generator's seed and offset, ``old_rng: i64[2]``."""
    return TensorParam(OLD + generator.name, TypeRef("dtype", "i64"), Shape(ellipsis=False, dims=(Constant(2),)))


def _is_kept(tensor: TensorParam, signature: Signature) -> bool:
    """Return whether a residual is one that :func:`with_old_values` adds."""
    return any(tensor.name == OLD + t.name for t in signature.mutated)


def vjp(signature: Signature) -> Signature:
    """Derive the reverse-mode signature: from the gradients of written tensors to those of all active inputs."""
    if signature.pointwise:
        written, told = signature.written, signature.written
    else:  # the gradients tell the results' sizes, unless inputs do
        kept = tuple(t for t in signature.residuals if _is_kept(t, signature))
        written = signature.outputs + kept + signature.mutated
        told = kept + tuple(t for t in written if t.condition)
    gradients = [_prefixed(GRAD, t, optional=any(t is each for each in told)) for t in active(signature, written)]
    results = tuple(_prefixed(GRAD, t) for t in active(signature, signature.tensors))
    inputs = (*gradients, *(_saved_input(param) for param in signature.inputs))
    return _with_types_of(signature, Signature(backward_of(signature.name), inputs, results))


def jvp(signature: Signature) -> Signature:
    """Derive the forward-mode signature: from the tangents of active inputs to those of outputs and mutated tensors."""
    tangents = [_prefixed(TANGENT, t, optional=True) for t in active(signature, signature.tensors)]
    written = active(signature, signature.outputs + signature.mutated)
    results = tuple(_prefixed(TANGENT, t).returned_as(t) for t in written)
    inputs = (*tangents, *(_plain_input(param) for param in signature.inputs))
    return _with_types_of(signature, Signature(jvp_of(signature.name), inputs, results))


def tangents(signature: Signature) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the indices of the inputs with tangents, and in :attr:`Signature.written` of the tensors with tangents."""
    inputs, results = active(signature, signature.tensors), active(signature, signature.outputs + signature.mutated)
    return (
        tuple(signature.inputs.index(tensor) for tensor in inputs),
        tuple(i for i, tensor in enumerate(signature.written) if any(tensor is result for result in results)),
    )


def old_values(signature: Signature) -> tuple[tuple[int, int], ...]:
    """Return pairs for the residuals of :func:`with_old_values`: index of the residual in results, index of the input.

    Pairs of tensors without tangents are left out.
    """
    names = {residual.name: i for i, residual in enumerate(signature.results) if residual in signature.residuals}
    changed = active(signature, signature.mutated)  # other kept tensors have no tangent
    return tuple((names[OLD + t.name], signature.inputs.index(t)) for t in changed if OLD + t.name in names)


def with_derived(
    written: Iterable[Signature], constants: Container[str] = ()
) -> tuple[list[Signature], dict[str, Derived]]:
    """Return all signatures, handwritten and derived, and the derived operators by name.

    If an operator has a handwritten backward, nothing is derived from the forward, not even its forward mode. A forward
    that overwrites tensors gets their old values as residuals. Operators that would exceed a limit are left out.
    `constants` are those of :func:`obstacle`.
    """
    handwritten = {signature.name: signature for signature in written}
    signatures, derived = dict(handwritten), dict[str, Derived]()
    for signature in handwritten.values():
        if obstacle(signature, constants) or backward_of(signature.name) in handwritten:
            continue
        if signature.is_backward:
            _derive_second_order(signature, signatures, derived)
        else:
            forward = signatures[signature.name] = with_old_values(signature)
            _derive_all_orders(forward, signatures, derived)
    return list(signatures.values()), derived


def has_forward_mode(signature: Signature) -> bool:
    """Return whether forward mode can be derived.

    It runs before the operator, which then would draw other numbers, or give its results their lengths.
    """
    return signature.pointwise or not (signature.generator or signature.data_axes or signature.counts)


def _derive_all_orders(forward: Signature, signatures: dict[str, Signature], derived: dict[str, Derived]) -> None:
    backward = vjp(forward)
    candidates: list[tuple[Signature, tuple[Rule, ...]]] = [
        (backward, ("vjp",)),
        (vjp(backward), ("vjp", "vjp")),
        (jvp(forward), ("jvp",)),
        (vjp(jvp(forward)), ("jvp", "vjp")),
        (jvp(backward), ("vjp", "jvp")),
    ]
    for signature, rules in candidates:
        if _limit_exceeded(signature) or (rules[0] == "jvp" and not has_forward_mode(forward)):
            continue
        signatures[signature.name] = signature
        derived[signature.name] = Derived(signature, forward, rules)


def _derive_second_order(backward: Signature, signatures: dict[str, Signature], derived: dict[str, Derived]) -> None:
    """Derive the backward of a handwritten backward, unless the two don't form a valid chain with the forward."""
    second = vjp(backward)
    if _limit_exceeded(second):
        return
    family = [s for s in (signatures.get(forward_of(backward.name)), backward) if s is not None]
    try:
        chains([*family, second])
    except SignatureError:
        return
    signatures[second.name] = second
    derived[second.name] = Derived(second, backward, ("vjp",))


def _limit_exceeded(signature: Signature) -> str:
    """Return why the derived operator isn't possible; empty if it is.

    It may exceed a limit, or have two arguments of one name (if an author's operator has both `tangent_x` and `x`).
    """
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


def _prefixed(prefix: str, tensor: TensorParam, *, optional: bool = False) -> TensorParam:
    """Return a gradient or a tangent of a tensor; a length that the kernel decides is known by then."""
    return TensorParam(prefix + tensor.name, tensor.type, resolved(tensor.shape), optional=optional)


def _saved_input(param: Param) -> Param:
    """Return an input as an argument of the derivative; an overwritten one is replaced by its saved old value."""
    if isinstance(param, GeneratorParam):
        return _state_of(param)
    if isinstance(param, TensorParam) and param.mutated:
        return TensorParam(OLD + param.name, param.type, param.shape, param.optional, domain=param.domain)
    return _plain_input(param)


def _plain_input(param: Param) -> Param:
    if isinstance(param, ScalarParam):
        return ScalarParam(param.name, param.kind)
    if isinstance(param, TensorParam):
        return TensorParam(param.name, param.type, param.shape, param.optional, domain=param.domain)
    return param


def _with_types_of(signature: Signature, derivative: Signature) -> Signature:
    where, combinations = signature.types_of(derivative.type_variables)
    if not signature.pointwise:
        where = differentiable_types(where)
        derivative = derivative.replaced(
            batched=signature.batched, named_sizes=signature.named_sizes, independent=signature.independent
        )
    return derivative.replaced(where=where, combinations=combinations, alternative=signature.alternative)
