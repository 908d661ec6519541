"""Check of forward mode: against the numerical Jacobian."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch.autograd import forward_ad

from opwright.check.calls.cases import Arguments, Case
from opwright.check.context import Context
from opwright.check.gradients.gradcheck import MAX_NUMEL, SIZES, GradientSearch, differentiable_types, straight_through
from opwright.check.gradients.jacobian import NumericalJacobian, numerical_jacobian
from opwright.check.gradients.point import Point, Tensors, as_vector
from opwright.check.registry import register
from opwright.check.report import Finding, Skipped, first_line


@register("forward mode", group="gradients", share=0.5)
def forward_mode(context: Context) -> Iterator[Finding]:
    """Compare forward-mode derivatives with numerical ones: they must not be silently zero."""
    search = GradientSearch(context, differentiable_types(context))
    estimates = frozenset(straight_through(context))
    _require_forward_mode(search)

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        point = search.point(case, arguments)
        return compare_forward(point, numerical_jacobian(point), case.seed, estimates) if point else None

    finding = context.find(judge, types=search.types, sizes=SIZES, max_numel=MAX_NUMEL)
    if finding:
        yield replace(finding, kind="wrong-forward-mode") if finding.kind == "raises" else finding
    context.detail = f"{context.tried} calls: derivatives along directions against numerical ones"


def _require_forward_mode(search: GradientSearch) -> None:
    for point in search.points():
        try:
            forward_derivatives(point, draw_tangents(point, 0))
        except (RuntimeError, NotImplementedError) as error:
            raise Skipped(f"there is none, and asking for it is an error: {first_line(error)}") from None
        return


def forward_derivatives(point: Point, tangents: Tensors) -> dict[str, torch.Tensor | None]:
    """Compute each result's derivative along `tangents`; None if it has no tangent in forward mode."""
    with warnings.catch_warnings(), forward_ad.dual_level():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch's first dual number imports a deprecated module
        duals = {
            name: forward_ad.make_dual(_without_overlap(value), tangents[name]) if name in tangents else value
            for name, value in point.arguments.items()
        }
        results = point.function(duals)
        return {n: forward_ad.unpack_dual(v).tangent for n, v in zip(point.results, results, strict=True)}


def _without_overlap(value: torch.Tensor) -> torch.Tensor:
    """Return a contiguous copy if elements share memory: PyTorch can't write a tangent of that layout."""
    return value.contiguous() if 0 in value.stride() else value


def draw_tangents(point: Point, seed: int) -> dict[str, torch.Tensor]:
    """Draw a random direction: a tangent for each argument."""
    generator = torch.Generator().manual_seed(seed)
    return {n: (torch.rand(v.shape, generator=generator) * 2 - 1).to(v) for n, v in point.arguments.items()}


def compare_forward(point: Point, expected: NumericalJacobian, seed: int, estimates: frozenset[str]) -> Finding | None:
    """Compare forward mode along each argument alone, and along all; arguments in `estimates` aren't compared."""
    tangents_by_argument = {n: t for n, t in draw_tangents(point, seed).items() if n not in estimates}
    directions = [{name: tangent} for name, tangent in tangents_by_argument.items()]
    if len(tangents_by_argument) > 1:
        directions.append(tangents_by_argument)
    for tangents in directions:
        got = forward_derivatives(point, tangents)
        for result, value in got.items():
            if finding := _tangent_difference(point, expected, result, value, tangents):
                return finding
    return None


def _tangent_difference(
    point: Point, expected: NumericalJacobian, result: str, value: torch.Tensor | None, tangents: Tensors
) -> Finding | None:
    along = {name: as_vector(tangent) for name, tangent in tangents.items()}
    parts = [(expected.values[result, n], expected.smooth[result, n], t) for n, t in along.items()]
    total = torch.stack([v @ t for v, _, t in parts]).sum(0)
    size = torch.stack([v.abs() @ t.abs() for v, _, t in parts]).sum(0)
    errors = torch.stack([expected.errors[result, n].sum(1) for n in tangents]).sum(0)
    smooth = torch.stack([s.all(1) for _, s, _ in parts]).all(0)
    got = torch.zeros_like(total) if value is None else as_vector(value)
    wrong = smooth & ~((got - total).abs() <= max(1e-6, 400 * point.precision) * size + 10 * errors + 1e-12)
    if not bool(wrong.any()):
        return None
    at = int(wrong.int().argmax())
    named = " and ".join(tangents)
    if value is None or not bool((got != 0).any()):
        numerically = f"numerically {float(total[at]):.6g}"
        return Finding("forward-mode-zero", f"d {result} along {named} is zero in forward mode, {numerically}")
    return Finding(
        "wrong-forward-mode",
        f"d {result} along {named} is {float(got[at]):.6g} in forward mode, numerically "
        f"{float(total[at]):.6g}; {int(wrong.sum())} of {wrong.numel()} elements are wrong",
    )
