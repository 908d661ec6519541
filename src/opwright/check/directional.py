"""Derivatives along directions: of calls that are too large for a Jacobian.

A backward gives ``J^T w`` for incoming gradients ``w``. Along a direction ``v`` of the arguments, ``<J^T w, v>`` is
what ``<w, (f(x + h v) - f(x - h v)) / 2h>`` tends to: one number, which depends on every element of the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from opwright.check.jacobian import FLOAT64_ENOUGH, extrapolated, flat_values
from opwright.check.points import Point, Tensors

_FINE = (2.0**-12, 3)
_COARSE = (2.0**-2, 4)
"""The largest step, and how many there are, each half of the one before: in float64, and in what is less exact. Of many
elements some are next to a kink: steps are smaller than a Jacobian's."""
_CLOSER, _CLOSER_COARSE = 2.0**-10, 2.0**-6
"""How much smaller the steps are that confirm a wrong gradient; nothing coarser than float32 can be confirmed."""
ENOUGH = 1e-6
"""The least exact of a call's element types may have this distance between 1 and the next number."""
_TRUSTED = 1e-3
"""A result whose error is estimated to be a larger share of its size has no numerical derivative."""
_SAME_SIDES, _SAME_SIDES_COARSE = 1e-4, 1e-2
"""By how much, relatively, one-sided differences may disagree."""
_RELATIVE = 1e-6
_ROUNDINGS = 200.0
"""How many units of the last place a gradient's own roundings may come to."""
_SLACK = 10.0
"""How much larger than its estimate the numerical derivative's error may be; errors add up as a random walk does, since
the incoming gradients have random signs."""
_RUN = 64
_TAIL = 8
_EVERY = 31
"""How many elements sparse directions move: few are next to a kink."""

Directions = Mapping[str, torch.Tensor]
"""For each argument by how much it is moved, row-major."""


@dataclass(frozen=True)
class Slope:
    """A result's derivative along a direction, flat, as float64 on the CPU.

    Attributes:
        values: the derivatives.
        errors: how far off they may be.
        smooth: where there is a derivative: one-sided differences agree, and converge.
        finite: which elements of the result are numbers.
    """

    values: torch.Tensor
    errors: torch.Tensor
    smooth: torch.Tensor
    finite: torch.Tensor


@dataclass(frozen=True)
class Compared:
    """What a gradient says along a direction, and what differences say.

    Attributes:
        got: ``<J^T w, v>``, of the gradient.
        expected: the same, numerically.
        allowed: by how much they may differ.
    """

    got: float
    expected: float
    allowed: float

    @property
    def wrong(self) -> bool:
        """Whether they differ by more; NaN differs from every number."""
        return not abs(self.got - self.expected) <= self.allowed


def slopes(point: Point, direction: Directions, *, closer: bool = False) -> dict[str, Slope]:
    """Each result's derivative by central differences of several steps, extrapolated (Ridders 1982).

    `closer`: with much smaller steps.
    """
    exact = point.precision < FLOAT64_ENOUGH
    largest, count = _FINE if exact else _COARSE
    nearer = (_CLOSER if exact else _CLOSER_COARSE) if closer else 1.0
    steps = [largest * nearer / 2**k for k in range(count)]
    arguments = {n: v.detach().clone(memory_format=torch.contiguous_format) for n, v in point.arguments.items()}
    base = flat_values(point, arguments)
    sides = [[_moved(point, arguments, direction, sign * step, base) for sign in (1, -1)] for step in steps]
    widths = [torch.tensor([2 * step], dtype=torch.float64) for step in steps]
    found = {}
    for k, result in enumerate(point.results):
        central = [((up[k] - down[k]) / (2 * step)).unsqueeze(1) for (up, down), step in zip(sides, steps, strict=True)]
        gaps = [(up[k] - 2 * base[k] + down[k]) / step for (up, down), step in zip(sides[-2:], steps[-2:], strict=True)]
        values, errors = (each.squeeze(1) for each in extrapolated(central, widths, base[k], point.precision))
        gap = (2 * gaps[1] - gaps[0]).abs()
        smooth = _smooth(values, errors, gap, base[k], _SAME_SIDES if exact else _SAME_SIDES_COARSE)
        found[result] = Slope(values, errors + gap, smooth, torch.isfinite(base[k]))
    return found


def linear(point: Point, direction: Directions, seed: int) -> dict[str, Slope]:
    """The slopes, close by, where they are also the sum of those along two other directions.

    Of three equal numbers the middle one has a derivative along every direction, and yet no gradient. The direction is
    that sum; one of a single element is the difference.
    """
    generator = torch.Generator().manual_seed(seed)
    several = sum(int(moved.count_nonzero()) for moved in direction.values()) > 1
    if several:
        one = {n: d * (3 * torch.rand(d.shape, generator=generator) - 1) for n, d in direction.items()}
        sign = -1.0
    else:
        one = {n: _signed(point.arguments[n], generator) for n in direction}
        sign = 1.0
    other = {n: d + sign * one[n] for n, d in direction.items()}
    found, a, b = (slopes(point, each, closer=True) for each in (direction, one, other))
    for name, slope in found.items():
        expected = b[name].values - sign * a[name].values
        errors = slope.errors + a[name].errors + b[name].errors
        size = slope.values.abs() + a[name].values.abs() + b[name].values.abs()
        both = (slope.values - expected).abs() <= _SAME_SIDES * size + _SLACK * errors
        found[name] = replace(slope, smooth=slope.smooth & a[name].smooth & b[name].smooth & both)
    return found


def drawn(point: Point, names: Sequence[str], seed: int) -> Iterator[Directions]:
    """Directions at random: every element first; then sparse ones, which avoid most kinks."""
    generator = torch.Generator().manual_seed(seed)
    yield {name: _signed(point.arguments[name], generator) for name in names}
    for mask in (_tail, _run, _spread):
        yield {name: (d := _signed(point.arguments[name], generator)) * mask(d, generator) for name in names}


def compared(
    gradients: Tensors, vectors: Tensors, direction: Directions, found: Mapping[str, Slope], precision: float
) -> Compared:
    """The gradients for incoming ones, `vectors`, against the slopes along the same direction."""
    ours = torch.cat([(_flat(gradients[name]) * _flat(moved)) for name, moved in direction.items()])
    moved = torch.cat([_flat(each) for each in direction.values()])
    ours = torch.where(moved == 0, 0.0, ours)  # a gradient that isn't asked for may be anything
    weights = torch.cat([_flat(vectors[name]) for name in vectors])
    theirs = torch.cat([found[name].values for name in vectors])
    errors = torch.cat([found[name].errors for name in vectors])
    used = weights != 0
    theirs, errors = torch.where(used, weights * theirs, 0.0), torch.where(used, weights * errors, 0.0)
    relative = max(_RELATIVE, precision * max(_ROUNDINGS, 4 * math.sqrt(moved.numel() + weights.numel())))
    size = float(ours.nan_to_num(0.0, 0.0, 0.0).norm() + theirs.norm()) + abs(float(theirs.sum()))
    return Compared(float(ours.sum()), float(theirs.sum()), relative * size + _SLACK * float(errors.norm()) + 1e-12)


def single(point: Point, name: str, element: int) -> Directions:
    """The direction of one element."""
    moved = torch.zeros(point.arguments[name].shape, dtype=torch.float64)
    moved.view(-1)[element] = 1.0
    return {name: moved}


def _flat(value: torch.Tensor) -> torch.Tensor:
    return value.detach().reshape(-1).to("cpu", torch.float64)


def _moved(
    point: Point, arguments: Tensors, direction: Directions, step: float, base: list[torch.Tensor]
) -> list[torch.Tensor]:
    there = {
        n: (arguments[n].double() + step * d.to(arguments[n].device)).to(arguments[n]) for n, d in direction.items()
    }
    made = flat_values(point, {**arguments, **there})
    return [a if a.shape == b.shape else torch.full_like(b, float("nan")) for a, b in zip(made, base, strict=True)]


def _smooth(
    values: torch.Tensor, errors: torch.Tensor, gaps: torch.Tensor, base: torch.Tensor, allowed: float
) -> torch.Tensor:
    sized = torch.nan_to_num(values, 0.0, 0.0, 0.0).abs()
    some = sized[sized > 0]
    size = sized + (some.median() if some.numel() else 0.0)  # a pole's derivative doesn't say how large others are
    floor = 1e-6 * (1 + base.abs()) * (allowed / _SAME_SIDES)
    converges = errors <= _TRUSTED * size + floor
    one = gaps <= allowed * size + _SLACK * errors + floor
    return torch.isfinite(values) & torch.isfinite(errors) & converges & one


def _signed(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Numbers that are not nearly zero, in proportion to large elements."""
    made = torch.rand(like.shape, generator=generator, dtype=torch.float64) - 0.5
    made = made + 0.5 * made.sign()
    return made * like.detach().to("cpu", torch.float64).abs().nan_to_num(1.0, 1.0, 1.0).clamp_min(1.0)


def _tail(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The last elements along one of the axes."""
    mask = torch.zeros_like(like)
    if not like.dim():
        return mask + 1
    axis = int(torch.randint(like.dim(), (), generator=generator))
    mask.narrow(axis, max(0, like.shape[axis] - _TAIL), min(_TAIL, like.shape[axis])).fill_(1)
    return mask


def _run(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Neighbours in row-major order."""
    mask = torch.zeros_like(like)
    start = int(torch.randint(max(1, like.numel() - _RUN + 1), (), generator=generator))
    mask.view(-1)[start : start + _RUN] = 1
    return mask


def _spread(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    mask = torch.zeros_like(like)
    mask.view(-1)[int(torch.randint(_EVERY, (), generator=generator)) :: _EVERY] = 1
    return mask
