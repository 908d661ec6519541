"""Check of independent axes: what a signature promises of them, and the axes that keep that promise without saying it.

Slices along an axis are computed in parts, one by one, in another order, and beside other slices: each has the same
results, and a result without the axis is the sum of those of the parts.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch

from opwright.check.calls.cases import (
    PAIRS,
    Arguments,
    Case,
    can_have_gradient,
    copy_arguments,
    is_floating,
    positional,
)
from opwright.check.calls.target_operator import TargetOperator, as_results, as_tensors, is_stand_in
from opwright.check.context import Context
from opwright.check.registry import register
from opwright.check.report import Finding, Skipped
from opwright.check.values.conditioning import DRAWS, ROUNDINGS, compute_dtype, perturbed
from opwright.runtime.torch_internals import OpOverload
from opwright.signature import Signature, TensorParam
from opwright.signature.clauses.independent import axis_problem, from_last, operator_problem
from opwright.signature.names import recorded_attribute_of
from opwright.signature.wiring import GRAD, derivative

_SIZES = (3, 2, 5, 4, 7)
_CALLS = {"quick": 6, "normal": 12, "thorough": 200}
_MOST_ALONE = 8
"""Largest number of slices that are computed one by one."""
Tensors = dict[str, torch.Tensor | None]
Results = tuple[torch.Tensor, ...]


class _Function(NamedTuple):
    """An operator or its backward, for one call.

    Attributes:
        signature: its signature.
        tensors: the input tensors by name.
        others: further input tensors of the same shapes, with other values.
        written: the tensors that it returns, or overwrites.
        call: computes those for tensors; further sizes are those of axes that only a forward tells.
        sizes: these sizes.
    """

    signature: Signature
    tensors: Tensors
    others: Callable[[], Tensors]
    written: tuple[TensorParam, ...]
    call: Callable[[Tensors, Mapping[str, int]], Results]
    sizes: Mapping[str, int]


@register("independence", group="values", share=0.5)
def independence(context: Context) -> Iterator[Finding]:
    """Compute slices along independent axes in parts, in another order, and beside others; propose further axes."""
    operator = context.operator
    signatures = [operator.signature, *_backwards(operator)]
    if (problem := operator_problem(operator.signature)) or not operator.signature.tensors:
        raise Skipped(problem[0] if problem else "it takes no tensor")
    if operator.examples:
        raise Skipped("sizes are those of the examples")
    claimed = {signature.name: signature.independent for signature in signatures}
    if operator.ours and not any(claimed.values()) and not any(map(_candidates, signatures)):
        raise Skipped("it has no axis that could be independent")
    types = context.type_choices(floating=True)[0]
    wrong = 0
    if any(claimed.values()):
        finding = context.find(
            lambda case, arguments: _broken_promise(operator, case, arguments, claimed),
            types=types,
            sizes=_SIZES,
            examples=_CALLS[context.level],
        )
        if finding:
            wrong += 1
            yield finding
    told = [f"{name} along {', '.join(axes)}" for name, axes in claimed.items() if axes]
    context.detail = "; ".join([f"{context.tried} calls in parts: {' and '.join(told)}"] * bool(told))
    if operator.ours and not wrong and (found := _proposals(context, signatures, types)):
        axes = " and ".join(f"{name} along {', '.join(axes)}" for name, axes in found.items())
        words = [f"`independent {', '.join((*claimed[name], *axes))}` behind {name}" for name, axes in found.items()]
        text = f"it looks independent: {axes}; if it is meant to be, write {' and '.join(words)}"
        context.detail = "; ".join(filter(None, [context.detail, text]))
    context.detail = context.detail or f"{context.tried} calls in parts: no axis looks independent"


def _backwards(operator: TargetOperator) -> list[Signature]:
    """Return the signature of the backward, if it can be looked at: of what is overwritten, nothing is known after."""
    backward = operator.backward
    looked_at = backward is not None and not operator.mutates and operator_problem(backward) is None
    return [backward] if backward is not None and looked_at else []


def _candidates(signature: Signature) -> list[str]:
    """Return the axes that could be independent, and aren't said to be."""
    known = [a for a in signature.free_axes if a not in signature.independent]
    return [axis for axis in known if axis_problem(signature, axis) is None]


def _broken_promise(
    operator: TargetOperator, case: Case, arguments: Arguments, claimed: Mapping[str, Sequence[str]]
) -> Finding | None:
    for function in _functions(operator, case, arguments, claimed):
        for axis in claimed[function.signature.name]:
            if found := _dependence(function, axis, random.Random(case.seed)):  # noqa: S311 - test data
                name = function.signature.name
                what = f"{name} is called independent along {axis}, but {found}"
                return Finding("not-independent", f"{what}\n  likely fix: leave {axis} out of `independent`")
    return None


def _proposals(context: Context, signatures: Sequence[Signature], types: Any) -> dict[str, list[str]]:
    """Return the axes along which an operator, or its backward, looks independent, and that it doesn't say."""
    open_axes = {signature.name: _candidates(signature) for signature in signatures}
    judged = dict.fromkeys(((name, axis) for name, axes in open_axes.items() for axis in axes), 0)
    if not judged:
        return {}
    for case in context.examples(_CALLS[context.level], types=types, sizes=_SIZES, max_numel=1 << 10):
        if not any(open_axes.values()):
            break
        try:
            functions = [*_functions(context.operator, case, case.arguments(), open_axes)]
            wholes = [_whole(function) for function in functions]
        except Exception:  # noqa: BLE001, S112 - an operator refuses arguments by whatever it raises
            continue
        for function, whole in zip(functions, wholes, strict=True):
            name = function.signature.name
            for axis in tuple(open_axes[name]):
                judged[name, axis] += _size(function, axis) > 1 and any(bool(r.any()) for r in whole if r.numel())
                if _fails_in_parts(function, axis, random.Random(case.seed)):  # noqa: S311 - test data
                    open_axes[name].remove(axis)
    found = {name: [axis for axis in axes if judged[name, axis] > 2] for name, axes in open_axes.items()}
    return {name: axes for name, axes in found.items() if axes}


def _fails_in_parts(function: _Function, axis: str, rng: random.Random) -> bool:
    """Return whether slices depend on others, or the operator refuses to compute parts."""
    try:
        return bool(_dependence(function, axis, rng))
    except Exception:  # noqa: BLE001 - whatever an operator raises
        return True


def _functions(
    operator: TargetOperator, case: Case, arguments: Arguments, axes: Mapping[str, Sequence[str]]
) -> Iterator[_Function]:
    """Yield the operator, and its backward, if axes of theirs are looked at."""
    signature = operator.signature
    if axes[signature.name]:
        yield _forward(operator, case, arguments)
    if operator.backward is not None and axes.get(operator.backward.name):
        yield _backward(operator, operator.backward, case, arguments)


def _forward(operator: TargetOperator, case: Case, arguments: Arguments) -> _Function:
    signature = operator.signature
    names = [tensor.name for tensor in signature.tensors]

    def call(tensors: Tensors, _sizes: Mapping[str, int]) -> Results:
        given = copy_arguments({**arguments, **tensors})
        overwritten = operator.overwritten(given)
        return (*_recorded(operator, given, case), *overwritten)

    def others() -> Tensors:
        return {name: value for name, value in _other(case).arguments().items() if name in names}

    kept = tuple(t for t in signature.mutated if arguments[t.name] is not None)
    of_call = signature.results if _is_recorded(operator) else signature.outputs
    tensors = {name: arguments[name] for name in names}
    return _Function(signature, tensors, others, of_call + kept, call, {})


def _other(case: Case) -> Case:
    return replace(case, seed=case.seed + 1, values="special")


def _is_recorded(operator: TargetOperator) -> bool:
    return operator.ours and operator.op is not None and bool(operator.signature.residuals)


def _recorded(operator: TargetOperator, arguments: Arguments, case: Case) -> Results:
    """Return the operator's results and, if it has any, its residuals."""
    if not _is_recorded(operator) or operator.op is None:
        return operator.call(arguments, case.types)
    recorded = getattr(operator.op.overloadpacket, recorded_attribute_of(operator.signature.name))
    made = recorded(*positional(operator.signature, arguments))
    return as_tensors(as_results(made, operator.signature))


def _backward(operator: TargetOperator, backward: Signature, case: Case, arguments: Arguments) -> _Function:
    """Return the backward as a function: of gradients that are drawn, and of what the forward takes and gives."""
    wiring = derivative(operator.signature, backward)
    op: OpOverload = (operator.namespace or {})[backward.name]

    def saved(case: Case, arguments: Arguments) -> Tensors:
        """Return the backward's inputs for a call of the forward."""
        results = _recorded(operator, copy_arguments(arguments), case)
        known = {**arguments, **dict(zip((r.name for r in operator.signature.results), results, strict=False))}
        generator = torch.Generator().manual_seed(case.seed)
        for output, result in zip(operator.signature.outputs, results, strict=False):
            if can_have_gradient(result):
                drawn = torch.randn(result.shape, generator=generator, dtype=torch.float64)
                known[GRAD + output.name] = drawn.to(result.dtype)
        return {t.name: known.get(t.name) for t in backward.tensors}

    def call(tensors: Tensors, sizes: Mapping[str, int]) -> Results:
        given = positional(backward, {**arguments, **tensors})
        leading = [list(case.sample.binding.ellipsis or ())] * wiring.ellipsis
        made = op(*given, *(sizes[axis] for axis in wiring.axes), *leading, [True] * len(backward.outputs))
        return as_tensors(as_results(made, backward))

    def others() -> Tensors:
        return saved(_other(case), _other(case).arguments())

    axes = {axis: case.sample.binding.axes[axis] for axis in wiring.axes}
    return _Function(backward, saved(case, arguments), others, backward.outputs, call, axes)


@dataclass(frozen=True)
class _Along:
    """A function's tensors along one axis."""

    function: _Function
    axis: str

    @functools.cached_property
    def noise(self) -> list[float]:
        """How much rounding may change an element of each result: sums whose terms cancel consist of nothing else.

        It is what changes of the inputs in their last places do.
        """
        tensors, whole = self.function.tensors, _whole(self.function)
        most = [0.0] * len(whole)
        for draw in range(DRAWS):
            moved = perturbed(tensors, torch.finfo(compute_dtype(tensors)).eps, draw)
            for i, (one, other) in enumerate(zip(self.function.call(moved, self.function.sizes), whole, strict=True)):
                if is_floating(one) and can_have_gradient(one) and one.shape == other.shape:
                    moves = (one.detach().double() - other.detach().double()).abs()
                    most[i] = max([most[i], *moves[moves.isfinite()].tolist()])
        return [ROUNDINGS * change for change in most]

    def place(self, tensor: TensorParam, value: torch.Tensor) -> int | None:
        """Return which axis of a tensor it is; None if the tensor lacks it."""
        last = from_last(tensor, self.axis)
        return value.dim() - last if last else None

    def inputs(self, change: Callable[[torch.Tensor, int, str], torch.Tensor]) -> Tensors:
        """Return the inputs; those with the axis are changed by a function of the tensor, its axis and its name."""
        made: Tensors = {}
        for tensor in self.function.signature.tensors:
            value = self.function.tensors[tensor.name]
            at = None if value is None else self.place(tensor, value)
            made[tensor.name] = value if value is None or at is None else change(value, at, tensor.name)
        return made

    def call(self, size: int, change: Callable[[torch.Tensor, int, str], torch.Tensor]) -> Results:
        """Return the results for changed inputs; `size`: their number of slices."""
        sizes = {**self.function.sizes, **({self.axis: size} if self.axis in self.function.sizes else {})}
        return self.function.call(self.inputs(change), sizes)

    def part(self, start: int, end: int) -> Results:
        """Return the results of some of the slices alone."""
        return self.call(end - start, lambda t, at, _: t.narrow(at, start, end - start))


def _size(function: _Function, axis: str) -> int:
    """Return the number of slices; 0 if no tensor of the call tells it."""
    along = _Along(function, axis)
    for tensor in function.signature.tensors:
        value = function.tensors[tensor.name]
        if value is not None and (at := along.place(tensor, value)) is not None:
            return value.shape[at]
    return function.sizes.get(axis, 0)


def _whole(function: _Function) -> Results:
    return function.call(function.tensors, function.sizes)


def _dependence(function: _Function, axis: str, rng: random.Random) -> str:
    """Return how the results for slices depend on other slices; empty if they don't."""
    number, along = _size(function, axis), _Along(function, axis)
    if number < 2:
        return ""
    whole = _whole(function)
    cut = rng.randrange(1, number)
    divisions = [("in two parts", [(0, cut), (cut, number)])]
    if number <= _MOST_ALONE:
        divisions.append(("one slice at a time", [(i, i + 1) for i in range(number)]))
    if any(along.place(t, r) is None for t, r in zip(function.written, whole, strict=True)):
        divisions.append(("without slices, and with all", [(0, 0), (0, number)]))
    for how, parts in divisions:
        joined = _joined(along, [along.part(*part) for part in parts])
        if wrong := _difference(along, joined, whole):
            return f"{wrong} where it is computed {how}, of {number}"
    turned = along.call(number, lambda t, at, _: t.flip(at))
    back = [_changed(along, t, r, lambda r, at: r.flip(at)) for t, r in zip(function.written, turned, strict=True)]
    if wrong := _difference(along, back, whole):
        return f"{wrong} where the {number} slices are in reverse order"
    return _influence(function, along, rng.randrange(number), whole)


def _influence(function: _Function, along: _Along, kept: int, whole: Results) -> str:
    """Return how the results of a slice change with the values of the others; empty if they don't."""
    others, number = function.others(), _size(function, along.axis)

    def beside(value: torch.Tensor, at: int, name: str) -> torch.Tensor:
        other = others[name]
        if other is None or other.shape != value.shape:
            return value
        mixed = other.clone()
        mixed.narrow(at, kept, 1).copy_(value.narrow(at, kept, 1))
        return mixed

    def slice_of(results: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        pairs = zip(function.written, results, strict=True)
        return [_changed(along, t, r, lambda r, at: r.narrow(at, kept, 1), otherwise=r.new_empty(0)) for t, r in pairs]

    if wrong := _difference(along, slice_of(along.call(number, beside)), slice_of(whole)):
        return f"{wrong} for slice {kept} where the other {number - 1} have other values"
    return ""


def _changed(
    along: _Along,
    tensor: TensorParam,
    value: torch.Tensor,
    change: Callable[[torch.Tensor, int], torch.Tensor],
    otherwise: torch.Tensor | None = None,
) -> torch.Tensor:
    """Change a result that has the axis; return another one as it is, or `otherwise`."""
    at = None if is_stand_in(value) else along.place(tensor, value)
    return change(value, at) if at is not None else value if otherwise is None else otherwise


def _joined(along: _Along, parts: Sequence[Results]) -> list[torch.Tensor]:
    """Return the results of parts: one after the other or, without the axis, their sum."""
    joined = []
    for tensor, pieces in zip(along.function.written, zip(*parts, strict=True), strict=True):
        at = None if is_stand_in(pieces[0]) else along.place(tensor, pieces[0])
        if is_stand_in(pieces[0]):
            joined.append(pieces[0])
        elif at is None:
            joined.append(torch.stack([piece.detach() for piece in pieces]).sum(0).to(pieces[0].dtype))
        else:
            joined.append(torch.cat([_bytes(piece) for piece in pieces], at))
    return joined


def _bytes(value: torch.Tensor) -> torch.Tensor:
    return value.view(torch.uint8) if value.dtype is PAIRS else value.detach()


def _difference(along: _Along, got: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> str:
    """Return which result differs by more than sums in another order may; empty if none does."""
    for i, (tensor, one, other) in enumerate(zip(along.function.written, got, map(_bytes, expected), strict=True)):
        if one.shape != other.shape:
            return f"{tensor.name} has shape {tuple(one.shape)}, not {tuple(other.shape)},"
        wrong = ~_close(one, other)
        if bool(wrong.any()) and along.noise[i]:
            wrong = ~_close(one, other, along.noise[i])
        if not bool(wrong.any()):
            continue
        at = tuple(int(i) for i in wrong.nonzero()[0])
        values = f"{one[at].item():.6g} at {list(at)}, not {other[at].item():.6g},"
        has = from_last(tensor, along.axis)
        return f"{tensor.name} is {values}" if has else f"{tensor.name}, the sum over the slices, is {values}"
    return ""


def _close(one: torch.Tensor, other: torch.Tensor, noise: float = 0.0) -> torch.Tensor:
    """Return where two results agree: to 60% of the bits of their type, or of the largest of them, or to `noise`."""
    if not (one.is_floating_point() or one.is_complex()):
        return one == other
    tolerance = torch.finfo(one.dtype).eps ** 0.6
    wide = torch.complex128 if one.is_complex() else torch.float64
    a, b = one.to(wide), other.to(wide)
    size = b.abs()[torch.isfinite(b.abs())]
    largest = float(size.max()) if size.numel() else 0.0
    return torch.isclose(a, b, rtol=tolerance, atol=max(tolerance * largest, noise), equal_nan=True)
