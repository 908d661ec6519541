"""One call's gradient along directions: whether it is wrong, and in which element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from opwright.check.compare import ULP, Difference, difference
from opwright.check.directional import Compared, Directions, Slope, compared, drawn, linear, single, slopes
from opwright.check.inputs import Arguments
from opwright.check.jacobian import FLOAT64_ENOUGH
from opwright.check.points import Point, Tensors
from opwright.check.referred import of_reference
from opwright.check.results import reordered
from opwright.check.subject import Subject
from opwright.check.vjp import drawn as incoming
from opwright.check.vjp import traced, vjp

_AGREE = 0.1
"""How much of what is wrong the derivatives of large and of small steps may differ by, where steps are large."""
Again = Callable[[Directions], Mapping[str, Slope]]


@dataclass
class Pulled:
    """A call whose backward was run.

    Attributes:
        point: the call.
        names: the arguments that are moved.
        seed: where incoming gradients and directions come from.
        judged: along how many directions there was a derivative.
        kinks: along how many there was none.
    """

    point: Point
    names: Sequence[str]
    seed: int
    judged: int = 0
    kinks: int = 0

    def __post_init__(self) -> None:
        """One forward, with a graph that is kept."""
        self._leaves = self.point.leaves()
        self._results = traced(self.point, self._leaves)

    def pulled(self, smooth: Mapping[str, torch.Tensor] | None = None) -> tuple[Tensors, Tensors]:
        """The gradients, and the incoming ones they are for: none where a result isn't smooth."""
        vectors = incoming(self._results, self.seed)
        for name, usable in (smooth or {}).items():
            if name in vectors:
                vectors[name] = vectors[name] * usable.view(vectors[name].shape).to(vectors[name])
        return vjp(self._results, self._leaves, vectors), vectors

    def wrong(self) -> tuple[Directions, Compared] | None:
        """The direction along which the gradient is wrong. Others than the first one are only drawn if they help."""
        if not self._results or not any(self.point.arguments[name].numel() for name in self.names):
            return None
        exact = self.point.precision < FLOAT64_ENOUGH
        for direction in drawn(self.point, self.names, self.seed):
            off, whole = self.along(direction)
            if not whole and not (exact and self.distinct()):
                return None  # steps are too large to tell a kink's neighbours, or numbers are equal
            if off is not None and off.wrong and (sure := self.confirmed(direction)) is not None:
                same = abs(sure.expected - off.expected) <= _AGREE * abs(sure.got - sure.expected)
                return (direction, sure) if exact or same else None
            if whole:
                return None  # nothing that is wrong hides behind kinks then
        return None

    def along(self, direction: Directions) -> tuple[Compared | None, bool]:
        """The comparison, None where there is no derivative; and whether all that are numbers had one."""
        found = self._own(slopes(self.point, direction))
        off = self._compared(direction, found, lambda less: slopes(self.point, less))
        whole = all(bool((slope.smooth | ~slope.finite).all()) for slope in found.values())
        self.judged += off is not None
        self.kinks += off is None and not whole
        return off, whole

    def confirmed(self, direction: Directions) -> Compared | None:
        """The comparison, if it is wrong close by, too, and where the derivative is linear."""

        def close(along: Directions) -> dict[str, Slope]:
            return linear(self.point, along, self.seed)

        off = self._compared(direction, self._own(close(direction)), close)
        return off if off is not None and off.wrong else None

    def _own(self, found: Mapping[str, Slope]) -> dict[str, Slope]:
        return {name: slope for name, slope in found.items() if name in self._results}

    def _compared(self, direction: Directions, found: Mapping[str, Slope], again: Again) -> Compared | None:
        """`again` makes the slopes of another direction.

        Where a result is NaN, elements are left out whose gradient is NaN, too, for being multiplied with zero.
        """
        gradients, vectors = self.pulled({name: slope.smooth for name, slope in found.items()})
        known = {name: torch.isfinite(gradients[name]).cpu() for name in direction}
        lost = any(not bool(slope.finite.all()) for slope in found.values())
        if lost and not all(bool(each.all()) for each in known.values()):
            direction = {name: torch.where(known[name], moved, 0.0) for name, moved in direction.items()}
            found = self._own(again(direction))
            gradients, vectors = self.pulled({name: slope.smooth for name, slope in found.items()})
        if not any(bool(slope.smooth.any()) for slope in found.values()):
            return None
        return compared(gradients, vectors, direction, found, self.point.precision)

    def distinct(self) -> bool:
        """Whether no two numbers are equal.

        A sort of equal ones has no gradient, and derivatives along many directions that look as if it had.
        """
        values = [self.point.arguments[name].detach().reshape(-1) for name in self.names]
        return all(each.unique().numel() == each.numel() for each in values)

    def repeatable(self) -> bool:
        """Whether the same backward gives the same but for roundings."""
        first, again = self.pulled()[0], self.pulled()[0]
        allowed = 4 * reordered(dict(first))
        return not any(difference(again[name], value, allowed) for name, value in first.items())

    def narrowed(self, direction: Directions) -> tuple[str, int, Compared] | None:
        """The one element that is wrong along a direction that is; None where no single one can be found."""
        for name, moved in direction.items() if self.distinct() else ():
            part: Directions = {name: moved}
            if self.confirmed(part) is None:
                continue
            while int((flat := part[name].reshape(-1)).count_nonzero()) > 1:
                part = next(self._wrong_halves(name, flat), {})
                if not part:
                    return None
            element = int(flat.abs().argmax())
            off = self.confirmed(single(self.point, name, element))
            return None if off is None else (name, element, off)
        return None

    def _wrong_halves(self, name: str, flat: torch.Tensor) -> Iterator[Directions]:
        there = flat.nonzero().squeeze(1)
        for chosen in there.chunk(2):
            half = torch.zeros_like(flat)
            half[chosen] = flat[chosen]
            part = {name: half.view(self.point.arguments[name].shape)}
            if self.confirmed(part) is not None:
                yield part

    def against(self, subject: Subject, arguments: Arguments) -> tuple[str, Difference] | None:
        """Which gradient differs most plainly from the reference's, if any does, and if that has one."""
        if subject.reference is None or subject.mutates or subject.signature.generator or not self.distinct():
            return None
        gradients, vectors = self.pulled()
        named = [output.name for output in subject.signature.outputs]

        def given(number: int, result: torch.Tensor) -> torch.Tensor:
            own = vectors.get(named[number]) if number < len(named) else None
            return torch.zeros_like(result) if own is None else own.to(result)

        try:
            expected = of_reference(subject, arguments, list(self.names), given)
        except Exception:  # noqa: BLE001 - a reference needs no gradient
            return None
        for name, wanted in expected.items():
            allowed = 4 * max(ULP.get(gradients[name].dtype, 64.0), reordered(dict(gradients)))
            if bool(wanted.any()) and (off := difference(gradients[name], wanted, allowed)):
                return name, off
        return None
