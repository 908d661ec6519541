"""A backward's Jacobian beside the numerical one: what is wrong, and where it is worst."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from opwright.check.jacobian import Analytical, Numerical, Place
from opwright.check.points import Point

_RELATIVE = 1e-6
_ROUNDINGS = 200.0
"""How many units of the last place a gradient's own roundings may come to."""
_SLACK = 10.0
"""How much larger than its estimate the numerical derivative's error may be."""


@dataclass(frozen=True)
class Block:
    """One result's gradient for one argument.

    Attributes:
        result: its name.
        argument: its name.
        got: what the backward gives: a row for each element of the result, a column for each of the argument.
        expected: the numerical derivative; NaN where there is none.
        allowed: by how much they may differ.
        rows: the result's shape.
        columns: the argument's shape.
        detached: whether autograd knows of no path.
        point: where.
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
        """Which elements differ by more than is allowed; NaN differs from every number."""
        return torch.isfinite(self.expected) & ~((self.got - self.expected).abs() <= self.allowed)

    @property
    def significant(self) -> torch.Tensor:
        """Which elements of the numerical derivative aren't zero."""
        return self.expected.abs() > _SLACK * self.allowed

    def matches(self, other: torch.Tensor) -> bool:
        """Whether the backward gives `other` throughout, where that is known; a little more may differ."""
        if other.shape != self.got.shape:
            return False
        scale = self.allowed.amax() if self.allowed.numel() else 0.0
        near = (self.got - other).abs() <= _SLACK * scale + 1e-4 * other.abs()
        return bool((near | ~torch.isfinite(other)).all())


@dataclass(frozen=True)
class Comparison:
    """All blocks of a point, by result and argument."""

    blocks: Mapping[Place, Block]

    @property
    def wrong(self) -> list[Block]:
        """Those with a wrong element."""
        return [block for block in self.blocks.values() if bool(block.wrong.any())]

    @property
    def count(self) -> int:
        """How many elements were compared."""
        return sum(int(torch.isfinite(block.expected).sum()) for block in self.blocks.values())

    def of(self, argument: str) -> list[Block]:
        """The blocks of one argument."""
        return [block for block in self.blocks.values() if block.argument == argument]


def compare(point: Point, got: Analytical, expected: Numerical, kept: frozenset[Place] = frozenset()) -> Comparison:
    """Both Jacobians of a point; places in `kept` aren't compared."""
    shapes = {name: tuple(value.shape) for name, value in {**point.tensors, **point.arguments}.items()}
    results = _result_shapes(point)
    relative = max(_RELATIVE, _ROUNDINGS * point.precision)
    blocks = {}
    for place, values in expected.values.items():
        usable = expected.smooth[place] & (place not in kept)
        size = values[usable].abs().amax() if bool(usable.any()) else torch.tensor(0.0)
        allowed = relative * (values.abs() + 0.1 * size) + _SLACK * expected.errors[place] + 1e-12
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


def worst(block: Block) -> str:
    """Which element is farthest off, in a sentence."""
    excess = torch.where(block.wrong, (block.got - block.expected).abs() / block.allowed, -1.0)
    excess = torch.where(block.wrong & ~torch.isfinite(excess), float("inf"), excess)
    at = int(excess.argmax())
    row, column = divmod(at, block.got.shape[1])
    got, expected = float(block.got[row, column]), float(block.expected[row, column])
    ratio = (
        f"ratio {got / expected:.6g}" if abs(expected) > float(block.allowed[row, column]) else "there should be none"
    )
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
    made = point.function(point.arguments)
    return {name: tuple(value.shape) for name, value in zip(point.results, made, strict=True)}
