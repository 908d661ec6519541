"""Jacobians by autograd from unit vectors, and by extrapolated differences with error estimates; their comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from opwright.check.gradients.point import Point, as_vector

Place = tuple[str, str]
"""Names of a result and an argument."""
Blocks = dict[Place, torch.Tensor]
"""A matrix for each result and argument, on the CPU: rows are the result's elements, columns the argument's."""

_FLOAT64_STEPS = (2.0**-7, 3)
_FLOAT32_STEPS = (2.0**-2, 4)
"""The largest step and the number of steps, each half of the one before, for float64 and for less exact types."""
FLOAT64_PRECISION = 1e-10
"""Types with a smaller distance between 1 and the next number are differenced with small steps."""
_TRUSTED = 1e-3
"""An element whose estimated error is a larger share of its magnitude has no numerical derivative."""
SAME_SIDES, _SAME_SIDES_COARSE = 1e-4, 1e-2
"""Relative tolerance between one-sided differences."""
RELATIVE, ROUNDINGS = 1e-6, 200.0
"""Relative tolerance of a gradient, and its own rounding errors in units of the last place."""
SLACK = 10.0
"""Factor by which the numerical derivative's error may exceed its estimate."""


@dataclass(frozen=True)
class NumericalJacobian:
    """A Jacobian by differences.

    Attributes:
        values: the derivatives.
        errors: estimates of their errors.
        smooth: masks of the elements that have a derivative, for all results: one-sided differences agree, and
            converge.
    """

    values: Blocks
    errors: Blocks
    smooth: Blocks


@dataclass(frozen=True)
class AutogradJacobian:
    """A Jacobian by autograd.

    Attributes:
        values: the derivatives; zeros if there is no gradient.
        detached: results and arguments between which autograd has no path.
    """

    values: Blocks
    detached: frozenset[Place]


def autograd_jacobian(point: Point, *, zeros: bool = False) -> AutogradJacobian:
    """Compute the Jacobian by running the backward for each unit vector.

    `zeros`: whether the other results get gradients of zeros instead of none.
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
    return AutogradJacobian(values, frozenset(detached))


def _row(
    results: Mapping[str, torch.Tensor], name: str, element: int, leaves: Mapping[str, torch.Tensor], *, zeros: bool
) -> Sequence[torch.Tensor | None]:
    roots = results if zeros else {name: results[name]}
    vectors = [torch.zeros(r.shape, dtype=r.dtype, device=r.device) for r in roots.values()]
    vectors[list(roots).index(name)].view(-1)[element] = 1
    return torch.autograd.grad(
        list(roots.values()), list(leaves.values()), vectors, retain_graph=True, allow_unused=True
    )


def numerical_jacobian(point: Point) -> NumericalJacobian:
    """Compute the Jacobian by central differences (Ridders 1982), on row-major copies of the arguments."""
    exact = point.precision < FLOAT64_PRECISION
    largest, count = _FLOAT64_STEPS if exact else _FLOAT32_STEPS
    arguments = {n: v.detach().clone(memory_format=torch.contiguous_format) for n, v in point.arguments.items()}
    base = flat_values(point, arguments)
    jacobian = NumericalJacobian({}, {}, {})
    for name in arguments:
        levels = [_differences(point, arguments, name, largest / 2**k, base) for k in range(count)]
        for k, result in enumerate(point.results):
            place = result, name
            widths = [level.widths for level in levels]
            values, errors = extrapolate([level.central[k] for level in levels], widths, base[k], point.precision)
            gap = (2 * levels[-1].gaps[k] - levels[-2].gaps[k]).abs()
            jacobian.values[place], jacobian.errors[place] = values, errors
            largest_value = _magnitudes(values).amax() if values.numel() else torch.tensor(0.0)
            jacobian.smooth[place] = has_derivative(values, errors, gap, base[k][:, None], largest_value, exact=exact)
        _share_kinks(jacobian.smooth, [(result, name) for result in point.results])
    return jacobian


@dataclass(frozen=True)
class _Level:
    """Differences of one step: for each result a matrix as in `Blocks`, and the width of each column's difference."""

    central: list[torch.Tensor]
    gaps: list[torch.Tensor]
    widths: torch.Tensor


def _differences(
    point: Point, arguments: dict[str, torch.Tensor], name: str, step: float, base: Sequence[torch.Tensor]
) -> _Level:
    """Return central differences for one step, and the gaps between the derivatives of the two sides."""
    central: list[list[torch.Tensor]] = [[] for _ in base]
    gaps: list[list[torch.Tensor]] = [[] for _ in base]
    widths: list[float] = []
    for element in range(arguments[name].numel()):
        above, up = _step(point, arguments, name, element, step, base)
        below, down = _step(point, arguments, name, element, -step, base)
        widths.append(up - down)
        for k, middle in enumerate(base):
            central[k].append((above[k] - below[k]) / (up - down))
            gaps[k].append((above[k] - middle) / up - (below[k] - middle) / down)
    return _Level(_matrices(central, base), _matrices(gaps, base), torch.tensor(widths, dtype=torch.float64))


def _matrices(columns: Sequence[list[torch.Tensor]], base: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    empty = [torch.zeros(len(middle), 0, dtype=torch.float64) for middle in base]
    return [
        torch.stack(column_list, 1) if column_list else none for column_list, none in zip(columns, empty, strict=True)
    ]


def _step(
    point: Point,
    arguments: dict[str, torch.Tensor],
    name: str,
    element: int,
    step: float,
    base: Sequence[torch.Tensor],
) -> tuple[list[torch.Tensor], float]:
    """Return the results one step away, and the step's actual length, which is rounded."""
    before = arguments[name]
    moved = before.clone()
    flat = moved.view(-1)
    old = float(flat[element])
    flat[element] += step * max(1.0, abs(old))
    return values_near(point, {**arguments, name: moved}, base), float(flat[element]) - old


def flat_values(point: Point, arguments: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
    """Call the function; return the results flat, as float64 on the CPU."""
    return [as_vector(result) for result in point.function(arguments)]


def values_near(
    point: Point, arguments: Mapping[str, torch.Tensor], base: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """Call the function near the point of the results `base`; a result is NaN if its shape changes."""
    values = flat_values(point, arguments)
    return [a if a.shape == b.shape else torch.full_like(b, float("nan")) for a, b in zip(values, base, strict=True)]


def extrapolate(
    central: Sequence[torch.Tensor], widths: Sequence[torch.Tensor], base: torch.Tensor, precision: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Extrapolate by Ridders' table: of all entries, take the one closest to the entries that it was computed from."""
    size = base.abs().unsqueeze(1)
    best, error = central[0], torch.full_like(central[0], float("inf"))
    previous = list(central)
    for order in range(1, len(central)):
        factor, current = 4.0**order, []
        for k in range(1, len(previous)):
            extrapolated = (factor * previous[k] - previous[k - 1]) / (factor - 1)
            difference = torch.maximum((extrapolated - previous[k]).abs(), (extrapolated - previous[k - 1]).abs())
            difference = difference + precision * size / widths[k + order - 1].abs()
            better = difference < error
            best, error = torch.where(better, extrapolated, best), torch.where(better, difference, error)
            current.append(extrapolated)
        previous = current
    return best, error


def _share_kinks(smooth: Blocks, places: Sequence[Place]) -> None:
    """Treat an element that is a kink of one result as a kink of all: equal elements may be exchanged."""
    smooth_everywhere = torch.stack([smooth[place].all(0) for place in places]).all(0)
    for place in places:
        smooth[place] = smooth[place] & smooth_everywhere


def has_derivative(
    values: torch.Tensor,
    errors: torch.Tensor,
    gaps: torch.Tensor,
    base: torch.Tensor,
    typical: torch.Tensor,
    *,
    exact: bool,
) -> torch.Tensor:
    """Return a mask of the elements that have a derivative: differences converge, and one-sided ones agree.

    Args:
        values: the derivatives.
        errors: estimates of their errors.
        gaps: differences between one-sided derivatives.
        base: the function's values.
        typical: magnitude of other derivatives.
        exact: whether everything is float64.
    """
    allowed = SAME_SIDES if exact else _SAME_SIDES_COARSE
    size = _magnitudes(values) + typical
    floor = 1e-6 * (1 + base.abs()) * (allowed / SAME_SIDES)
    converges = errors <= _TRUSTED * size + floor
    one_sided = gaps <= allowed * size + SLACK * errors + floor
    return torch.isfinite(values) & torch.isfinite(errors) & converges & one_sided


def _magnitudes(values: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num(values, 0.0, 0.0, 0.0).abs()


@dataclass(frozen=True)
class Block:
    """One result's gradient for one argument.

    Attributes:
        result: the result's name.
        argument: the argument's name.
        got: the backward's derivative: rows are the result's elements, columns the argument's.
        expected: the numerical derivative; NaN for elements that have none.
        allowed: the maximum difference.
        rows: the result's shape.
        columns: the argument's shape.
        detached: whether autograd has no path.
        point: the point of the derivatives.
    """

    result: str
    argument: str
    got: torch.Tensor
    expected: torch.Tensor
    allowed: torch.Tensor
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    detached: bool
    point: Point

    @property
    def wrong(self) -> torch.Tensor:
        """Mask of the elements that differ by more than `allowed`; NaN differs from every number."""
        return torch.isfinite(self.expected) & ~((self.got - self.expected).abs() <= self.allowed)

    @property
    def significant(self) -> torch.Tensor:
        """Mask of the nonzero elements of the numerical derivative."""
        return self.expected.abs() > SLACK * self.allowed

    def matches(self, other: torch.Tensor) -> bool:
        """Return whether the backward gives `other`, with a wider tolerance, wherever `other` is finite."""
        if other.shape != self.got.shape:
            return False
        scale = self.allowed.amax() if self.allowed.numel() else 0.0
        near = (self.got - other).abs() <= SLACK * scale + 1e-4 * other.abs()
        return bool((near | ~torch.isfinite(other)).all())


@dataclass(frozen=True)
class Comparison:
    """All blocks of a point, by result and argument."""

    blocks: Mapping[Place, Block]

    @property
    def wrong(self) -> list[Block]:
        """The blocks with a wrong element."""
        return [block for block in self.blocks.values() if bool(block.wrong.any())]

    @property
    def count(self) -> int:
        """The number of elements that were compared."""
        return sum(int(torch.isfinite(block.expected).sum()) for block in self.blocks.values())

    def of(self, argument: str) -> list[Block]:
        """Return the blocks of one argument."""
        return [block for block in self.blocks.values() if block.argument == argument]


def compare_jacobians(
    point: Point, got: AutogradJacobian, expected: NumericalJacobian, estimates: frozenset[Place] = frozenset()
) -> Comparison:
    """Compare both Jacobians of a point; blocks in `estimates` aren't compared."""
    shapes = {name: tuple(value.shape) for name, value in {**point.tensors, **point.arguments}.items()}
    results = _result_shapes(point)
    relative = max(RELATIVE, ROUNDINGS * point.precision)
    blocks = {}
    for place, values in expected.values.items():
        usable = expected.smooth[place] & (place not in estimates)
        size = values[usable].abs().amax() if bool(usable.any()) else torch.tensor(0.0)
        allowed = relative * (values.abs() + 0.1 * size) + SLACK * expected.errors[place] + 1e-12
        blocks[place] = Block(
            *place,
            got.values[place],
            torch.where(usable, values, float("nan")),
            torch.where(usable, allowed, 0.0),
            results[place[0]],
            shapes[place[1]],
            place in got.detached,
            point,
        )
    return Comparison(blocks)


def describe_ratio(got: float, expected: float, allowed: float) -> str:
    """Describe the ratio of a gradient to the expected one."""
    return f"ratio {got / expected + 0.0:.6g}" if abs(expected) > allowed else "there should be none"


def describe_worst(block: Block) -> str:
    """Describe the element with the largest error, in a sentence."""
    excess = torch.where(block.wrong, (block.got - block.expected).abs() / block.allowed, -1.0)
    excess = torch.where(block.wrong & ~torch.isfinite(excess), float("inf"), excess)
    at = int(excess.argmax())
    row, column = divmod(at, block.got.shape[1])
    got, expected = float(block.got[row, column]), float(block.expected[row, column])
    ratio = describe_ratio(got, expected, float(block.allowed[row, column]))
    places = [_place(row, block.rows), _place(column, block.columns)]
    return (
        f"the gradient of {block.result}{places[0]} for {block.argument}{places[1]} is {got:.6g}, numerically "
        f"{expected:.6g} ({ratio}); {int(block.wrong.sum())} of {block.wrong.numel()} elements of "
        f"d {block.result} / d {block.argument} are wrong"
    )


def _place(number: int, shape: tuple[int, ...]) -> str:
    index = torch.unravel_index(torch.tensor(number), shape) if shape else ()
    return f"[{', '.join(str(int(i)) for i in index)}]" if shape else ""


def _result_shapes(point: Point) -> dict[str, tuple[int, ...]]:
    results = point.function(point.arguments)
    return {name: tuple(value.shape) for name, value in zip(point.results, results, strict=True)}
