"""Is a gradient that differs from the numerical one wrong, or is it rounding? Told by how the error grows.

A central difference of step ``eps`` is off by about ``precision * |y| / eps`` for rounding, and by a multiple of
``eps ** 2`` for the curve between. A wrong formula's error depends on neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from opwright.check.jacobian import Blocks, analytical
from opwright.check.points import Point

Cause = Literal["none", "rounding", "step", "formula", "undecided"]

ATOL, RTOL = 1e-5, 1e-3
"""What `torch.autograd.gradcheck` allows by default."""
_LADDER = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
_SAME = 3.0
"""Errors within this ratio are the same."""


@dataclass(frozen=True)
class Measured:
    """One comparison.

    Attributes:
        dtype: the element type.
        eps: the step.
        error: the largest difference of backward and central difference.
        rounding: about what the difference's rounding comes to.
        fits: whether gradcheck would pass.
    """

    dtype: torch.dtype
    eps: float
    error: float
    rounding: float
    fits: bool


@dataclass(frozen=True)
class Story:
    """Why a gradient fits or doesn't.

    Attributes:
        cause: ``"none"``: it fits; ``"rounding"``; ``"step"``: eps is too large for the function's curve;
            ``"formula"``: the backward is wrong; ``"undecided"``: float32 can't tell.
        text: the same in words, with the numbers and what to do.
        measured: all comparisons.
    """

    cause: Cause
    text: str
    measured: tuple[Measured, ...]


def story(points: Sequence[Point], eps: float) -> Story:
    """Why the first point's gradient fits or doesn't at a step of `eps`.

    Args:
        points: the same point in one or more element types, the one that is asked about first.
        eps: the step of gradcheck.
    """
    steps = sorted({eps, *_LADDER})
    tables = [[_measured(point, step) for step in steps] for point in points]
    every = tuple(m for table in tables for m in table)
    asked = next(m for m in tables[0] if m.eps == eps)
    if asked.fits:
        return Story("none", f"in {_kind(asked)} with eps={eps:g} the gradient fits within {asked.error:.1e}", every)
    said = f"in {_kind(asked)} with eps={eps:g} the gradient is off by {asked.error:.1e}, which gradcheck refuses: "
    cause, why = _judged(asked, tables)
    return Story(cause, said + why, every)


def _judged(asked: Measured, tables: Sequence[Sequence[Measured]]) -> tuple[Cause, str]:
    best = min((m for m in tables[-1]), key=lambda m: m.error)
    exact = next(m for m in tables[-1] if m.eps == asked.eps)
    if len(tables) > 1 and exact.fits:
        return "rounding", _rounding(asked, f"in {_kind(exact)} with the same eps it is {exact.error:.1e}", tables)
    if best.fits and best.eps > asked.eps:
        return "rounding", _rounding(asked, f"with eps={best.eps:g} it is {best.error:.1e}", tables)
    if best.fits:
        where = f"in {_kind(best)} with eps={best.eps:g} it is {best.error:.1e}"
        return "step", f"eps is too large for the function's curve: {where}\n{_fix(tables)}"
    clear = sorted((m for m in tables[-1] if m.error > 10 * m.rounding), key=lambda m: m.eps)
    plateau = [m for m in clear if m.error <= _SAME * clear[0].error]
    if len(plateau) > 1:
        return "formula", _formula(plateau)
    return (
        "undecided",
        f"rounding is about {asked.rounding:.1e}; no eps is exact enough to tell it from a wrong formula",
    )


def _rounding(asked: Measured, instead: str, tables: Sequence[Sequence[Measured]]) -> str:
    larger = next((m for m in tables[0] if m.eps > asked.eps), None)
    grows = (
        f"it falls to {larger.error:.1e} at eps={larger.eps:g}, and " if larger and larger.error < asked.error else ""
    )
    return (
        f"that is rounding, not a wrong formula: rounding is about precision * |y| / eps = {asked.rounding:.1e}; "
        f"{grows}{instead}\n{_fix(tables)}"
    )


def _formula(plateau: Sequence[Measured]) -> str:
    listed = ", ".join(f"{m.error:.1e} at eps={m.eps:g}" for m in plateau)
    return (
        f"that is the formula, not rounding: in {_kind(plateau[0])} the error stays what it is whatever the step: "
        f"{listed} (rounding is about {min(m.rounding for m in plateau):.1e})"
    )


def _fix(tables: Sequence[Sequence[Measured]]) -> str:
    if len(tables) > 1:
        return "  likely fix: gradcheck in float64: x.double()"
    fitting = [m for m in tables[0] if m.fits]
    best = min(fitting, key=lambda m: m.error).eps if fitting else 0.1
    return f"  likely fix: gradcheck with eps={best:g}"


def _measured(point: Point, eps: float) -> Measured:
    """The largest difference of backward and central difference at one step."""
    got = analytical(point).values
    steps, rounding = _central(point, eps)
    off = {place: (got[place] - expected).abs() for place, expected in steps.items()}
    fits = all(bool((off[place] <= ATOL + RTOL * steps[place].abs()).all()) for place in steps)
    error = max((float(each.max()) for each in off.values() if each.numel()), default=0.0)
    dtype = next(iter(point.arguments.values())).dtype
    return Measured(dtype, eps, error, rounding, fits)


def _central(point: Point, eps: float) -> tuple[Blocks, float]:
    """As gradcheck does it: x ± eps, divided by 2 eps."""
    arguments = {n: v.detach().clone(memory_format=torch.contiguous_format) for n, v in point.arguments.items()}
    base = _flat(point, arguments)
    size = max((float(b.abs().max()) for b in base if b.numel()), default=0.0)
    blocks: Blocks = {}
    for name, value in arguments.items():
        columns: list[list[torch.Tensor]] = []
        for element in range(value.numel()):
            sides = []
            for step in (eps, -eps):
                moved = value.clone()
                moved.view(-1)[element] += step
                sides.append(_flat(point, {**arguments, name: moved}))
            columns.append([(up - down) / (2 * eps) for up, down in zip(*sides, strict=True)])
        for k, result in enumerate(point.results):
            each = [column[k] for column in columns]
            blocks[result, name] = torch.stack(each, 1) if each else base[k].new_zeros(len(base[k]), 0)
    return blocks, point.precision * size / eps


def _flat(point: Point, arguments: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    return [r.detach().reshape(-1).double().cpu() for r in point.function(arguments)]


def _kind(measured: Measured) -> str:
    return str(measured.dtype).removeprefix("torch.")
