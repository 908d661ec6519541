"""Forward mode beside the numerical Jacobian."""

from __future__ import annotations

import warnings

import torch
from torch.autograd import forward_ad

from opwright.check.jacobian import Numerical
from opwright.check.points import Point, Tensors
from opwright.check.report import Finding


def derivatives(point: Point, tangents: Tensors) -> dict[str, torch.Tensor | None]:
    """Each result's derivative along `tangents`; None where forward mode knows of none. What it raises is passed on."""
    with warnings.catch_warnings(), forward_ad.dual_level():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # PyTorch's first dual number imports what it has deprecated
        duals = {
            name: forward_ad.make_dual(_apart(value), tangents[name]) if name in tangents else value
            for name, value in point.arguments.items()
        }
        made = point.function(duals)
        return {n: forward_ad.unpack_dual(v).tangent for n, v in zip(point.results, made, strict=True)}


def _apart(value: torch.Tensor) -> torch.Tensor:
    """Elements that share no memory: a dual number's tangent gets the same layout, and PyTorch can't write it else."""
    return value.contiguous() if 0 in value.stride() else value


def drawn(point: Point, seed: int) -> dict[str, torch.Tensor]:
    """A direction."""
    generator = torch.Generator().manual_seed(seed)
    return {n: (torch.rand(v.shape, generator=generator) * 2 - 1).to(v) for n, v in point.arguments.items()}


def compared(point: Point, expected: Numerical, seed: int, kept: frozenset[str]) -> Finding | None:
    """Forward mode along each argument alone, and along all; `kept`: arguments that aren't compared."""
    every = {n: t for n, t in drawn(point, seed).items() if n not in kept}
    directions = [{name: tangent} for name, tangent in every.items()]
    if len(every) > 1:
        directions.append(every)
    for tangents in directions:
        got = derivatives(point, tangents)
        for result, value in got.items():
            if finding := _judged(point, expected, result, value, tangents):
                return finding
    return None


def _judged(
    point: Point, expected: Numerical, result: str, value: torch.Tensor | None, tangents: Tensors
) -> Finding | None:
    along = {name: tangent.detach().reshape(-1).double().cpu() for name, tangent in tangents.items()}
    parts = [(expected.values[result, n], expected.smooth[result, n], t) for n, t in along.items()]
    total = torch.stack([v @ t for v, _, t in parts]).sum(0)
    size = torch.stack([v.abs() @ t.abs() for v, _, t in parts]).sum(0)
    errors = torch.stack([expected.errors[result, n].sum(1) for n in tangents]).sum(0)
    smooth = torch.stack([s.all(1) for _, s, _ in parts]).all(0)
    got = torch.zeros_like(total) if value is None else value.reshape(-1).double().cpu()
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
