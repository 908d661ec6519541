"""Gradients that have to be the same: asked for alone or together, in every element type."""

from __future__ import annotations

import torch

from opwright.check.compare import difference
from opwright.check.context import Context
from opwright.check.inputs import Arguments, Case
from opwright.check.points import Point, of_case
from opwright.check.report import Finding
from opwright.check.vjp import drawn, traced, vjp

_SMALL = 0.1


def alone(point: Point, seed: int) -> str:
    """What differs where only one gradient is asked for; nothing where all is well."""
    leaves = point.leaves()
    results = traced(point, leaves)
    if not results:
        return ""
    vectors = drawn(results, seed)
    every = vjp(results, leaves, vectors)
    for name, value in point.arguments.items():
        only = {**point.arguments, name: value.detach().requires_grad_()}
        reached = traced(point, only)
        got = vjp(reached, {name: only[name]}, vectors)[name] if reached else torch.zeros_like(value)
        if found := difference(got, every[name].double()):
            return f"grad_{name} alone differs from what it is beside the others: {found}"
    return ""


def of_type(context: Context, case: Case, arguments: Arguments, allowed: float) -> Finding | None:
    """The gradients of one call against those of the same numbers in float64; not where a scalar is nearly zero.

    What divides by such a one has no digits left in the smaller types, however right it is.
    """
    if any(isinstance(value, float) and 0 < abs(value) < _SMALL for value in arguments.values()):
        return None
    try:
        points = [
            of_case(context.subject, case, each, context.seed) for each in (arguments, case.arguments(torch.float64))
        ]
    except Exception:  # noqa: BLE001 - a call that is refused is judged by other checks
        return None
    narrow, wide = points
    if narrow is None or wide is None:
        return None
    generated: list[dict[str, torch.Tensor]] = []
    vectors: dict[str, torch.Tensor] = {}
    for point in (narrow, wide):
        leaves = point.leaves()
        results = traced(point, leaves)
        if not results:
            return None
        vectors = vectors or drawn(results, case.seed)
        generated.append(vjp(results, leaves, {n: v.to(results[n].dtype) for n, v in vectors.items()}))
    for name, got in generated[0].items():
        if found := difference(got, generated[1][name], allowed):
            return Finding("wrong-element-type", f"grad_{name} differs from what float64 gives: {found}")
    return None
