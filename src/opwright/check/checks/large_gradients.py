"""Checks of gradients of large calls: along directions, against the reference's, and between repeated calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from opwright.check.calls.cases import Arguments, Case
from opwright.check.calls.reproducer import gradient_reproducer
from opwright.check.calls.settings import using_threads
from opwright.check.context import EXAMPLES, Context
from opwright.check.gradients.directional import MAX_PRECISION, DirectionalCheck, Projection, unit_direction
from opwright.check.gradients.gradcheck import GradientSearch, straight_through
from opwright.check.gradients.jacobian import describe_ratio
from opwright.check.gradients.point import Point
from opwright.check.gradients.vjp import Forward
from opwright.check.registry import register
from opwright.check.report import Finding, Skipped
from opwright.check.values.comparison import reordered_sum_ulp
from opwright.check.values.conditions import size_condition
from opwright.check.values.ulp import Difference, equal_with_nan, worst_difference

_SMALL_SIZES = (17, 33, 8, 5, 3, 2, 1)
_LARGE_SIZES = (8209, 1031, 257, 33, 17, 5)
_MAX_NUMEL = {"quick": 1 << 16, "normal": 1 << 18, "thorough": 1 << 18}
_SIZES = (8209, 100_003, 1031, 257, 33, 5)
"""The second size is enough to divide a `parallel_for` along a single axis among three threads."""
_SLACK = 4
"""Tolerance of gradients relative to results: gradients are computed from rounded values."""
_GRAPHS = 2
_BACKWARDS = 3
"""Number of forwards, and of backwards through the graph of each."""
_THREADS = 4
Gradients = Mapping[str, torch.Tensor]


@dataclass
class _GradientJudge:
    """A judge of calls that collects counts and wrong calls."""

    search: GradientSearch
    names: Sequence[str]
    directions: int = 0
    kinks: int = 0
    largest: int = 0
    others: int = 0
    wrong: list[tuple[Case, Arguments]] = field(default_factory=list)

    def __call__(self, case: Case, arguments: Arguments) -> Finding | None:
        """Return what is wrong with the gradient of one call, or None."""
        if (point := self.search.point(case, arguments)) is None:
            return None
        names = [name for name in self.names if name in point.arguments]
        if not names or point.precision > MAX_PRECISION:
            return None
        try:
            check = DirectionalCheck(point, names, case.seed)
            finding = self._off(check, arguments)
        except Exception as error:  # noqa: BLE001 - whatever a backward raises; the forward has passed
            finding = Finding("backward-raises", f"the backward raises {type(error).__name__}: {error}")
        else:
            self.directions += check.judged
            self.kinks += check.kinks
            self.largest = max([self.largest, *(point.arguments[name].numel() for name in names)])
        if finding:
            self.wrong.append((case, arguments))
        return finding

    def _off(self, check: DirectionalCheck, arguments: Arguments) -> Finding | None:
        if (wrong := check.find_wrong_direction()) is not None:
            if not check.is_repeatable():
                return Finding("nondeterministic-gradient", "the same backward gives another gradient the next time")
            return Finding("wrong-gradient", _describe_direction(wrong[1]))
        if (differs := check.compare_with_reference(self.search.context.operator, arguments)) is None:
            return None
        name, difference = differs
        here = check.confirm(unit_direction(check.point, name, _flat_index(difference, check, name)))
        if here is not None:
            return Finding(
                "wrong-gradient", f"{_describe_element(name, difference.index, here)}; {_describe_count(difference)}"
            )
        self.others += 1  # numerically, the reference's gradient is wrong, or there is no derivative
        return None

    def located(self, finding: Finding) -> str:
        """Return the message with the wrong element, and the number of wrong elements, if they can be determined."""
        case, arguments = self.wrong[-1]
        point = self.search.point(case, arguments)
        if point is None or finding.kind != "wrong-gradient":
            return finding.message
        check = DirectionalCheck(point, [name for name in self.names if name in point.arguments], case.seed)
        differs = check.compare_with_reference(self.search.context.operator, arguments)
        text = f"; {_describe_count(differs[1])}" if differs else ""
        if (wrong := check.find_wrong_direction()) is None or (at := check.find_wrong_element(wrong[0])) is None:
            return finding.message
        name, element, projection = at
        index = torch.unravel_index(torch.tensor(element), point.arguments[name].shape)
        return f"{_describe_element(name, tuple(int(i) for i in index), projection)}{text}"


@register("large gradients", group="gradients", share=0.5, asks_reference=True)
def large_gradients(context: Context) -> Iterator[Finding]:
    """Compare the gradient of a large call with derivatives along directions: in tails and beyond thresholds."""
    if not context.operator.differentiable:
        raise Skipped("there is no gradient")
    estimates = straight_through(context)
    names = [tensor.name for tensor in context.operator.differentiable if tensor.name not in estimates]
    if not names:
        raise Skipped("no gradient is meant to be the derivative")
    search = GradientSearch(context, context.type_choices(floating=True)[0])
    judge = _GradientJudge(search, names)
    examples = EXAMPLES[context.level] // 2
    options: dict[str, Any] = {"types": search.types, "values": ("uniform",)}
    finding = context.find(judge, sizes=_SMALL_SIZES, max_numel=1 << 12, examples=examples, **options)
    finding = finding or context.find(
        judge, sizes=_LARGE_SIZES, max_numel=_MAX_NUMEL[context.level], examples=max(6, examples // 2), **options
    )
    if finding:
        yield _with_condition(context, judge, finding)
    elif not judge.directions:
        raise Skipped("no call was found that has a numerical derivative in float32 or float64")
    context.detail = _detail(context, judge)


def _with_condition(context: Context, judge: _GradientJudge, finding: Finding) -> Finding:
    if not judge.wrong:
        return finding
    case = judge.wrong[-1][0]
    text = judge.located(finding)
    condition = size_condition(context, judge, judge.search.types)
    eps = 0.0 if judge.search.exact else 0.03
    reproducer = gradient_reproducer(context.operator, case.arguments(), eps=eps, large=True)
    return Finding(finding.kind, f"{text}\n  only {condition}" if condition else text, reproducer)


def _detail(context: Context, judge: _GradientJudge) -> str:
    kinks = f", {judge.kinks} more had none (kinks)" if judge.kinks else ""
    differing = f"; where the reference's gradient differs ({judge.others} calls), numbers say otherwise"
    others = differing if judge.others else ""
    most = f"{context.tried} calls of up to {judge.largest} elements"
    return f"{most}: {judge.directions} derivatives along directions against numerical ones{kinks}{others}"


def _describe_direction(projection: Projection) -> str:
    return (
        "for incoming gradients w and a direction v, both drawn at random, the gradient times v is "
        f"{projection.got:.9g}; numerically the derivative of w times the results along v is {projection.expected:.9g}"
    )


def _describe_element(name: str, index: tuple[int, ...], projection: Projection) -> str:
    ratio = describe_ratio(projection.got, projection.expected, projection.allowed)
    place = f"[{', '.join(map(str, index))}]" if index else ""
    return (
        f"grad_{name}{place} is {projection.got:.6g}, numerically {projection.expected:.6g} ({ratio}), "
        "for incoming gradients drawn at random"
    )


def _describe_count(difference: Difference) -> str:
    return f"{difference.count} of {difference.total} elements differ from the gradient of the reference"


def _flat_index(difference: Difference, check: DirectionalCheck, name: str) -> int:
    place = torch.zeros(check.point.arguments[name].shape)
    place[difference.index] = 1
    return int(place.reshape(-1).argmax())


@register("gradient determinism", group="gradients", share=0.5)
def gradient_determinism(context: Context) -> Iterator[Finding]:
    """Repeat the same backward: the gradient must be the same each time, with any number of threads.

    A difference that the order of a sum explains is reported, but isn't a finding: many backwards use atomic additions
    of floating numbers, including some of ATen's.
    """
    if not context.operator.differentiable:
        raise Skipped("there is no gradient")
    search, rounded = GradientSearch(context, context.type_choices(floating=True)[0]), [0]
    counts = [1, max(torch.get_num_threads(), _THREADS)] if context.device == "cpu" else [torch.get_num_threads()]

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        point = search.point(case, arguments)
        finding = _gradient_difference(point, case, arguments, counts, rounded) if point else None
        return finding and replace(
            finding, reproducer=gradient_reproducer(context.operator, case.arguments(), layout="contiguous")
        )

    finding = None
    for sizes in (_SIZES, _SIZES[1:]):
        finding = finding or context.find(judge, types=search.types, sizes=sizes, max_numel=1 << 18, examples=3)
    if finding:
        yield replace(finding, kind="backward-raises") if finding.kind == "raises" else finding
    threads = f", with {' and '.join(map(str, counts))} threads" if len(counts) > 1 else ""
    order = f"; in {rounded[0]} comparisons bits differed, as another order of a sum does" if rounded[0] else ""
    context.detail = f"{context.tried} calls, {_GRAPHS * _BACKWARDS} backwards each{threads}{order}"


def _gradient_difference(
    point: Point, case: Case, arguments: Arguments, counts: Sequence[int], rounded: list[int]
) -> Finding | None:
    firsts: list[Gradients] = []
    for count in counts:
        with using_threads(count):
            seen = list(_gradients(point, case.seed))
        for number, again in enumerate(seen[1:], 2):
            if difference := _difference(seen[0], again, arguments, rounded):
                text = f"backward number {number} of the same, with {count} threads: {difference}"
                return Finding("nondeterministic-gradient", text)
        firsts += seen[:1]
    if len(firsts) > 1 and (difference := _difference(firsts[0], firsts[1], arguments, rounded)):
        return Finding("gradient-depends-on-threads", f"{counts[1]} threads, against one: {difference}")
    return None


def _gradients(point: Point, seed: int) -> Iterator[Gradients]:
    """Yield the gradients of repeated backwards through the same graph, and through new graphs."""
    for _ in range(_GRAPHS):
        forward = Forward(point)
        for _ in range(_BACKWARDS if forward.results else 0):
            yield forward.backward(forward.draw(seed))


def _difference(one: Gradients, other: Gradients, arguments: Arguments, rounded: list[int]) -> str:
    """Describe a difference larger than another order of sums explains; smaller differences are counted."""
    for name, value in one.items():
        if equal_with_nan(value, other[name]):
            continue
        rounded[0] += 1
        if difference := worst_difference(other[name], value.double(), _SLACK * reordered_sum_ulp(arguments)):
            return f"grad_{name}: {difference}"
    return ""
