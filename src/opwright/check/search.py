"""The search for a call whose gradient is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch

from opwright.check.compared import Comparison, compare, worst
from opwright.check.context import EXAMPLES, Context
from opwright.check.filled import filled
from opwright.check.inputs import Arguments, Case
from opwright.check.jacobian import Analytical, Place, analytical, numerical
from opwright.check.locate import locate
from opwright.check.points import Point, dense, derivative, is_dense, of_case
from opwright.check.registry import Skipped
from opwright.check.report import Finding
from opwright.check.saved import wrong_saved
from opwright.check.showing import shown
from opwright.check.vjp import incoming, repeated
from opwright.signature import DType

SIZES = (2, 1, 3, 0)
MOST = 32
"""What axes are drawn from, and how many elements a tensor has at most: Jacobians are that squared."""
_SHOWN = 48
_SECOND = {"detached": "double-backward-zero", "zero-gradient": "double-backward-zero"}


@dataclass
class Search:
    """Compares a backward's Jacobian with the numerical one, call by call.

    Attributes:
        context: of the check.
        types: what type variables stand for.
        second: whether the backward is differentiated, not the operator.
        wrong: the comparisons in which something was wrong.
        compared: how many elements of Jacobians.
        kinks: how many of them had no numerical derivative.
    """

    context: Context
    types: Mapping[str, DType]
    second: bool = False
    wrong: list[Comparison] = field(default_factory=list)
    compared: int = 0
    kinks: int = 0

    def run(self) -> Finding | None:
        """What is wrong, named, at the smallest call; Skipped where no call has a numerical derivative."""
        half = max(8, EXAMPLES[self.context.level] // 2)
        for values in (("uniform",), ("uniform", "wide")):
            finding = self.context.find(
                self._guarded, types=self.types, sizes=SIZES, max_numel=MOST, values=values, examples=half
            )
            if finding:
                return self._named(finding)
        if not self.compared and not straight_through(self.context):
            raise Skipped("no call was found that has a numerical derivative")
        return None

    def point(self, case: Case, arguments: Arguments) -> Point | None:
        """Where the call is differentiated; None where it is refused, which other checks judge, or has nothing to."""
        try:
            point = of_case(self.context.subject, case, arguments, self.context.seed)
        except Exception:  # noqa: BLE001 - whatever an operator raises
            return None
        return derivative(point, case.seed) if point and self.second else point

    def compare(self, point: Point) -> tuple[Analytical, Comparison]:
        """Both Jacobians; memory that the backward doesn't write has NaN in it."""
        with filled():
            got = analytical(point)
        return got, compare(point, got, numerical(point), self._kept(point))

    def _guarded(self, case: Case, arguments: Arguments) -> Finding | None:
        """What is wrong at one call. An error is the backward's: calls that the forward refuses aren't judged."""
        subject, layout = self.context.subject, ""
        try:
            finding, layout = self._judged(case, arguments)
        except Exception as error:  # noqa: BLE001 - whatever a backward raises
            finding = Finding("backward-raises", f"the backward raises {type(error).__name__}: {error}")
        if finding is None:
            return None
        text = shown(subject, case.arguments(), second=self.second, layout=layout, eps=0.0 if self.exact else 0.03)
        return replace(finding, reproducer=text)

    @property
    def exact(self) -> bool:
        """Whether everything floating is float64."""
        tensors = (*self.context.subject.differentiable, *self.context.subject.signature.outputs)
        every = [tensor.type.resolve(self.types) for tensor in tensors]
        return all(dtype is DType.F64 for dtype in every if dtype.is_floating)

    def _judged(self, case: Case, arguments: Arguments) -> tuple[Finding | None, str]:
        """What is wrong, and the layout of the incoming gradient that it needs."""
        if (point := self.point(case, arguments)) is None:
            return None, ""
        if finding := repeated(point, case.seed):
            return finding, ""
        got, comparison = self.compare(point)
        self.compared += comparison.count
        self.kinks += sum(b.expected.numel() for b in comparison.blocks.values()) - comparison.count
        if comparison.wrong:
            return self._wrong(case, arguments, point, comparison), ""
        off = incoming(point, got, case.seed)
        return (off.finding, off.layout) if off else (None, "")

    def _wrong(self, case: Case, arguments: Arguments, point: Point, comparison: Comparison) -> Finding:
        text = worst(comparison.wrong[0])
        again = analytical(point)
        if any(_lost(again.values[p], block.got) for p, block in comparison.blocks.items()):
            return Finding("uninitialised-gradient", f"a part of the gradient isn't written: {text}")
        if all(bool(torch.isnan(block.got[block.wrong]).all()) for block in comparison.wrong):
            return Finding("nan-gradient", text)
        if not is_dense(arguments):
            twin = self.point(case, dense(arguments))
            if twin and not self.compare(twin)[1].wrong:
                return Finding("wrong-when-strided", f"right for contiguous arguments, wrong for these: {text}")
        if len(point.results) > 1:
            whole = compare(point, analytical(point, zeros=True), numerical(point), self._kept(point))
            if not whole.wrong:
                return Finding("absent-gradient", f"right where every result has a gradient, else wrong: {text}")
        self.wrong.append(comparison)
        return Finding("wrong-gradient", text)

    def _kept(self, point: Point) -> frozenset[Place]:
        """What isn't compared: gradients that are estimates on purpose."""
        if self.second:
            return frozenset()
        named = straight_through(self.context)
        return frozenset((result, argument) for result in point.results for argument in named)

    def _named(self, finding: Finding) -> Finding:
        """The same with the fault's name."""
        if finding.kind != "wrong-gradient":
            return finding
        pool = self._pool()
        fault = locate(pool)
        if fault.kind == "wrong-gradient" and not self.second:
            fault = wrong_saved(pool) or fault
        kind = _SECOND.get(fault.kind, "wrong-double-backward") if self.second else fault.kind
        return replace(finding, kind=kind, message=f"{fault.text}\n{finding.message}")

    def _pool(self) -> list[Comparison]:
        """What was wrong, at points of several shapes: those of the search and some more."""
        more = []
        for case in self.context.examples(
            12, patient=True, types=self.types, sizes=(2, 3), contiguous=True, max_numel=MOST
        ):
            point = self.point(case, case.arguments())
            if point and (comparison := self.compare(point)[1]).wrong:
                more.append(comparison)
        return [*sorted(self.wrong, key=lambda c: -c.count)[:_SHOWN], *more]


def straight_through(context: Context) -> list[str]:
    """The arguments whose gradient is an estimate on purpose: ``straight_through=("x",)`` or ``("round.x",)``."""
    names: list[str] = []
    for given in context.options.get("straight_through", ()):
        operator, _, argument = given.rpartition(".")
        if operator in ("", context.subject.name):
            names.append(argument)
    return names


def _lost(before: torch.Tensor, poisoned: torch.Tensor) -> bool:
    """Whether something is NaN only where memory was filled with it."""
    return bool((torch.isnan(poisoned) & ~torch.isnan(before)).any())
