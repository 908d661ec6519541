"""The wiring of a backward to its forward, by name (DESIGN, section 1.1), and the plan of the autograd node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from opwright.errors import SignatureError
from opwright.record import record
from opwright.signature.dtypes import FLOATING, INTEGER
from opwright.signature.expr import resolved
from opwright.signature.model import Signature
from opwright.signature.names import backward_of, forward_of
from opwright.signature.parameters import ScalarParam, TensorParam
from opwright.signature.tensor_lists.calls import groups, own_axes

GRAD = "grad_"
TENSOR_SOURCES = ("gradient", "zero_gradient", "input", "output")


@record
class Wire:
    """The source of one argument of the backward.

    ``index`` is an index into the forward's :attr:`Signature.written` for ``gradient`` and ``zero_gradient``, its
    results for ``output``, its inputs for ``input`` and ``scalar``, or its axes for ``axis``.
    """

    source: Literal["gradient", "zero_gradient", "input", "output", "scalar", "axis", "ellipsis", "mask"]
    index: int


@record
class Derivative:
    """An operator's backward and its wiring.

    Attributes:
        forward: the operator.
        backward: its backward.
        axes: the backward's axes whose sizes only the forward determines.
        ellipsis: whether only the forward determines the shape of the backward's ``...``.
        wires: the source of each of the backward's schema arguments.
        inputs: for each output of the backward, the index of the forward's input whose gradient it is.
        differentiable: for each result and mutated input of the forward, whether the backward takes its gradient.
    """

    forward: Signature
    backward: Signature
    axes: tuple[str, ...]
    ellipsis: bool
    wires: tuple[Wire, ...]
    inputs: tuple[int, ...]
    differentiable: tuple[bool, ...]


def derivative(forward: Signature, backward: Signature) -> Derivative:
    """Wire ``backward`` to ``forward``; raise SignatureError if a name or a type doesn't fit."""
    _check_gradients_taken(forward, backward)
    _check_old_values(forward, backward)
    _check_plain(backward)
    _check_lists(forward, backward)
    axes = tuple(axis for axis in backward.free_axes if axis not in backward.bound_by_required)
    ellipsis = backward.has_ellipsis and not backward.bound_ellipsis
    _check_visible(forward, backward, axes, ellipsis)
    _check_named_sizes(forward, backward)
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
        inputs=tuple(_differentiated_input(forward, backward, output) for output in backward.outputs),
        differentiable=tuple(i in taken and may_be_differentiable(r, forward) for i, r in enumerate(forward.written)),
    )


def _check_lists(forward: Signature, backward: Signature) -> None:
    """Check that a list which the backward takes tells the length of each list of gradients."""
    told, found = {axis for t in backward.tensors if t.listed for axis in own_axes(t)}, groups(backward)
    for output in backward.outputs:
        missing = sorted(own_axes(output) - told)
        if output.listed and (missing or found.of[output.name, True] < 0):
            of = next((t for t in forward.tensors if t.listed and GRAD + t.name == output.name), output)
            what = f"each {missing[0]}" if missing else "how many tensors there are"
            raise SignatureError(
                f"{backward.name} returns {output}, and nothing that it takes tells {what}\n"
                f"  signature:  {backward}\n"
                f"  likely fix: take the list as well: {of.name}: {type_of(of)}"
            )


def may_be_differentiable(param: TensorParam, signature: Signature) -> bool:
    """Return whether the tensor can have a floating or complex element type."""
    return any(dtype.is_differentiable for dtype in signature.element_types(param))


def inherit(forward: Signature, backward: Signature) -> Signature:
    """Return the backward with its forward's element types for the type variables for which it lists none."""
    own = {*dict(backward.where), *(v for each in backward.combinations for v in each.variables)}
    where, combinations = forward.types_of({*backward.type_variables} - own)
    resolved = backward.replaced(
        where=where + backward.where,
        combinations=combinations + backward.combinations,
        derived=(backward.derived or forward.derived) and not backward.pointwise,
    )
    _check_domains(forward, resolved)
    return resolved


def _check_domains(forward: Signature, backward: Signature) -> None:
    for param in backward.tensors:
        kinds = {dtype.category for dtype in backward.element_types(param)}
        if param.domain is None or kinds in ({INTEGER}, {FLOATING}):
            continue
        variable = param.type.name
        raise SignatureError(
            f"{backward.name}: {param.name} has a domain, so its elements are integers or floats, but {forward.name} "
            f"has {', '.join(map(str, forward.allowed(variable)))} for {variable}\n"
            f"  signature:  {forward}\n"
            f"  likely fix: give {forward.name} the same domain, and a type for indices: i64"
        )


def inherited(signatures: Iterable[Signature]) -> Iterator[Signature]:
    """Return the signatures; each backward gets the element types of its forward, if `signatures` contains it."""
    by_name = {signature.name: signature for signature in signatures}

    def resolved(signature: Signature) -> Signature:
        forward = by_name.get(forward_of(signature.name))
        return inherit(resolved(forward), signature) if signature.is_backward and forward else signature

    return map(resolved, by_name.values())


def _check_gradients_taken(forward: Signature, backward: Signature) -> None:
    """Check that the backward takes all possible gradients: one left out would be lost silently."""
    taken = {param.name for param in backward.tensors}
    for output in forward.outputs + forward.mutated:
        if may_be_differentiable(output, forward) and GRAD + output.name not in taken:
            fix = f"add {GRAD}{output.name}: {type_of(output)}? to its inputs (absent where nobody gave one)"
            if output.listed:
                fix = f"add {GRAD}{output.name}: {type_of(output)} to its inputs (zeros where nobody gave one)"
            if strange := _gradient_of_nothing(forward, backward):
                fix = f"rename {strange} to {GRAD}{output.name}: the result of {forward.name} is called {output.name}"
            raise SignatureError(
                f"{backward.name} doesn't take {GRAD}{output.name}: gradients through {output.name} would be lost\n"
                f"  signature:  {backward}\n"
                f"  likely fix: {fix}"
            )


def _gradient_of_nothing(forward: Signature, backward: Signature) -> str:
    """Return the only input ``grad_<name>`` of the backward for a name that the forward doesn't have; "" if none."""
    known = {GRAD + param.name for param in forward.written} | {param.name for param in forward.inputs}
    strange = [p.name for p in backward.tensors if p.name.startswith(GRAD) and p.name not in known]
    return strange[0] if len(strange) == 1 and len(forward.written) == 1 else ""


def _check_old_values(forward: Signature, backward: Signature) -> None:
    """Check that the backward returns the gradients of overwritten values, which may depend on earlier operations."""
    returned = {output.name for output in backward.outputs}
    for tensor in forward.mutated:
        if may_be_differentiable(tensor, forward) and GRAD + tensor.name not in returned:
            raise SignatureError(
                f"{backward.name} doesn't return {GRAD}{tensor.name}, the gradient of the value that {forward.name} "
                f"overwrites: it would be lost\n"
                f"  signature:  {backward}\n"
                f"  likely fix: return {GRAD}{tensor.name}: {type_of(tensor)} as well, zeros if {forward.name} doesn't "
                f"read the old value"
            )


def _wire(forward: Signature, backward: Signature, param: TensorParam | ScalarParam) -> Wire:
    """Return the origin of an argument of the backward: a gradient, an input, a result or a scalar."""
    inputs = {p.name: i for i, p in enumerate(forward.inputs)}
    results = {p.name: i for i, p in enumerate(forward.results)}
    written = {p.name: i for i, p in enumerate(forward.written)}
    if isinstance(param, ScalarParam):
        return _scalar_wire(forward, backward, param, inputs)
    of = param.name.removeprefix(GRAD)
    if param.name.startswith(GRAD) and of in written:
        _check_same(forward, backward, param, forward.written[written[of]], optional=True)
        _check_may_be_absent(forward, backward, param, forward.written[written[of]])
        return Wire("gradient" if param.optional else "zero_gradient", written[of])
    if param.name in inputs and isinstance(forward.inputs[inputs[param.name]], TensorParam):
        _check_not_overwritten(forward, backward, param)
        _check_same(forward, backward, param, find_tensor(forward.tensors, param.name))
        return Wire("input", inputs[param.name])
    if param.name in results:
        _check_no_count(forward, backward, param.name)
        _check_same(forward, backward, param, forward.results[results[param.name]])
        return Wire("output", results[param.name])
    raise _unknown_argument_error(forward, backward, param)


def _check_may_be_absent(forward: Signature, backward: Signature, param: TensorParam, of: TensorParam) -> None:
    """Check that the gradient of an optional result is optional: where there is no result, it has no gradient."""
    if of.condition and not param.optional:
        raise SignatureError(
            f"{backward.name} has {param}, but {of.name} of {forward.name} is optional: where there is no {of.name}, "
            f"it has no gradient\n"
            f"  signature:  {forward}\n"
            f"  likely fix: write {param.name}: {type_of(of)}? in {backward.name}"
        )


def _check_no_count(forward: Signature, backward: Signature, name: str) -> None:
    if name in {count.name for count in forward.counts}:
        raise SignatureError(
            f"{backward.name} takes {name}, a count that {forward.name} returns: counts aren't kept for a backward\n"
            f"  signature:  {forward}\n"
            f"  likely fix: keep it as a residual, too: (...; kept_{name}: i64[])"
        )


def _check_not_overwritten(forward: Signature, backward: Signature, param: TensorParam) -> None:
    if param.name in {tensor.name for tensor in forward.mutated}:
        raise SignatureError(
            f"{backward.name} takes {param.name}, which {forward.name} overwrites: its old value is gone by then\n"
            f"  signature:  {forward}\n"
            f"  likely fix: keep what is needed as a residual of {forward.name}: old_{param.name}: {type_of(param)}"
        )


def _check_plain(backward: Signature) -> None:
    """Check that a backward neither overwrites inputs, draws random numbers nor decides lengths.

    The incoming gradients may be used elsewhere, and a backward may run twice.
    """
    mutated = [f"overwrites {tensor.name}" for tensor in backward.mutated]
    random = [f"takes the generator {backward.generator.name}"] if backward.generator else []
    decides = [f"decides the length ?{axis}" for axis in backward.data_axes]
    for problem in mutated + random + decides:
        raise SignatureError(
            f"{backward.name} {problem}, which a backward can't\n  signature:  {backward}\n  likely fix: "
            + ("return it as an output" if mutated else "keep what is needed as a residual of the forward")
        )


def _scalar_wire(forward: Signature, backward: Signature, param: ScalarParam, inputs: Mapping[str, int]) -> Wire:
    scalar = next((s for s in forward.scalars if s.name == param.name), None)
    if scalar is None:
        _check_no_count(forward, backward, param.name)
        raise _unknown_argument_error(forward, backward, param)
    if scalar.kind != param.kind:
        raise SignatureError(
            f"{backward.name} takes {param}, but in {forward.name} it is {scalar}\n  signature:  {forward}\n"
            f"  likely fix: write {param.name}: {scalar.kind} in {backward.name}"
        )
    return Wire("scalar", inputs[param.name])


def _unknown_argument_error(
    forward: Signature, backward: Signature, param: TensorParam | ScalarParam
) -> SignatureError:
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


def _differentiated_input(forward: Signature, backward: Signature, output: TensorParam) -> int:
    """Return the index of the input whose gradient the output is."""
    name = output.name.removeprefix(GRAD)
    scalars = {s.name for s in forward.scalars}
    tensor = next((p for p in forward.tensors if p.name == name), None)
    if not output.name.startswith(GRAD) or tensor is None or not may_be_differentiable(tensor, forward):
        why = (
            f"{name} is a scalar: make it a tensor (x: T[]) to differentiate with respect to it"
            if name in scalars
            else f"{name} isn't differentiable: it is {tensor}"
            if tensor
            else f"{forward.name} has no tensor input of that name"
        )
        fits = [GRAD + p.name for p in forward.tensors if may_be_differentiable(p, forward)]
        raise SignatureError(
            f"{backward.name} returns {output.name}, but {why}\n  it may return: {', '.join(fits) or 'nothing'}\n"
            f"  signature:  {forward}"
        )
    _check_same(forward, backward, output, tensor, optional=True)
    return forward.inputs.index(tensor)


def _check_same(
    forward: Signature, backward: Signature, param: TensorParam, of: TensorParam, *, optional: bool = False
) -> None:
    same = (param.type, str(param.shape), param.listed) == (of.type, _resolved_shape(of), of.listed)
    if same and (optional or param.optional or not of.optional):
        return
    mark = "?" if of.optional and not optional else ""
    raise SignatureError(
        f"{backward.name} has {param}, but in {forward.name} it belongs to {of}\n"
        f"  signature:  {forward}\n"
        f"  likely fix: write {param.name}: {type_of(of)}{mark} in {backward.name}"
    )


def _check_visible(forward: Signature, backward: Signature, axes: tuple[str, ...], ellipsis: bool) -> None:
    """Check that every call determines a backward's axes and element types, and that it returns only gradients."""
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
                f"  likely fix: take an input of that type as well: {of.name}: {type_of(of)}"
            )
    if backward.residuals or not backward.outputs:
        raise SignatureError(
            f"{backward.name} must return gradients, and only gradients (no residuals)\n  signature:  {backward}"
        )


def _check_named_sizes(forward: Signature, backward: Signature) -> None:
    """Check that a name that both have stands for the same size."""
    known = forward.axes + forward.data_axes
    for size in backward.named_sizes:
        if size.name in known and forward.computed.get(size.name) != size.expr:
            own = forward.computed.get(size.name)
            raise SignatureError(
                f"{backward.name} has {size}, but in {forward.name} "
                f"{f'{size.name} = {own}' if own else f'{size.name} is an axis'}\n"
                f"  signature:  {forward}\n"
                f"  likely fix: leave it out of {backward.name}, which sees the sizes of {forward.name}"
            )


def suggestion(forward: Signature) -> str:
    """Suggest a signature for the missing backward of ``forward``.

    Return "" if there is nothing to differentiate, or if argument names would clash.
    """
    written = forward.outputs + forward.mutated
    gradients = [
        f"{GRAD}{r.name}: {type_of(r)}{'?' * (r.condition is not None)}"
        for r in written
        if may_be_differentiable(r, forward)
    ]
    inputs = [p for p in forward.inputs if isinstance(p, TensorParam | ScalarParam)]
    told = {scalar.name for scalar in [*forward.dtypes.values(), *([forward.device] if forward.device else [])]}
    inputs = [p for p in inputs if p.name not in told]
    saved = [str(p) for p in inputs if p not in forward.mutated]
    results = [f"{GRAD}{p.name}: {type_of(p)}" for p in forward.tensors if may_be_differentiable(p, forward)]
    names = [text.partition(":")[0] for text in gradients + saved]
    if not gradients or not results or len(set(names)) < len(names):
        return ""
    batched = " batched" * forward.batched
    return f"{backward_of(forward.shown_name)}({', '.join(gradients + saved)}) -> ({', '.join(results)}){batched}"


def type_of(param: TensorParam) -> str:
    """Return a tensor's element type and shape in the notation, as they appear in the backward's signature."""
    written = f"{param.type}{_resolved_shape(param) if param.shape else ''}"
    return f"list[{written}]" if param.listed else written


def _resolved_shape(param: TensorParam) -> str:
    """Return the shape as a backward writes it, without ``?``: a kernel-decided length is known in the backward."""
    return str(resolved(param.shape))


def find_tensor(params: Iterable[TensorParam], name: str) -> TensorParam:
    """Return the tensor with the name `name`."""
    return next(param for param in params if param.name == name)


_GRADIENTS = ("gradient", "zero_gradient")


@record
class NodePlan:
    """The autograd node of one operator.

    Attributes:
        wires: the source of each argument of the backward; empty without a backward.
        edges: indices in the schema of the arguments that the node has edges to. Mutated arguments are first, as
            PyTorch's CopySlices, which replaces the node of a mutated view, expects.
        gradients: for each edge, the index of the backward's output that is its gradient; -1 for an overwritten
            argument without a gradient, which gets zero.
        differentiable: for each of :attr:`Signature.written`, whether the backward takes its gradient.
        slots: for each of :attr:`Signature.written`, the index of the node's input; -1 for a residual whose gradient
            the backward doesn't take. So the node of an operator that only overwrites has one input, as CopySlices
            requires.
    """

    wires: tuple[Wire, ...]
    edges: tuple[int, ...]
    gradients: tuple[int, ...]
    differentiable: tuple[bool, ...]
    slots: tuple[int, ...]


def node_plan(sig: Signature, derivative: Derivative | None) -> NodePlan:
    """Return the plan of the autograd node of `sig`; if `derivative` is None, the node's backward raises."""
    tensors = [(i, p) for i, p in enumerate(sig.inputs) if isinstance(p, TensorParam)]
    inputs = derivative.inputs if derivative else tuple(i for i, p in tensors if may_be_differentiable(p, sig))
    edges = tuple(dict.fromkeys([*(i for i, p in tensors if p.mutated), *inputs]))
    wires = derivative.wires if derivative else ()
    return NodePlan(
        wires=wires,
        edges=edges,
        gradients=tuple(inputs.index(edge) if edge in inputs else -1 for edge in edges),
        differentiable=derivative.differentiable
        if derivative
        else tuple(may_be_differentiable(tensor, sig) for tensor in sig.written),
        slots=_gradient_slots(sig, wires),
    )


def _gradient_slots(sig: Signature, wires: tuple[Wire, ...]) -> tuple[int, ...]:
    taken = {wire.index for wire in wires if wire.source in _GRADIENTS}
    residuals = range(len(sig.outputs), len(sig.results))
    slots: list[int] = []
    for i in range(len(sig.written)):
        constant = i in residuals and i not in taken
        slots.append(-1 if constant else sum(slot >= 0 for slot in slots))
    return tuple(slots)
