"""Gradients of calls that are too large for a Jacobian: along directions, and against the reference's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from opwright.check.along import Pulled
from opwright.check.compare import Difference
from opwright.check.context import EXAMPLES, Context
from opwright.check.directional import ENOUGH, Compared, single
from opwright.check.inputs import Arguments, Case
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.search import Search, straight_through
from opwright.check.showing import shown
from opwright.check.when import of_size

_SMALL = (17, 33, 8, 5, 3, 2, 1)
_LARGE = (8209, 1031, 257, 33, 17, 5)
_MOST = {"quick": 1 << 16, "normal": 1 << 18, "thorough": 1 << 18}


@dataclass
class _Judge:
    """Judges calls, and remembers what it saw."""

    search: Search
    names: Sequence[str]
    directions: int = 0
    kinks: int = 0
    largest: int = 0
    others: int = 0
    wrong: list[tuple[Case, Arguments]] = field(default_factory=list)

    def __call__(self, case: Case, arguments: Arguments) -> Finding | None:
        """What is wrong with one call's gradient."""
        if (point := self.search.point(case, arguments)) is None:
            return None
        names = [name for name in self.names if name in point.arguments]
        if not names or point.precision > ENOUGH:
            return None
        try:
            pulled = Pulled(point, names, case.seed)
            finding = self._off(pulled, arguments)
        except Exception as error:  # noqa: BLE001 - whatever a backward raises; the forward has passed
            finding = Finding("backward-raises", f"the backward raises {type(error).__name__}: {error}")
        else:
            self.directions += pulled.judged
            self.kinks += pulled.kinks
            self.largest = max([self.largest, *(point.arguments[name].numel() for name in names)])
        if finding:
            self.wrong.append((case, arguments))
        return finding

    def _off(self, pulled: Pulled, arguments: Arguments) -> Finding | None:
        if (found := pulled.wrong()) is not None:
            if not pulled.repeatable():
                return Finding("nondeterministic-gradient", "the same backward gives another gradient the next time")
            return Finding("wrong-gradient", _direction(found[1]))
        if (differs := pulled.against(self.search.context.subject, arguments)) is None:
            return None
        name, off = differs
        here = pulled.confirmed(single(pulled.point, name, _flat(off, pulled, name)))
        if here is not None:
            return Finding("wrong-gradient", f"{_element(name, off.index, here)}; {_count(off)}")
        self.others += 1  # numerically, it is the reference's gradient that is wrong, or there is none
        return None

    def located(self, finding: Finding) -> str:
        """The message with the wrong element, and how many are, where that can be told."""
        case, arguments = self.wrong[-1]
        point = self.search.point(case, arguments)
        if point is None or finding.kind != "wrong-gradient":
            return finding.message
        pulled = Pulled(point, [name for name in self.names if name in point.arguments], case.seed)
        differs = pulled.against(self.search.context.subject, arguments)
        text = f"; {_count(differs[1])}" if differs else ""
        if (found := pulled.wrong()) is None or (at := pulled.narrowed(found[0])) is None:
            return finding.message
        name, element, off = at
        index = torch.unravel_index(torch.tensor(element), point.arguments[name].shape)
        return f"{_element(name, tuple(int(i) for i in index), off)}{text}"


@register("large gradients", group="gradients", share=0.5)
def large_gradients(context: Context) -> Iterator[Finding]:
    """The gradient of a large call is the derivative along directions: in tails and beyond any threshold, too."""
    if not context.subject.differentiable:
        raise Skipped("there is no gradient")
    kept = straight_through(context)
    names = [tensor.name for tensor in context.subject.differentiable if tensor.name not in kept]
    if not names:
        raise Skipped("no gradient is meant to be the derivative")
    search = Search(context, context.type_choices(floating=True)[0])
    judge = _Judge(search, names)
    examples = EXAMPLES[context.level] // 2
    options: dict[str, Any] = {"types": search.types, "values": ("uniform",)}
    found = context.find(judge, sizes=_SMALL, max_numel=1 << 12, examples=examples, **options)
    found = found or context.find(
        judge, sizes=_LARGE, max_numel=_MOST[context.level], examples=max(6, examples // 2), **options
    )
    if found:
        yield _explained(context, judge, found)
    elif not judge.directions:
        raise Skipped("no call was found that has a numerical derivative in float32 or float64")
    context.detail = _detail(context, judge)


def _explained(context: Context, judge: _Judge, found: Finding) -> Finding:
    if not judge.wrong:
        return found
    case = judge.wrong[-1][0]
    text = judge.located(found)
    told = of_size(context, judge, judge.search.types)
    eps = 0.0 if judge.search.exact else 0.03
    reproducer = shown(context.subject, case.arguments(), eps=eps, large=True)
    return Finding(found.kind, f"{text}\n  only {told}" if told else text, reproducer)


def _detail(context: Context, judge: _Judge) -> str:
    kinks = f", {judge.kinks} more had none (kinks)" if judge.kinks else ""
    others = f"; where the reference's gradient differs ({judge.others} calls), numbers say otherwise" * bool(
        judge.others
    )
    most = f"{context.tried} calls of up to {judge.largest} elements"
    return f"{most}: {judge.directions} derivatives along directions against numerical ones{kinks}{others}"


def _direction(off: Compared) -> str:
    return (
        f"for incoming gradients w and a direction v, both drawn at random, the gradient times v is {off.got:.9g}; "
        f"numerically the derivative of w times the results along v is {off.expected:.9g}"
    )


def _element(name: str, index: tuple[int, ...], off: Compared) -> str:
    ratio = f"ratio {off.got / off.expected + 0.0:.6g}" if abs(off.expected) > off.allowed else "there should be none"
    place = f"[{', '.join(map(str, index))}]" if index else ""
    return (
        f"grad_{name}{place} is {off.got:.6g}, numerically {off.expected:.6g} ({ratio}), "
        "for incoming gradients drawn at random"
    )


def _count(off: Difference) -> str:
    return f"{off.count} of {off.total} elements differ from the gradient of the reference"


def _flat(off: Difference, pulled: Pulled, name: str) -> int:
    place = torch.zeros(pulled.point.arguments[name].shape)
    place[off.index] = 1
    return int(place.reshape(-1).argmax())
