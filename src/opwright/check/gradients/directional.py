"""Gradients along directions, for calls that are too large for a Jacobian.

A backward returns ``J^T w`` for incoming gradients ``w``. Along a direction ``v`` of the arguments, ``<J^T w, v>`` is
the limit of ``<w, (f(x + h v) - f(x - h v)) / 2h>``: one number, which depends on every element of the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from opwright.check.calls.cases import Arguments, is_complex
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.gradients.jacobian import (
    FLOAT64_PRECISION,
    RELATIVE,
    ROUNDINGS,
    SAME_SIDES,
    SLACK,
    extrapolate,
    flat_values,
    has_derivative,
    values_near,
)
from opwright.check.gradients.point import Point, Tensors, as_parts, as_vector, from_parts
from opwright.check.gradients.vjp import (
    Forward,
    reference_gradients,
)
from opwright.check.values.comparison import reordered_sum_ulp
from opwright.check.values.ulp import ULP, Difference, worst_difference

_FLOAT64_STEPS = (2.0**-12, 3)
_FLOAT32_STEPS = (2.0**-2, 4)
"""The largest step and the number of steps, each half of the one before, for float64 and for less exact types. With
many elements, some are next to a kink, so the steps are smaller than a Jacobian's."""
_CONFIRM_SCALE, _CONFIRM_SCALE_FLOAT32 = 2.0**-10, 2.0**-6
"""Scale of the steps that confirm a wrong gradient; types less exact than float32 can't be confirmed."""
MAX_PRECISION = 1e-6
"""Maximum distance between 1 and the next number in the least exact of a call's element types."""
_RUN = 64
_TAIL = 8
_EVERY = 31
"""Elements that sparse directions move: few are next to a kink."""

Directions = Mapping[str, torch.Tensor]
"""For each argument, the step of each element, row-major."""
_AGREE = 0.1
"""Share of the error by which the derivatives of large and small steps may differ, if steps are large."""


@dataclass(frozen=True)
class DirectionalDerivative:
    """A result's derivative along a direction, flat, as float64 on the CPU.

    Attributes:
        values: the derivatives.
        errors: bounds of their errors.
        smooth: mask of the elements that have a derivative: one-sided differences agree, and converge.
        finite: mask of the result's finite elements.
    """

    values: torch.Tensor
    errors: torch.Tensor
    smooth: torch.Tensor
    finite: torch.Tensor


@dataclass(frozen=True)
class Projection:
    """A gradient's component along a direction, and the same number by differences.

    Attributes:
        got: ``<J^T w, v>``, from the gradient.
        expected: the numerical value.
        allowed: the maximum difference.
    """

    got: float
    expected: float
    allowed: float

    @property
    def wrong(self) -> bool:
        """Whether they differ by more than `allowed`; NaN differs from every number."""
        return not abs(self.got - self.expected) <= self.allowed


def directional_derivatives(
    point: Point, direction: Directions, *, closer: bool = False
) -> dict[str, DirectionalDerivative]:
    """Compute each result's derivative by central differences of several steps, extrapolated (Ridders 1982).

    `closer`: with much smaller steps.
    """
    exact = point.precision < FLOAT64_PRECISION
    largest, count = _FLOAT64_STEPS if exact else _FLOAT32_STEPS
    nearer = (_CONFIRM_SCALE if exact else _CONFIRM_SCALE_FLOAT32) if closer else 1.0
    steps = [largest * nearer / 2**k for k in range(count)]
    arguments = {n: v.detach().clone(memory_format=torch.contiguous_format) for n, v in point.arguments.items()}
    base = flat_values(point, arguments)
    sides = [[_step(point, arguments, direction, sign * step, base) for sign in (1, -1)] for step in steps]
    widths = [torch.tensor([2 * step], dtype=torch.float64) for step in steps]
    derivatives = {}
    for k, result in enumerate(point.results):
        central = [((up[k] - down[k]) / (2 * step)).unsqueeze(1) for (up, down), step in zip(sides, steps, strict=True)]
        gaps = [(up[k] - 2 * base[k] + down[k]) / step for (up, down), step in zip(sides[-2:], steps[-2:], strict=True)]
        values, errors = (part.squeeze(1) for part in extrapolate(central, widths, base[k], point.precision))
        gap = (2 * gaps[1] - gaps[0]).abs()
        smooth = has_derivative(values, errors, gap, base[k], _median(values), exact=exact)
        derivatives[result] = DirectionalDerivative(values, errors + gap, smooth, torch.isfinite(base[k]))
    return derivatives


def linear_derivatives(point: Point, direction: Directions, seed: int) -> dict[str, DirectionalDerivative]:
    """Compute derivatives with small steps, and keep those that are linear in the direction.

    The direction is split into a sum of two (a difference, if it is a single element), whose derivatives must add up.
    This excludes points such as three equal numbers, of which the middle one has a derivative along every direction,
    and yet no gradient.
    """
    generator = torch.Generator().manual_seed(seed)
    moves_several = sum(int(moved.count_nonzero()) for moved in direction.values()) > 1
    if moves_several:
        one = {n: d * (3 * torch.rand(d.shape, generator=generator) - 1) for n, d in direction.items()}
        sign = -1.0
    else:
        one = {n: _signed(point.arguments[n], generator) for n in direction}
        sign = 1.0
    other = {n: d + sign * one[n] for n, d in direction.items()}
    derivatives, a, b = (directional_derivatives(point, along, closer=True) for along in (direction, one, other))
    for name, slope in derivatives.items():
        expected = b[name].values - sign * a[name].values
        errors = slope.errors + a[name].errors + b[name].errors
        size = slope.values.abs() + a[name].values.abs() + b[name].values.abs()
        both = (slope.values - expected).abs() <= SAME_SIDES * size + SLACK * errors
        derivatives[name] = replace(slope, smooth=slope.smooth & a[name].smooth & b[name].smooth & both)
    return derivatives


def draw_directions(point: Point, names: Sequence[str], seed: int) -> Iterator[Directions]:
    """Draw directions: first one that moves every element, then sparse ones, which avoid most kinks."""
    generator = torch.Generator().manual_seed(seed)
    yield {name: _signed(point.arguments[name], generator) for name in names}
    for mask in (_tail, _run, _spread):
        yield {name: (d := _signed(point.arguments[name], generator)) * mask(d, generator) for name in names}


def project(
    gradients: Tensors,
    vectors: Tensors,
    direction: Directions,
    derivatives: Mapping[str, DirectionalDerivative],
    precision: float,
) -> Projection:
    """Compare the gradients for incoming gradients `vectors` with the derivatives along the same direction."""
    ours = torch.cat([(as_vector(gradients[name]) * as_vector(moved)) for name, moved in direction.items()])
    moved = torch.cat([as_vector(steps) for steps in direction.values()])
    ours = torch.where(moved == 0, 0.0, ours)  # an unused element of a gradient may have any value
    weights = torch.cat([as_vector(vectors[name]) for name in vectors])
    theirs = torch.cat([derivatives[name].values for name in vectors])
    errors = torch.cat([derivatives[name].errors for name in vectors])
    used = weights != 0
    theirs, errors = torch.where(used, weights * theirs, 0.0), torch.where(used, weights * errors, 0.0)
    relative = max(RELATIVE, precision * max(ROUNDINGS, 4 * math.sqrt(moved.numel() + weights.numel())))
    size = float(ours.nan_to_num(0.0, 0.0, 0.0).norm() + theirs.norm()) + abs(float(theirs.sum()))
    return Projection(float(ours.sum()), float(theirs.sum()), relative * size + SLACK * float(errors.norm()) + 1e-12)


def unit_direction(point: Point, name: str, element: int) -> Directions:
    """Return the direction that moves one element."""
    moved = torch.zeros(point.arguments[name].shape, dtype=torch.float64)
    moved.view(-1)[element] = 1.0
    return {name: moved}


def _step(
    point: Point, arguments: Tensors, direction: Directions, step: float, base: list[torch.Tensor]
) -> list[torch.Tensor]:
    there = {
        n: (arguments[n].double() + step * d.to(arguments[n].device)).to(arguments[n]) for n, d in direction.items()
    }
    return values_near(point, {**arguments, **there}, base)


def _median(values: torch.Tensor) -> torch.Tensor:
    """Return the median magnitude of nonzero values: unlike the maximum, it isn't affected by a pole."""
    sizes = torch.nan_to_num(values, 0.0, 0.0, 0.0).abs()
    return sizes[sizes > 0].median() if bool((sizes > 0).any()) else torch.tensor(0.0)


def _signed(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Draw numbers that aren't nearly zero, in proportion to large elements."""
    noise = torch.rand(like.shape, generator=generator, dtype=torch.float64) - 0.5
    noise = noise + 0.5 * noise.sign()
    return noise * like.detach().to("cpu", torch.float64).abs().nan_to_num(1.0, 1.0, 1.0).clamp_min(1.0)


def _tail(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Mask the last elements along one of the axes."""
    mask = torch.zeros_like(like)
    if not like.dim():
        return mask + 1
    axis = int(torch.randint(like.dim(), (), generator=generator))
    mask.narrow(axis, max(0, like.shape[axis] - _TAIL), min(_TAIL, like.shape[axis])).fill_(1)
    return mask


def _run(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Mask neighbours in row-major order."""
    mask = torch.zeros_like(like)
    start = int(torch.randint(max(1, like.numel() - _RUN + 1), (), generator=generator))
    mask.view(-1)[start : start + _RUN] = 1
    return mask


def _spread(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    mask = torch.zeros_like(like)
    mask.view(-1)[int(torch.randint(_EVERY, (), generator=generator)) :: _EVERY] = 1
    return mask


Differentiate = Callable[[Directions], Mapping[str, DirectionalDerivative]]


@dataclass
class DirectionalCheck:
    """A call whose backward was run.

    Attributes:
        point: the call.
        names: the arguments that are moved.
        seed: seed of incoming gradients and directions.
        judged: number of directions that had a derivative.
        kinks: number of directions that had none.
    """

    point: Point
    names: Sequence[str]
    seed: int
    judged: int = 0
    kinks: int = 0

    def __post_init__(self) -> None:
        """Run one forward, and keep its graph."""
        self._forward = Forward(self.point)

    def gradients(self, smooth: Mapping[str, torch.Tensor] | None = None) -> tuple[Tensors, Tensors]:
        """Return the inputs' gradients for random gradients of the results (zero where these have kinks), and these."""
        vectors = self._forward.draw(self.seed)
        for name, usable in (smooth or {}).items():
            if name in vectors:
                vectors[name] = vectors[name] * usable.view(vectors[name].shape).to(vectors[name])
        return self._forward.backward(vectors), vectors

    def find_wrong_direction(self) -> tuple[Directions, Projection] | None:
        """Return a direction along which the gradient is wrong; try others only if a kink may hide an error."""
        if not self._forward.results or not any(self.point.arguments[name].numel() for name in self.names):
            return None
        exact = self.point.precision < FLOAT64_PRECISION
        for direction in draw_directions(self.point, self.names, self.seed):
            projection, whole = self.compare(direction)
            if not whole and not (exact and self.has_distinct_values()):
                return None  # steps are too large near a kink, or numbers are equal
            if projection is not None and projection.wrong and (sure := self.confirm(direction)) is not None:
                same = abs(sure.expected - projection.expected) <= _AGREE * abs(sure.got - sure.expected)
                return (direction, sure) if exact or same else None
            if whole:
                return None  # no kink can hide an error then
        return None

    def compare(self, direction: Directions) -> tuple[Projection | None, bool]:
        """Return the comparison (None without a derivative), and whether all finite elements had a derivative."""
        derivatives = self._of_results(directional_derivatives(self.point, direction))
        projection = self._compare(direction, derivatives, lambda less: directional_derivatives(self.point, less))
        whole = all(bool((slope.smooth | ~slope.finite).all()) for slope in derivatives.values())
        self.judged += projection is not None
        self.kinks += projection is None and not whole
        return projection, whole

    def confirm(self, direction: Directions) -> Projection | None:
        """Return the comparison if it is also wrong for small steps, and the derivative is linear."""

        def close(along: Directions) -> dict[str, DirectionalDerivative]:
            return linear_derivatives(self.point, along, self.seed)

        projection = self._compare(direction, self._of_results(close(direction)), close)
        return projection if projection is not None and projection.wrong else None

    def _of_results(self, derivatives: Mapping[str, DirectionalDerivative]) -> dict[str, DirectionalDerivative]:
        return {name: slope for name, slope in derivatives.items() if name in self._forward.results}

    def _compare(
        self, direction: Directions, derivatives: Mapping[str, DirectionalDerivative], again: Differentiate
    ) -> Projection | None:
        """Compare along a direction; `again` differentiates along another one.

        If a result isn't finite, elements whose gradient isn't finite are left out: it may be NaN only because of a
        product with zero.
        """
        gradients, vectors = self.gradients({name: slope.smooth for name, slope in derivatives.items()})
        known = {name: torch.isfinite(gradients[name]).cpu() for name in direction}
        lost = any(not bool(slope.finite.all()) for slope in derivatives.values())
        if lost and not all(bool(mask.all()) for mask in known.values()):
            direction = {name: torch.where(known[name], moved, 0.0) for name, moved in direction.items()}
            derivatives = self._of_results(again(direction))
            gradients, vectors = self.gradients({name: slope.smooth for name, slope in derivatives.items()})
        if not any(bool(slope.smooth.any()) for slope in derivatives.values()):
            return None
        return project(gradients, vectors, direction, derivatives, self.point.precision)

    def has_distinct_values(self) -> bool:
        """Return whether no two numbers are equal.

        A sort of equal numbers has no gradient, but along many directions it appears to have a derivative.
        """
        values = [self.point.arguments[name].detach().reshape(-1) for name in self.names]
        return all(value.unique().numel() == value.numel() for value in values)

    def is_repeatable(self) -> bool:
        """Return whether the same backward gives the same gradient each time, up to rounding."""
        first, again = self.gradients()[0], self.gradients()[0]
        allowed = 4 * reordered_sum_ulp(dict(first))
        return not any(worst_difference(again[name], value, allowed) for name, value in first.items())

    def find_wrong_element(self, direction: Directions) -> tuple[str, int, Projection] | None:
        """Find the one element that is wrong along a wrong direction; None if no single one can be found."""
        for name, moved in direction.items() if self.has_distinct_values() else ():
            part: Directions = {name: moved}
            if self.confirm(part) is None:
                continue
            while int((flat := part[name].reshape(-1)).count_nonzero()) > 1:
                part = next(self._wrong_halves(name, flat), {})
                if not part:
                    return None
            element = int(flat.abs().argmax())
            projection = self.confirm(unit_direction(self.point, name, element))
            return None if projection is None else (name, element, projection)
        return None

    def _wrong_halves(self, name: str, flat: torch.Tensor) -> Iterator[Directions]:
        there = flat.nonzero().squeeze(1)
        for chosen in there.chunk(2):
            half = torch.zeros_like(flat)
            half[chosen] = flat[chosen]
            part = {name: half.view(self.point.arguments[name].shape)}
            if self.confirm(part) is not None:
                yield part

    def compare_with_reference(self, operator: TargetOperator, arguments: Arguments) -> tuple[str, Difference] | None:
        """Return a gradient that differs from the reference's, with the difference; None if none does."""
        if (
            operator.reference is None
            or operator.mutates
            or operator.signature.generator
            or not self.has_distinct_values()
        ):
            return None
        gradients, vectors = self.gradients()
        named = [output.name for output in operator.signature.outputs]

        def given(number: int, result: torch.Tensor) -> torch.Tensor:
            vector = vectors.get(named[number]) if number < len(named) else None
            if vector is None:
                return torch.zeros_like(result)
            return (from_parts(vector) if is_complex(result) else vector).to(result)

        try:
            expected = reference_gradients(operator, arguments, list(self.names), given)
        except Exception:  # noqa: BLE001 - a reference needs no gradient
            return None
        for name, expected_gradient in ((name, as_parts(gradient)) for name, gradient in expected.items()):
            allowed = 4 * max(ULP.get(gradients[name].dtype, 64.0), reordered_sum_ulp(dict(gradients)))
            if bool(expected_gradient.any()) and (
                difference := worst_difference(gradients[name], expected_gradient, allowed)
            ):
                return name, difference
        return None
