"""Vector-Jacobian products: layouts of incoming gradients, repeated backwards, single gradients, the reference's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from opwright.check.calls.cases import Arguments, Case, to_dtype
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.context import Context
from opwright.check.gradients.jacobian import AutogradJacobian
from opwright.check.gradients.point import Point, Tensors, as_vector, point_of_case
from opwright.check.report import Finding
from opwright.check.values.ulp import worst_difference

Layout = Callable[[torch.Tensor], torch.Tensor]
_ROUNDINGS = 400.0
_SMALL = 0.1


class Forward:
    """A forward whose graph is kept for several backwards.

    Attributes:
        leaves: the arguments that get gradients, by name.
        results: the results that have a gradient, by name.
    """

    def __init__(self, point: Point, leaves: Tensors | None = None) -> None:
        """Call the function of `point` with its own leaves, or with `leaves`."""
        self.leaves = point.leaves() if leaves is None else leaves
        results = zip(point.results, point.function(self.leaves), strict=True)
        self.results = {name: value for name, value in results if value.requires_grad}

    def draw(self, seed: int) -> dict[str, torch.Tensor]:
        """Draw random incoming gradients."""
        generator = torch.Generator().manual_seed(seed)
        return {n: (torch.rand(r.shape, generator=generator) * 2 - 1).to(r) for n, r in self.results.items()}

    def backward(self, vectors: Tensors, names: Sequence[str] = ()) -> dict[str, torch.Tensor]:
        """Compute the gradients of all leaves, or of `names`; zeros if there is no path."""
        leaves = {name: self.leaves[name] for name in names or self.leaves}
        grads: Sequence[torch.Tensor | None] = [None] * len(leaves)
        if self.results:
            roots, incoming = list(self.results.values()), [vectors[name] for name in self.results]
            grads = torch.autograd.grad(roots, list(leaves.values()), incoming, retain_graph=True, allow_unused=True)
        pairs = zip(leaves.items(), grads, strict=True)
        return {name: torch.zeros_like(leaf) if grad is None else grad.detach() for (name, leaf), grad in pairs}


def reference_gradients(
    operator: TargetOperator,
    arguments: Arguments,
    names: Sequence[str],
    incoming: Callable[[int, torch.Tensor], torch.Tensor],
) -> dict[str, torch.Tensor]:
    """Return the reference's gradients by autograd in float64; empty if it has none.

    Args:
        operator: the operator with the reference.
        arguments: the call's arguments, with their values before the call.
        names: the arguments whose gradients are wanted.
        incoming: returns a result's incoming gradient, for its index and the result.
    """
    wide = {name: to_dtype(value) for name, value in arguments.items()}
    leaves = {name: wide[name].detach().requires_grad_() for name in names if wide[name] is not None}
    results = operator.call_reference({**wide, **leaves})
    gradients = [incoming(number, result) for number, result in enumerate(results)]
    pairs = [(r, g) for r, g in zip(results, gradients, strict=True) if r.requires_grad]
    if not pairs:
        return {}
    roots, vectors = zip(*pairs, strict=True)
    grads = torch.autograd.grad(roots, list(leaves.values()), vectors, allow_unused=True, materialize_grads=True)
    return dict(zip(leaves, grads, strict=True))


def _sliced(value: torch.Tensor) -> torch.Tensor:
    space = value.new_full((*value.shape, 2), float("nan"))
    space[..., 1] = value
    return space[..., 1]


def _permuted(value: torch.Tensor) -> torch.Tensor:
    order = list(reversed(range(value.dim())))
    return value.permute(order).contiguous().permute(order)


def _expanded(value: torch.Tensor) -> torch.Tensor:
    """Expand the first index along the first axis, like the gradient of a sum over that axis."""
    return value[:1].expand_as(value) if value.dim() and value.shape[0] else value


def _constant(value: torch.Tensor) -> torch.Tensor:
    """Expand one number to all elements, like the gradient of a sum."""
    return value.reshape(-1)[:1].reshape(()).expand_as(value) if value.numel() else value


LAYOUTS: Mapping[str, Layout] = {
    "contiguous": lambda value: value.clone(),
    "every second element": _sliced,
    "transposed": _permuted,
    "expanded along an axis": _expanded,
    "expanded from one number": _constant,
}


@dataclass(frozen=True)
class LayoutFinding:
    """The layout of an incoming gradient for which the backward is wrong, and the finding."""

    layout: str
    finding: Finding


def check_layouts(point: Point, jacobian: AutogradJacobian, seed: int) -> LayoutFinding | None:
    """Require that backwards with random gradients, in all layouts, give the Jacobian times the gradient.

    `jacobian`: the backward's results for unit vectors.
    """
    return next(_layout_findings(point, jacobian, seed), None)


def check_repeated(point: Point, seed: int) -> Finding | None:
    """Require that a second backward through the same graph gives the same, and that neither changes an argument."""
    forward = Forward(point)
    if not forward.results:
        return None
    before = {name: leaf.detach().clone() for name, leaf in forward.leaves.items()}
    vectors = forward.draw(seed)
    before_vectors = {name: value.clone() for name, value in vectors.items()}
    first = forward.backward(vectors)
    for name, value in before_vectors.items():
        if not _equal(value, vectors[name]):
            return Finding("mutates-gradient", f"the backward overwrites the gradient of {name} that it is given")
    for name, leaf in forward.leaves.items():
        if not _equal(leaf.detach(), before[name]):
            return Finding("mutated-saved", f"the backward overwrites {name}, which was saved for it")
    return _repeat_backward(forward, before_vectors, first, 1e3 * point.precision)


def _repeat_backward(forward: Forward, vectors: Tensors, first: Tensors, relative: float) -> Finding | None:
    try:
        second = forward.backward(vectors)
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return Finding("mutated-saved", f"the backward overwrites what was saved for it: {error}")
    for name, value in first.items():
        if not _equal(value, second[name], relative):
            return Finding(
                "mutated-saved",
                f"a second backward through the same graph gives another gradient for {name}: the first one has "
                "overwritten what was saved",
            )
    return None


def _layout_findings(point: Point, jacobian: AutogradJacobian, seed: int) -> Iterator[LayoutFinding]:
    forward = Forward(point)
    if not forward.results:
        return
    plain = forward.draw(seed)
    for what, layout in LAYOUTS.items():
        vectors = {name: layout(value) for name, value in plain.items()}
        vectors_before = {name: value.clone() for name, value in vectors.items()}
        got = forward.backward(vectors)
        for name, value in got.items():
            expected, size = _expected_product(jacobian, vectors_before, name)
            allowed = max(1e-9, _ROUNDINGS * point.precision) * (size + _mean(size)) + 1e-12
            wrong = ~((as_vector(value) - expected).abs() <= allowed) & torch.isfinite(expected)
            if bool(wrong.any()):
                yield LayoutFinding(what, _layout_message(what, name, int(wrong.sum()), value.numel()))


def _layout_message(layout: str, name: str, count: int, total: int) -> Finding:
    if layout == "contiguous":
        return Finding(
            "nonlinear-backward",
            f"grad_{name}: the backward isn't linear in the incoming gradients: for {count} of {total} elements it "
            "differs from the sum of what it gives for each element's alone",
        )
    return Finding(
        "wrong-when-strided",
        f"grad_{name}: right where the incoming gradient is contiguous; {count} of {total} elements are wrong where it "
        f"is {layout}",
    )


def _expected_product(jacobian: AutogradJacobian, vectors: Tensors, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the vectors times the Jacobian, and the same of absolute values, to which rounding is proportional."""
    terms = [(as_vector(v), jacobian.values[result, name]) for result, v in vectors.items()]
    total = torch.stack([v @ block for v, block in terms]).sum(0)
    return total, torch.stack([v.abs() @ block.abs() for v, block in terms]).sum(0)


def _mean(size: torch.Tensor) -> float:
    """Return the mean of the finite elements; elements without a derivative are left out."""
    finite = size[torch.isfinite(size)]
    return float(finite.mean()) if finite.numel() else 0.0


def _equal(one: torch.Tensor, other: torch.Tensor, relative: float = 0.0) -> bool:
    return bool(torch.allclose(one, other, rtol=relative, atol=relative, equal_nan=True))


def compare_single_gradients(point: Point, seed: int) -> str:
    """Describe the difference if only one gradient is requested; empty if there is none."""
    forward = Forward(point)
    if not forward.results:
        return ""
    vectors = forward.draw(seed)
    together = forward.backward(vectors)
    for name, value in point.arguments.items():
        only = {**point.arguments, name: value.detach().requires_grad_()}
        got = Forward(point, only).backward(vectors, [name])[name]
        if difference := worst_difference(got, together[name].double()):
            return f"grad_{name} alone differs from what it is beside the others: {difference}"
    return ""


def compare_with_float64(context: Context, case: Case, arguments: Arguments, allowed: float) -> Finding | None:
    """Compare the gradients of one call with those of the same numbers in float64, unless a scalar is almost zero.

    A quotient by such a scalar has no correct digits left in the smaller types, even if the kernel is right.
    """
    if any(isinstance(value, float) and 0 < abs(value) < _SMALL for value in arguments.values()):
        return None
    try:
        points = [
            point_of_case(context.operator, case, call, context.seed)
            for call in (arguments, case.arguments(torch.float64))
        ]
    except Exception:  # noqa: BLE001 - other checks judge refused calls
        return None
    narrow, wide = points
    if narrow is None or wide is None:
        return None
    forwards = [Forward(narrow), Forward(wide)]
    if not all(forward.results for forward in forwards):
        return None
    vectors = forwards[0].draw(case.seed)
    gradients = [f.backward({n: vectors[n].to(r.dtype) for n, r in f.results.items()}) for f in forwards]
    for name, got in gradients[0].items():
        if difference := worst_difference(got, gradients[1][name], allowed):
            return Finding("wrong-element-type", f"grad_{name} differs from what float64 gives: {difference}")
    return None
