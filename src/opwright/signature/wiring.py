"""How a backward gets its arguments from its forward, by name alone (DESIGN, section 1.1)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Literal

from opwright.errors import SignatureError
from opwright.signature.dtypes import DType
from opwright.signature.model import DataAxis, ScalarParam, Signature, TensorParam
from opwright.signature.record import record

GRAD = "grad_"
BACKWARD = "_backward"
# Of what follows from a signature: raised when the same one comes to mean other shapes, gradients, or another graph.
FORMAT = 2
_TENSORS = ("gradient", "zero_gradient", "input", "output")


@record
class Wire:
    """Where one argument of the backward comes from.

    ``index`` counts what the forward writes (:attr:`Signature.written`: ``gradient``, ``zero_gradient``), its results
    (``output``), its inputs (``input``, ``scalar``), or its axes (``axis``).
    """

    source: Literal["gradient", "zero_gradient", "input", "output", "scalar", "axis", "ellipsis", "mask"]
    index: int


@record
class Derivative:
    """An operator's backward and its wiring.

    Attributes:
        forward: the operator.
        backward: its backward.
        axes: the backward's axes that only the forward knows.
        ellipsis: whether only the forward knows the shape of the backward's ``...``.
        wires: one for each of the backward's schema arguments.
        inputs: for each output of the backward, the forward's input that it is the gradient of.
        differentiable: for each result and mutated input of the forward, whether a gradient is taken for it.
    """

    forward: Signature
    backward: Signature
    axes: tuple[str, ...]
    ellipsis: bool
    wires: tuple[Wire, ...]
    inputs: tuple[int, ...]
    differentiable: tuple[bool, ...]


def derivative(forward: Signature, backward: Signature) -> Derivative:
    """Wire ``backward`` to ``forward``; SignatureError where a name or a type doesn't fit."""
    _check_gradients_taken(forward, backward)
    _check_old_values(forward, backward)
    _check_plain(backward)
    axes = tuple(axis for axis in backward.axes if axis not in backward.bound_by_required)
    ellipsis = backward.has_ellipsis and not backward.bound_ellipsis
    _check_visible(forward, backward, axes, ellipsis)
    wires = [
        _wire(forward, backward, param) for param in backward.inputs if isinstance(param, TensorParam | ScalarParam)
    ]
    wires += [Wire("axis", forward.axes.index(axis)) for axis in axes]
    wires += [Wire("ellipsis", 0)] * ellipsis + [Wire("mask", 0)]
    taken = {wire.index for wire in wires if wire.source in ("gradient", "zero_gradient")}
    return Derivative(
        forward=forward,
        backward=backward,
        axes=axes,
        ellipsis=ellipsis,
        wires=tuple(wires),
        inputs=tuple(_differentiated(forward, backward, output) for output in backward.outputs),
        differentiable=tuple(i in taken and may_be_differentiable(r, forward) for i, r in enumerate(forward.written)),
    )


def may_be_differentiable(param: TensorParam, signature: Signature) -> bool:
    """Whether the tensor can have a floating or complex element type."""
    return any(dtype.is_differentiable for dtype in _types(param, signature))


def inherit(forward: Signature, backward: Signature) -> Signature:
    """The backward with its forward's element types, where it doesn't list its own."""
    given, own = dict(forward.where), dict(backward.where)
    where = {**{v: given[v] for v in backward.type_variables if v in given}, **own}
    resolved = backward.replaced(where=tuple(where.items()))
    _check_index_types(forward, resolved)
    return resolved


def _check_index_types(forward: Signature, backward: Signature) -> None:
    for param in backward.tensors:
        variable = param.type.name
        if param.index_range is None or all(dtype.is_integer for dtype in _types(param, backward)):
            continue
        raise SignatureError(
            f"{backward.name}: {param.name} has an index range, so its elements are integers, but {forward.name} also "
            f"has {', '.join(map(str, forward.allowed(variable)))} for {variable}\n"
            f"  signature:  {forward}\n"
            f"  likely fix: give {forward.name} the same range, and a type for indices: i64"
        )


def _types(param: TensorParam, signature: Signature) -> tuple[DType, ...]:
    if param.type.kind == "dtype":
        return (param.type.resolve({}),)
    return signature.allowed(param.type.name)


def inherited(signatures: Iterable[Signature]) -> Iterator[Signature]:
    """The signatures, each backward with the element types of its forward, where that is among them."""
    by_name = {signature.name: signature for signature in signatures}

    def resolved(signature: Signature) -> Signature:
        forward = by_name.get(signature.name.removesuffix(BACKWARD))
        return inherit(resolved(forward), signature) if signature.is_backward and forward else signature

    return map(resolved, by_name.values())


def chains(signatures: Iterable[Signature]) -> tuple[tuple[Signature, ...], ...]:
    """Group signatures: each operator with its backward, the backward's backward, and so on.

    SignatureError where a backward has no forward, or a gradient would be lost between two of them.
    """
    by_name = {signature.name: signature for signature in signatures}
    for name in by_name:
        if name.endswith(BACKWARD) and name.removesuffix(BACKWARD) not in by_name:
            raise SignatureError(
                f"{name} is the backward of {name.removesuffix(BACKWARD)}, which isn't there\n"
                f"  there are: {', '.join(by_name)}\n"
                f"  likely fix: add {name.removesuffix(BACKWARD)}, or give {name} a name without {BACKWARD}"
            )
    return tuple(_chain(signature, by_name) for name, signature in by_name.items() if not name.endswith(BACKWARD))


def _chain(first: Signature, by_name: Mapping[str, Signature]) -> tuple[Signature, ...]:
    chain = [first]
    while chain[-1].name + BACKWARD in by_name:
        chain.append(inherit(chain[-1], by_name[chain[-1].name + BACKWARD]))
    for forward, backward, second in zip(chain, chain[1:], chain[2:], strict=False):
        _check_nothing_lost(forward, backward, second)
        _check_saved_results(forward, backward)
        _check_complete(forward, backward, second)
    return tuple(chain)


def _check_complete(forward: Signature, backward: Signature, second: Signature) -> None:
    """A second derivative has a term for all that the first one depends on; a missing one would be a silent zero."""
    first = derivative(forward, backward)
    inputs = {forward.inputs[i].name for i in first.inputs}
    results = {result.name for result, has in zip(forward.results, first.differentiable, strict=False) if has}
    returned = {output.name for output in second.outputs}
    for param, wire in zip(backward.tensors, [w for w in first.wires if w.source in _TENSORS], strict=True):
        known = {"input": inputs, "output": results}.get(wire.source, {param.name})
        if param.name in known and GRAD + param.name not in returned:
            raise SignatureError(
                f"{second.name} doesn't return {GRAD}{param.name}, but {backward.name} depends on {param.name}: second "
                f"derivatives would lack that term in silence\n"
                f"  signature:  {second}\n"
                f"  likely fix: return {GRAD}{param.name}: {_type(param)} as well, zeros if the derivative is zero"
            )


def _check_saved_results(forward: Signature, backward: Signature) -> None:
    """A saved result that has no gradient of its own is a function of the inputs: they must be there to say so."""
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
                f"  likely fix: add {GRAD}{name}: {_type(result)}? to its inputs, to be added to the gradients; or "
                f"take {', '.join(sorted(missing))} as well, and account for {name} in {backward.name}{BACKWARD}"
            )


def _check_gradients_taken(forward: Signature, backward: Signature) -> None:
    """Every output that can carry a gradient is in the backward: one that is left out would lose it in silence."""
    taken = {param.name for param in backward.tensors}
    for output in forward.outputs + forward.mutated:
        if may_be_differentiable(output, forward) and GRAD + output.name not in taken:
            raise SignatureError(
                f"{backward.name} doesn't take {GRAD}{output.name}: gradients through {output.name} would be lost\n"
                f"  signature:  {backward}\n"
                f"  likely fix: add {GRAD}{output.name}: {_type(output)}? to its inputs (absent where nobody gave one)"
            )


def _check_old_values(forward: Signature, backward: Signature) -> None:
    """What is overwritten had a value before, and somebody may have differentiated up to there."""
    returned = {output.name for output in backward.outputs}
    for tensor in forward.mutated:
        if may_be_differentiable(tensor, forward) and GRAD + tensor.name not in returned:
            raise SignatureError(
                f"{backward.name} doesn't return {GRAD}{tensor.name}, the gradient of the value that {forward.name} "
                f"overwrites: it would be lost\n"
                f"  signature:  {backward}\n"
                f"  likely fix: return {GRAD}{tensor.name}: {_type(tensor)} as well, zeros if {forward.name} doesn't "
                f"read the old value"
            )


def _check_nothing_lost(forward: Signature, backward: Signature, second: Signature) -> None:
    results = {result.name for result in forward.results}
    taken = {param.name for param in backward.tensors}
    for output in second.outputs:
        name = output.name.removeprefix(GRAD)
        if name in results and name not in {p.name for p in forward.tensors} and GRAD + name not in taken:
            raise SignatureError(
                f"{second.name} returns {output.name}, the gradient of {forward.name}'s result {name}, but "
                f"{backward.name} doesn't take {output.name}: it would be lost\n"
                f"  signature:  {backward}\n"
                f"  likely fix: add {GRAD}{name}: {_type(_find(forward.results, name))}? to {backward.name}'s inputs"
            )


def _wire(forward: Signature, backward: Signature, param: TensorParam | ScalarParam) -> Wire:
    inputs = {p.name: i for i, p in enumerate(forward.inputs)}
    results = {p.name: i for i, p in enumerate(forward.results)}
    written = {p.name: i for i, p in enumerate(forward.written)}
    if isinstance(param, ScalarParam):
        return _wire_scalar(forward, backward, param, inputs)
    of = param.name.removeprefix(GRAD)
    if param.name.startswith(GRAD) and of in written:
        _check_same(forward, backward, param, forward.written[written[of]], optional=True)
        return Wire("gradient" if param.optional else "zero_gradient", written[of])
    if param.name in inputs and isinstance(forward.inputs[inputs[param.name]], TensorParam):
        _check_not_overwritten(forward, backward, param)
        _check_same(forward, backward, param, _find(forward.tensors, param.name))
        return Wire("input", inputs[param.name])
    if param.name in results:
        _check_same(forward, backward, param, forward.results[results[param.name]])
        return Wire("output", results[param.name])
    raise _unknown(forward, backward, param)


def _check_not_overwritten(forward: Signature, backward: Signature, param: TensorParam) -> None:
    if param.name in {tensor.name for tensor in forward.mutated}:
        raise SignatureError(
            f"{backward.name} takes {param.name}, which {forward.name} overwrites: its old value is gone by then\n"
            f"  signature:  {forward}\n"
            f"  likely fix: keep what is needed as a residual of {forward.name}: old_{param.name}: {_type(param)}"
        )


def _check_plain(backward: Signature) -> None:
    """A backward works on gradients that belong to others, and more than once: no writing, nothing random."""
    mutated = [f"overwrites {tensor.name}" for tensor in backward.mutated]
    random = [f"takes the generator {backward.generator.name}"] if backward.generator else []
    decides = [f"decides the length ?{axis}" for axis in backward.data_axes]
    for problem in mutated + random + decides:
        raise SignatureError(
            f"{backward.name} {problem}, which a backward can't\n  signature:  {backward}\n  likely fix: "
            + ("return it as an output" if mutated else "keep what is needed as a residual of the forward")
        )


def _wire_scalar(forward: Signature, backward: Signature, param: ScalarParam, inputs: Mapping[str, int]) -> Wire:
    found = next((s for s in forward.scalars if s.name == param.name), None)
    if found is None:
        raise _unknown(forward, backward, param)
    if found.kind != param.kind:
        raise SignatureError(
            f"{backward.name} takes {param}, but in {forward.name} it is {found}\n  signature:  {forward}\n"
            f"  likely fix: write {param.name}: {found.kind} in {backward.name}"
        )
    return Wire("scalar", inputs[param.name])


def _unknown(forward: Signature, backward: Signature, param: TensorParam | ScalarParam) -> SignatureError:
    known = (
        [f"{GRAD}{r.name}" for r in forward.written]
        + [p.name for p in forward.inputs]
        + [r.name for r in forward.results]
    )
    return SignatureError(
        f"{backward.name} takes {param.name}, which is neither the gradient of a result of {forward.name} nor one of "
        f"its inputs, outputs or residuals\n"
        f"  it may take: {', '.join(known)}\n"
        f"  signature:  {forward}"
    )


def _differentiated(forward: Signature, backward: Signature, output: TensorParam) -> int:
    name = output.name.removeprefix(GRAD)
    scalars = {s.name for s in forward.scalars}
    found = next((p for p in forward.tensors if p.name == name), None)
    if not output.name.startswith(GRAD) or found is None or not may_be_differentiable(found, forward):
        why = (
            f"{name} is a scalar: make it a tensor (x: T[]) to differentiate with respect to it"
            if name in scalars
            else f"{name} isn't differentiable: it is {found}"
            if found
            else f"{forward.name} has no tensor input of that name"
        )
        fits = [GRAD + p.name for p in forward.tensors if may_be_differentiable(p, forward)]
        raise SignatureError(
            f"{backward.name} returns {output.name}, but {why}\n  it may return: {', '.join(fits) or 'nothing'}\n"
            f"  signature:  {forward}"
        )
    _check_same(forward, backward, output, found, optional=True)
    return forward.inputs.index(found)


def _check_same(
    forward: Signature, backward: Signature, param: TensorParam, of: TensorParam, *, optional: bool = False
) -> None:
    same = (param.type, str(param.shape)) == (of.type, _decided(of))
    if same and (optional or param.optional or not of.optional):
        return
    mark = "?" if of.optional and not optional else ""
    raise SignatureError(
        f"{backward.name} has {param}, but in {forward.name} it belongs to {of}\n"
        f"  signature:  {forward}\n"
        f"  likely fix: write {param.name}: {_type(of)}{mark} in {backward.name}"
    )


def _check_visible(forward: Signature, backward: Signature, axes: tuple[str, ...], ellipsis: bool) -> None:
    strange = [axis for axis in axes if axis not in forward.axes]
    strange += [v for v in backward.type_variables if v not in forward.type_variables]
    strange += ["..."] * (ellipsis and not forward.has_ellipsis)
    if strange:
        raise SignatureError(
            f"{backward.name} has {', '.join(strange)}, which neither its inputs nor {forward.name} determine\n"
            f"  signature:  {forward}\n"
            f"  likely fix: use the names of {forward.name}: {', '.join(forward.axes + forward.type_variables)}"
        )
    results = {GRAD + r.name for r in forward.written}
    gradients = [p for p in backward.tensors if p.name in results]
    for variable in backward.type_variables:
        always = bool(gradients) and all(p.type.kind == "var" and p.type.name == variable for p in gradients)
        if variable in forward.type_variables and variable not in backward.bound_types and not always:
            of = next(p for p in forward.tensors if p.type.name == variable)
            raise SignatureError(
                f"nothing that {backward.name} is always given tells it the element type {variable}\n"
                f"  signature:  {backward}\n"
                f"  likely fix: take an input of that type as well: {of.name}: {_type(of)}"
            )
    if backward.residuals or not backward.outputs:
        raise SignatureError(
            f"{backward.name} must return gradients, and only gradients (no residuals)\n  signature:  {backward}"
        )


def overload_name(chain: Sequence[Signature], forward_modes: Container[str] = ()) -> str:
    """A name that stands for everything that follows from the chain's signatures.

    `forward_modes`: those of them, by name, that have a forward-mode derivative.

    It is the operators' overload name, so that torch.compile's caches, which know operators by name alone, never
    give a graph that was traced under another signature (rule 9).
    """
    modes = [f"jvp of {signature.name}" for signature in chain if signature.name in forward_modes]
    text = "\n".join([str(FORMAT), *map(str, chain), *modes])
    return "sig_" + sha256(text.encode()).hexdigest()[:12]


def suggestion(forward: Signature) -> str:
    """A signature for the backward that ``forward`` lacks.

    Empty where there is nothing to differentiate, and where its arguments' names would clash.
    """
    written = forward.outputs + forward.mutated
    gradients = [f"{GRAD}{r.name}: {_type(r)}" for r in written if may_be_differentiable(r, forward)]
    inputs = [p for p in forward.inputs if isinstance(p, TensorParam | ScalarParam)]
    saved = [str(p) for p in inputs if p not in forward.mutated]
    results = [f"{GRAD}{p.name}: {_type(p)}" for p in forward.tensors if may_be_differentiable(p, forward)]
    names = [text.partition(":")[0] for text in gradients + saved]
    if not gradients or not results or len(set(names)) < len(names):
        return ""
    batched = " batched" * forward.batched
    return f"{forward.name}{BACKWARD}({', '.join(gradients + saved)}) -> ({', '.join(results)}){batched}"


def _type(param: TensorParam) -> str:
    return f"{param.type}{_decided(param) if param.shape else ''}"


def _decided(param: TensorParam) -> str:
    """The shape as a backward writes it: a length that the kernel decided is known by then."""
    if param.shape is None:
        return str(None)
    dims = [dim.name if isinstance(dim, DataAxis) else str(dim) for dim in param.dims]
    return f"[{', '.join(['...'] * param.has_ellipsis + dims)}]"


def _find(params: Iterable[TensorParam], name: str) -> TensorParam:
    return next(param for param in params if param.name == name)
