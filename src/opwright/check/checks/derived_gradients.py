"""Handwritten backwards, first and second, against derived ones, which are exact to rounding: at every element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from opwright.check.calls.cases import Arguments, Case, can_have_gradient, to_dtype
from opwright.check.calls.reproducer import gradient_reproducer
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.context import EXAMPLES, Context
from opwright.check.gradients.backward_call import recorded_call
from opwright.check.gradients.derived_twin import DerivedTwin, UnsetNumberError, derived_twin
from opwright.check.gradients.gradcheck import GradientSearch, straight_through
from opwright.check.gradients.jacobian import describe_ratio
from opwright.check.gradients.point import Point, point_of_case
from opwright.check.gradients.vjp import Forward
from opwright.check.registry import register
from opwright.check.report import Finding, Skipped
from opwright.errors import KernelError, OpwrightError

_ROUNDINGS = 64
"""Tolerance, in units of float64's precision times the sum of the magnitudes of what a gradient is the sum of."""
_ROUNDING = 2.0**-50
"""Relative distance of a point at which the derived gradient may not differ by about as much."""
_FLOAT32_BITS = torch.finfo(torch.float64).eps / torch.finfo(torch.float32).eps
_BESIDE_KINKS = 2.0**-24
"""Distance of the points, which aren't at a kink, that a difference has to persist at."""
_RELATIVE = 1e-3
"""Relative error from which on `torch.autograd.gradcheck` shows it."""
_VISIBLE = 2.0**-10
"""An error, relative to what a gradient is the sum of, that no rounding in float64 explains."""
_STEP = 1e-6
_HIDDEN = (
    "numerical differences bear the handwritten gradient out, not the derived one: types don't show what the {} "
    "reads through a cast of an address, or chooses by sizeof(T)"
)
_DERIVED_FROM = ("", "forward", "backward")
"""The function whose text a gradient is derived from, by its order."""
_SIZES = (17, 33, 8, 5, 3, 2, 1, 0)
_LARGE_SIZES = (1031, 257, 33, 17, 5)


@dataclass
class _Compared:
    """Gradients of one call.

    Attributes:
        got: the operator's own gradients, by argument.
        expected: the derived ones.
        allowed: the largest difference that rounding explains.
        point: the operator at the call.
        incoming: the incoming gradients, by result.
    """

    got: dict[str, torch.Tensor]
    expected: dict[str, torch.Tensor]
    allowed: dict[str, torch.Tensor]
    point: Point
    incoming: dict[str, torch.Tensor]

    def wrong(self, name: str) -> torch.Tensor:
        """Return the mask of an argument's wrong elements; where the derived gradient isn't finite, none is."""
        difference = (self.got[name] - self.expected[name]).abs()
        return ~(difference <= self.allowed[name]) & torch.isfinite(self.expected[name] + self.allowed[name])

    def largest(self, name: str) -> float:
        """Return the largest sum of magnitudes of which an element of an argument's gradient is the sum."""
        return float(self.allowed[name].max()) / (_ROUNDINGS * torch.finfo(torch.float64).eps)

    def worst(self, name: str) -> tuple[int, ...]:
        """Return the index of the element of an argument that is wrong by most."""
        excess = (self.got[name] - self.expected[name]).abs() / self.allowed[name]
        excess = torch.where(self.wrong(name), excess, -1.0).nan_to_num(nan=float("inf"))
        return tuple(int(i) for i in torch.unravel_index(excess.argmax(), excess.shape))

    def bears_out(self, name: str, at: tuple[int, ...]) -> bool:
        """Return whether a numerical difference is the operator's own gradient, and not the derived one.

        Where the operator refuses a call beside this one, no difference is.
        """
        moved = self.point.arguments[name].detach().clone()
        step = _STEP * max(1.0, abs(float(moved[at])))
        sides = []
        for sign in (1, -1):
            there = moved.clone()
            there[at] += sign * step
            try:
                values = self.point.function({**self.point.arguments, name: there})
            except OpwrightError:
                return False
            results = zip(self.point.results, values, strict=True)
            sides.append(sum(float((self.incoming[n] * r.detach()).sum()) for n, r in results if n in self.incoming))
        numerical = (sides[0] - sides[1]) / (2 * step)
        return abs(numerical - float(self.got[name][at])) * 8 < abs(numerical - float(self.expected[name][at]))


class _FoundError(Exception):
    """A call has no gradients to compare, which is a finding."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass
class _Judge:
    """A judge of calls: compares gradients, and looks near a call whether a difference persists.

    Attributes:
        search: makes the points of calls.
        twin: the operator with the derived gradient.
        skipped: the arguments whose gradients aren't meant to be the derivative.
        order: 1: the operator's gradients are compared; 2: those of its backward.
    """

    search: GradientSearch
    twin: DerivedTwin
    skipped: tuple[str, ...] = ()
    order: int = 1
    compared: int = 0
    elements: int = 0
    undecided: int = 0
    hidden: int = 0

    def __call__(self, case: Case, arguments: Arguments) -> Finding | None:
        """Return what is wrong with the gradients of one call, or None."""
        try:
            return self._judge(case, arguments)
        except _FoundError as error:
            return error.finding

    def _judge(self, case: Case, arguments: Arguments) -> Finding | None:
        if (found := self._compare(case, arguments)) is None:
            return None
        self.compared += 1
        self.elements += sum(value.numel() for value in found.got.values())
        for name in found.got:
            wrong = found.wrong(name)
            if not bool(wrong.any()):
                continue
            if not self._persists(case, arguments, name, found):
                self.undecided += 1
                continue
            if found.bears_out(name, found.worst(name)):
                self.hidden += 1
                continue
            return self._finding(name, found, wrong, arguments)
        return None

    def _compare(self, case: Case, arguments: Arguments) -> _Compared | None:
        """Return the gradients of a call, or None where there is nothing to compare.

        Raises:
            _FoundError: the backward raises an error, or the forward reads what was never set.
        """
        try:
            return self._compare_both(case, arguments)
        except KernelError as error:  # not of what is differentiated: calls that it refuses have no point
            what = "second backward" if self.order == 2 else "backward"
            kind, text = "backward-raises", f"the {what} raises {type(error).__name__}: {error}"
        except UnsetNumberError as error:
            what = _DERIVED_FROM[self.order]
            kind, text = "uninitialised", f"on a tape, for its derived gradient, the {what} raises: {error}"
        raise _FoundError(Finding(kind, text, self._reproducer(arguments)))

    def _compare_both(self, case: Case, arguments: Arguments) -> _Compared | None:
        context = self.search.context
        if (point := self.search.point(case, arguments)) is None:
            return None
        twins: Callable[[TargetOperator], Point | None] = partial(
            _point, case=case, arguments=arguments, seed=context.seed
        )
        if self.order == 2:
            call = recorded_call(context.operator, point, case.seed)
            point = call.point(context.operator) if call else None
            if call is None or point is None:
                return None
            twins = call.point
        forward = Forward(point)
        if not forward.results:
            return None
        incoming = forward.draw(case.seed)
        if (derived := self.twin.gradients(twins, incoming)) is None:
            return None
        expected, sizes = derived
        got = {n: v for n, v in forward.backward(incoming).items() if n in expected and n not in self.skipped}
        eps, least = torch.finfo(torch.float64).eps, torch.finfo(torch.float64).tiny
        allowed = {name: _ROUNDINGS * eps * sizes[name] + least for name in got}
        return _Compared(got, expected, allowed, point, incoming)

    def _persists(self, case: Case, arguments: Arguments, name: str, found: _Compared) -> bool:
        """Return whether the gradients also differ near the call, and rounding moves the derived one by less."""
        error = float((found.got[name] - found.expected[name]).abs().nan_to_num(nan=float("inf")).max())
        moved = {tensor.name for tensor in self.search.context.operator.differentiable}
        for number, (relative, absolute) in enumerate([(_ROUNDING, 0.0), *[(_BESIDE_KINKS, _BESIDE_KINKS)] * 2]):
            generator = torch.Generator().manual_seed(case.seed + number)
            near = {
                n: _moved(v, relative, absolute, generator) if n in moved and can_have_gradient(v) else v
                for n, v in arguments.items()
            }
            again = self._compare(case, near)
            if again is None or not bool(again.wrong(name).any()):
                return False
            if number == 0 and float((again.expected[name] - found.expected[name]).abs().max()) >= error / 8:
                return False
        return error > _VISIBLE * found.largest(name) or error > self._forward_error(case, arguments, name)

    def _forward_error(self, case: Case, arguments: Arguments, name: str) -> float:
        """Estimate the rounding errors of the derived gradient, which the forward's own come into, from float32's."""
        narrow = {n: to_dtype(value, torch.float32) for n, value in arguments.items()}
        wide = {n: to_dtype(value) for n, value in narrow.items()}
        found = [self._compare(case, each) for each in (narrow, wide)]
        if found[0] is None or found[1] is None:  # it may not take float32
            return 0.0
        error = (found[0].expected[name] - found[1].expected[name]).abs().nan_to_num(nan=float("inf"))
        return _ROUNDINGS * float(error.max()) * _FLOAT32_BITS

    def _finding(self, name: str, found: _Compared, wrong: torch.Tensor, arguments: Arguments) -> Finding:
        got, expected = found.got[name], found.expected[name]
        at = found.worst(name)
        one, other, allowed = (float(each[at]) for each in (got, expected, found.allowed[name]))
        place = f"[{', '.join(map(str, at))}]" if at else ""
        of = f"{self.search.context.operator.name}_backward_backward's " if self.order == 2 else ""
        text = (
            f"{of}grad_{name}{place} is {one:.17g}, the gradient derived from the {_DERIVED_FROM[self.order]} "
            f"{other:.17g} ({describe_ratio(one, other, allowed)}), for incoming gradients drawn at random; "
            f"{int(wrong.sum())} of {wrong.numel()} elements differ by more than {_ROUNDINGS} roundings of their terms"
        )
        seen = abs(one - other) > _RELATIVE * abs(other)
        shown = self._reproducer(arguments, large=self.order == 1) if seen else ""
        return Finding("wrong-gradient", text, shown)

    def _reproducer(self, arguments: Arguments, *, large: bool = False) -> str:
        return gradient_reproducer(self.search.context.operator, arguments, second=self.order == 2, large=large)


def _point(operator: TargetOperator, *, case: Case, arguments: Arguments, seed: int) -> Point | None:
    return point_of_case(operator, case, arguments, seed)


def _moved(value: torch.Tensor, relative: float, absolute: float, generator: torch.Generator) -> torch.Tensor:
    steps = torch.rand(value.shape, generator=generator, dtype=value.dtype) * 2 - 1
    return value + (relative * value.abs() + absolute) * steps


@register("derived gradients", group="gradients", level="normal", share=0.5)
def derived_gradients(context: Context) -> Iterator[Finding]:
    """Compare a handwritten backward in float64 with the gradient that is derived from the forward's own text."""
    types = context.type_choices(floating=True)[0]
    search = GradientSearch(context, types)
    if not search.exact:
        raise Skipped("there is no float64")
    skipped = tuple(straight_through(context))
    if not {tensor.name for tensor in context.operator.differentiable} - {*skipped}:
        raise Skipped("no gradient is meant to be the derivative")
    yield from _judged(context, _Judge(search, derived_twin(context.operator, types), skipped))


@register("derived second gradients", group="gradients", level="normal", share=0.5)
def derived_second_gradients(context: Context) -> Iterator[Finding]:
    """Compare a handwritten second backward in float64 with the gradient that is derived from the backward's text."""
    if context.operator.backward is None:
        raise Skipped("there is no handwritten gradient whose source is known")
    types = context.type_choices(floating=True)[0]
    search = GradientSearch(context, types)
    if not search.exact:
        raise Skipped("there is no float64")
    yield from _judged(context, _Judge(search, derived_twin(context.operator, types, 2), order=2))


def _judged(context: Context, judge: _Judge) -> Iterator[Finding]:
    """Judge calls of small sizes and of large ones."""
    options: dict[str, Any] = {"types": judge.search.types, "values": ("uniform",), "contiguous": True}
    examples = EXAMPLES[context.level] // 2
    finding = context.find(judge, sizes=_SIZES, max_numel=1 << 10, examples=examples, **options)
    finding = finding or context.find(
        judge, sizes=_LARGE_SIZES, max_numel=1 << 14, examples=max(3, examples // 4), **options
    )
    if finding:
        yield finding
    elif not judge.compared:
        why = f": {judge.twin.refused}" if judge.twin.refused else ""
        raise Skipped(f"no call was found that has a derived gradient{why}")
    elif judge.hidden:
        raise Skipped(_HIDDEN.format(_DERIVED_FROM[judge.order]))
    kinks = f", {judge.undecided} differences near kinks or by rounding" if judge.undecided else ""
    context.detail = f"{judge.compared} calls, {judge.elements} elements against the derived gradient{kinks}"
