"""Gradients that are no derivatives on purpose, against those of the reference."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opwright.check.compare import ULP, difference
from opwright.check.context import Context
from opwright.check.inputs import Arguments, Case, all_copied
from opwright.check.points import Point
from opwright.check.referred import of_reference
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.results import referring
from opwright.check.search import MOST, SIZES, Search, straight_through

_SLACK = 4


@register("estimated gradients", group="gradients", share=0.5)
@referring
def estimated_gradients(context: Context) -> Iterator[Finding]:
    """A gradient that isn't meant to be the derivative is the one that autograd gives for the reference."""
    names = [name for name in straight_through(context) if name in {t.name for t in context.subject.differentiable}]
    if not names:
        raise Skipped("every gradient is meant to be the derivative")
    if context.subject.reference is None:
        raise Skipped("no reference was given")
    search, compared = Search(context, context.type_choices(floating=True)[0]), [0]

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        before = all_copied(arguments)
        if (point := search.point(case, arguments)) is None:
            return None
        generator = torch.Generator().manual_seed(case.seed)
        expected = of_reference(context.subject, before, names, lambda _, result: _drawn(result, generator))
        compared[0] += any(bool(each.any()) for each in expected.values())
        return _compared(point, expected, generator.manual_seed(case.seed)) if expected else None

    found = context.find(judge, types=search.types, sizes=SIZES, max_numel=MOST, values=("uniform", "wide"))
    if compared[0]:
        context.detail = f"{compared[0]} calls: {', '.join(names)} against the reference's gradient"
        if found:
            yield found
        return
    raise Skipped(
        "the reference has no gradient, or it is zero: torch.round is no reference for a gradient that passes it; a "
        "torch.autograd.Function with that gradient is"
    )


def _compared(point: Point, expected: dict[str, torch.Tensor], generator: torch.Generator) -> Finding | None:
    leaves = point.leaves()
    results = point.function(leaves)
    gradients = [_drawn(result, generator).to(result.dtype) for result in results]
    found = torch.autograd.grad(
        results, [leaves[name] for name in expected], gradients, allow_unused=True, materialize_grads=True
    )
    for (name, wanted), got in zip(expected.items(), found, strict=True):
        if wanted.any() and (off := difference(got, wanted, _SLACK * ULP.get(got.dtype, 64.0))):
            return Finding("wrong-estimate", f"grad_{name} differs from the gradient of the reference: {off}")
    return None


def _drawn(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(like.shape, generator=generator, dtype=torch.float64).to(like.device) * 2 - 1
