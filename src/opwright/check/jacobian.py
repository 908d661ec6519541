"""Jacobians: by autograd from unit vectors, and by differences, extrapolated to a step of zero, with their error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from opwright.check.points import Point

Place = tuple[str, str]
"""A result and an argument."""
Blocks = dict[Place, torch.Tensor]
"""For each result and argument a matrix, on the CPU: rows for the result's elements, columns for the argument's."""

_FINE = (2.0**-7, 3)
_COARSE = (2.0**-2, 4)
"""The largest step, and how many there are, each half of the one before: in float64, and in what is less exact."""
FLOAT64_ENOUGH = 1e-10
"""Element types that are as exact as this are differenced with small steps."""
_TRUSTED = 1e-3
"""An element whose error is estimated to be a larger share of its size has no numerical derivative."""


@dataclass(frozen=True)
class Numerical:
    """A Jacobian by differences.

    Attributes:
        values: the derivatives.
        errors: how far off they may be.
        smooth: where there is a derivative, for all results: one-sided differences agree, and converge.
    """

    values: Blocks
    errors: Blocks
    smooth: Blocks


@dataclass(frozen=True)
class Analytical:
    """A Jacobian by autograd.

    Attributes:
        values: the derivatives; zeros where there is no gradient.
        detached: where autograd knows of no path from the result to the argument.
    """

    values: Blocks
    detached: frozenset[Place]


def analytical(point: Point, *, zeros: bool = False) -> Analytical:
    """The Jacobian that the backward gives, a row for each unit vector.

    `zeros`: whether the other results get gradients of zeros; without it they have none.
    """
    leaves = point.leaves()
    results = dict(zip(point.results, point.function(leaves), strict=True))
    traced = {name: value for name, value in results.items() if value.requires_grad}
    values: Blocks = {}
    detached: set[Place] = set()
    for name, result in results.items():
        count = result.numel() if name in traced else 0
        rows = [_row(traced, name, element, leaves, zeros=zeros) for element in range(count)]
        for k, (argument, leaf) in enumerate(leaves.items()):
            columns = [row[k] for row in rows]
            if all(column is None for column in columns):
                detached.add((name, argument))
            block = [
                torch.zeros(leaf.numel(), device=leaf.device) if c is None else c.detach().reshape(-1) for c in columns
            ]
            stacked = torch.stack(block) if block else leaf.new_zeros(result.numel(), leaf.numel())
            values[name, argument] = stacked.to("cpu", torch.float64)
    return Analytical(values, frozenset(detached))


def _row(
    results: Mapping[str, torch.Tensor], name: str, element: int, leaves: Mapping[str, torch.Tensor], *, zeros: bool
) -> Sequence[torch.Tensor | None]:
    asked = results if zeros else {name: results[name]}
    vectors = [torch.zeros(r.shape, dtype=r.dtype, device=r.device) for r in asked.values()]
    vectors[list(asked).index(name)].view(-1)[element] = 1
    return torch.autograd.grad(
        list(asked.values()), list(leaves.values()), vectors, retain_graph=True, allow_unused=True
    )


def numerical(point: Point) -> Numerical:
    """The Jacobian by central differences of several steps (Ridders 1982), on row-major copies of the arguments."""
    exact = point.precision < FLOAT64_ENOUGH
    largest, count = _FINE if exact else _COARSE
    arguments = {n: v.detach().clone(memory_format=torch.contiguous_format) for n, v in point.arguments.items()}
    base = flat_values(point, arguments)
    found = Numerical({}, {}, {})
    for name in arguments:
        levels = [_differences(point, arguments, name, largest / 2**k, base) for k in range(count)]
        for k, result in enumerate(point.results):
            place = result, name
            widths = [level.widths for level in levels]
            values, errors = extrapolated([level.central[k] for level in levels], widths, base[k], point.precision)
            gap = (2 * levels[-1].gaps[k] - levels[-2].gaps[k]).abs()
            found.values[place], found.errors[place] = values, errors
            found.smooth[place] = _smooth(values, errors, gap, base[k], 1e-4 if exact else 1e-2)
        _together(found.smooth, [(result, name) for result in point.results])
    return found


@dataclass(frozen=True)
class _Level:
    """Differences of one step: for each result a matrix as in `Blocks`; how wide each column's difference is."""

    central: list[torch.Tensor]
    gaps: list[torch.Tensor]
    widths: torch.Tensor


def _differences(
    point: Point, arguments: dict[str, torch.Tensor], name: str, step: float, base: Sequence[torch.Tensor]
) -> _Level:
    central: list[list[torch.Tensor]] = [[] for _ in base]
    gaps: list[list[torch.Tensor]] = [[] for _ in base]
    widths: list[float] = []
    for element in range(arguments[name].numel()):
        above, up = _moved(point, arguments, name, element, step, base)
        below, down = _moved(point, arguments, name, element, -step, base)
        widths.append(up - down)
        for k, middle in enumerate(base):
            central[k].append((above[k] - below[k]) / (up - down))
            gaps[k].append((above[k] - middle) / up - (below[k] - middle) / down)
    return _Level(_matrices(central, base), _matrices(gaps, base), torch.tensor(widths, dtype=torch.float64))


def _matrices(columns: Sequence[list[torch.Tensor]], base: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    empty = [torch.zeros(len(middle), 0, dtype=torch.float64) for middle in base]
    return [torch.stack(each, 1) if each else none for each, none in zip(columns, empty, strict=True)]


def _moved(
    point: Point,
    arguments: dict[str, torch.Tensor],
    name: str,
    element: int,
    step: float,
    base: Sequence[torch.Tensor],
) -> tuple[list[torch.Tensor], float]:
    """The results one step away, and how long the step was: numbers aren't dense."""
    before = arguments[name]
    moved = before.clone()
    flat = moved.view(-1)
    old = float(flat[element])
    flat[element] += step * max(1.0, abs(old))
    made = flat_values(point, {**arguments, name: moved})
    values = [a if a.shape == b.shape else torch.full_like(b, float("nan")) for a, b in zip(made, base, strict=True)]
    return values, float(flat[element]) - old


def flat_values(point: Point, arguments: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
    """The results, flat, as float64 on the CPU."""
    return [r.detach().reshape(-1).to("cpu", torch.float64) for r in point.function(arguments)]


def extrapolated(
    central: Sequence[torch.Tensor], widths: Sequence[torch.Tensor], base: torch.Tensor, precision: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Ridders' table: of all extrapolations the one that differs least from those that it was made of."""
    size = base.abs().unsqueeze(1)
    best, error = central[0], torch.full_like(central[0], float("inf"))
    previous = list(central)
    for order in range(1, len(central)):
        factor, current = 4.0**order, []
        for k in range(1, len(previous)):
            made = (factor * previous[k] - previous[k - 1]) / (factor - 1)
            off = torch.maximum((made - previous[k]).abs(), (made - previous[k - 1]).abs())
            off = off + precision * size / widths[k + order - 1].abs()
            better = off < error
            best, error = torch.where(better, made, best), torch.where(better, off, error)
            current.append(made)
        previous = current
    return best, error


def _together(smooth: Blocks, places: Sequence[Place]) -> None:
    """Where one result has no derivative by an element, none has: elements that tie may take each other's place."""
    every = torch.stack([smooth[place].all(0) for place in places]).all(0)
    for place in places:
        smooth[place] = smooth[place] & every


def _smooth(
    values: torch.Tensor, errors: torch.Tensor, gaps: torch.Tensor, base: torch.Tensor, allowed: float
) -> torch.Tensor:
    sized = torch.nan_to_num(values, 0.0, 0.0, 0.0).abs()
    size = sized.amax() if sized.numel() else torch.tensor(0.0)
    floor = 1e-6 * (1 + base.abs()).unsqueeze(1)
    converges = errors <= _TRUSTED * (sized + size) + floor * (allowed / 1e-4)
    one = gaps <= allowed * (sized + size) + 10 * errors + floor * (allowed / 1e-4)
    return torch.isfinite(values) & torch.isfinite(errors) & converges & one
