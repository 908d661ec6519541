"""Search for a call whose gradient is wrong, and why `torch.autograd.gradcheck` passes or fails at a step.

The error of a central difference of step ``eps`` is about ``precision * |y| / eps`` from rounding, plus a multiple of
``eps ** 2`` from the function's curvature. The error of a wrong formula depends on neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch

from opwright.check.calls.cases import Arguments, Case, are_contiguous, contiguous_arguments, dtype_name
from opwright.check.calls.reproducer import gradient_reproducer
from opwright.check.calls.settings import fill_new_memory
from opwright.check.context import EXAMPLES, Context
from opwright.check.gradients.diagnosis import diagnose, find_wrong_saved_tensor
from opwright.check.gradients.jacobian import (
    AutogradJacobian,
    Blocks,
    Comparison,
    Place,
    autograd_jacobian,
    compare_jacobians,
    describe_worst,
    flat_values,
    numerical_jacobian,
)
from opwright.check.gradients.point import Point, backward_point, point_of_case
from opwright.check.gradients.vjp import check_layouts, check_repeated
from opwright.check.report import Finding, Skipped
from opwright.signature import DType

Cause = Literal["none", "rounding", "step", "formula", "undecided"]

ATOL, RTOL = 1e-5, 1e-3
"""The default tolerances of `torch.autograd.gradcheck`."""
_LADDER = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
_SAME = 3.0
"""Errors within this ratio count as equal."""
SIZES = (2, 1, 3, 0)
MAX_NUMEL = 32
"""Sizes of axes, and the maximum number of elements of a tensor: the size of a Jacobian is its square."""
_SHOWN = 48
_SECOND = {"detached": "double-backward-zero", "zero-gradient": "double-backward-zero"}


@dataclass(frozen=True)
class StepError:
    """One comparison.

    Attributes:
        dtype_name: the element type.
        eps: the step.
        error: the largest difference between backward and central difference.
        rounding: an estimate of the difference's rounding error.
        fits: whether gradcheck would pass.
    """

    dtype_name: str
    eps: float
    error: float
    rounding: float
    fits: bool


@dataclass(frozen=True)
class StepExplanation:
    """Why a gradient fits or doesn't.

    Attributes:
        cause: ``"none"``: it fits; ``"rounding"``; ``"step"``: eps is too large for the function's curvature;
            ``"formula"``: the backward is wrong; ``"undecided"``: float32 isn't exact enough to decide.
        text: the cause as a sentence, with the numbers and a remedy.
        measured: all comparisons.
    """

    cause: Cause
    text: str
    measured: tuple[StepError, ...]


def explain_step(points: Sequence[Point], eps: float) -> StepExplanation:
    """Explain why the first point's gradient fits or doesn't at a step of `eps`.

    Args:
        points: the same point in one or more element types; the first is explained.
        eps: the step of gradcheck.
    """
    steps = sorted({eps, *_LADDER})
    tables = [[_measure(point, step) for step in steps] for point in points]
    measured = tuple(m for table in tables for m in table)
    at_eps = next(m for m in tables[0] if m.eps == eps)
    if at_eps.fits:
        return StepExplanation(
            "none", f"in {at_eps.dtype_name} with eps={eps:g} the gradient fits within {at_eps.error:.1e}", measured
        )
    prefix = (
        f"in {at_eps.dtype_name} with eps={eps:g} the gradient is off by {at_eps.error:.1e}, which gradcheck refuses: "
    )
    cause, why = _cause(at_eps, tables)
    return StepExplanation(cause, prefix + why, measured)


def _cause(at_eps: StepError, tables: Sequence[Sequence[StepError]]) -> tuple[Cause, str]:
    """Return the cause of the error at the step asked for, and the reason; the last table is of the most exact type."""
    best = min((m for m in tables[-1]), key=lambda m: m.error)
    exact = next(m for m in tables[-1] if m.eps == at_eps.eps)
    if len(tables) > 1 and exact.fits:
        return "rounding", _rounding(at_eps, f"in {exact.dtype_name} with the same eps it is {exact.error:.1e}", tables)
    if best.fits and best.eps > at_eps.eps:
        return "rounding", _rounding(at_eps, f"with eps={best.eps:g} it is {best.error:.1e}", tables)
    if best.fits:
        elsewhere = f"in {best.dtype_name} with eps={best.eps:g} it is {best.error:.1e}"
        return "step", f"eps is too large for the function's curve: {elsewhere}\n{_likely_fix(tables)}"
    clear = sorted((m for m in tables[-1] if m.error > 10 * m.rounding), key=lambda m: m.eps)
    plateau = [m for m in clear if m.error <= _SAME * clear[0].error]
    if len(plateau) > 1:
        return "formula", _formula(plateau)
    return (
        "undecided",
        f"rounding is about {at_eps.rounding:.1e}; no eps is exact enough to tell it from a wrong formula",
    )


def _rounding(at_eps: StepError, instead: str, tables: Sequence[Sequence[StepError]]) -> str:
    larger = next((m for m in tables[0] if m.eps > at_eps.eps), None)
    grows = (
        f"it falls to {larger.error:.1e} at eps={larger.eps:g}, and " if larger and larger.error < at_eps.error else ""
    )
    return (
        f"that is rounding, not a wrong formula: rounding is about precision * |y| / eps = {at_eps.rounding:.1e}; "
        f"{grows}{instead}\n{_likely_fix(tables)}"
    )


def _formula(plateau: Sequence[StepError]) -> str:
    listed = ", ".join(f"{m.error:.1e} at eps={m.eps:g}" for m in plateau)
    return (
        f"that is the formula, not rounding: in {plateau[0].dtype_name} the error stays what it is whatever the step: "
        f"{listed} (rounding is about {min(m.rounding for m in plateau):.1e})"
    )


def _likely_fix(tables: Sequence[Sequence[StepError]]) -> str:
    if len(tables) > 1:
        return "  likely fix: gradcheck in float64: x.double()"
    fitting = [m for m in tables[0] if m.fits]
    best = min(fitting, key=lambda m: m.error).eps if fitting else 0.1
    return f"  likely fix: gradcheck with eps={best:g}"


def _measure(point: Point, eps: float) -> StepError:
    """Measure the largest difference between backward and central difference at one step."""
    got = autograd_jacobian(point).values
    steps, rounding = _central_differences(point, eps)
    differences = {place: (got[place] - expected).abs() for place, expected in steps.items()}
    fits = all(bool((differences[place] <= ATOL + RTOL * steps[place].abs()).all()) for place in steps)
    error = max((float(difference.max()) for difference in differences.values() if difference.numel()), default=0.0)
    dtype = next(iter(point.arguments.values())).dtype
    return StepError(dtype_name(dtype), eps, error, rounding, fits)


def _central_differences(point: Point, eps: float) -> tuple[Blocks, float]:
    """Differentiate as gradcheck does: x ± eps, divided by 2 eps."""
    arguments = {n: v.detach().clone(memory_format=torch.contiguous_format) for n, v in point.arguments.items()}
    base = flat_values(point, arguments)
    size = max((float(b.abs().max()) for b in base if b.numel()), default=0.0)
    blocks: Blocks = {}
    for name, value in arguments.items():
        columns: list[list[torch.Tensor]] = []
        for element in range(value.numel()):
            sides = []
            for step in (eps, -eps):
                moved = value.clone()
                moved.view(-1)[element] += step
                sides.append(flat_values(point, {**arguments, name: moved}))
            columns.append([(up - down) / (2 * eps) for up, down in zip(*sides, strict=True)])
        for k, result in enumerate(point.results):
            matrix = [column[k] for column in columns]
            blocks[result, name] = torch.stack(matrix, 1) if matrix else base[k].new_zeros(len(base[k]), 0)
    return blocks, point.precision * size / eps


@dataclass
class GradientSearch:
    """A search that compares a backward's Jacobian with the numerical one, call by call.

    Attributes:
        context: the check's context.
        types: element types of the type variables.
        second: whether to differentiate the backward instead of the operator.
        wrong: the comparisons that have wrong elements.
        compared: number of elements of Jacobians that were compared.
        kinks: number of elements without a numerical derivative.
    """

    context: Context
    types: Mapping[str, DType]
    second: bool = False
    wrong: list[Comparison] = field(default_factory=list)
    compared: int = 0
    kinks: int = 0

    def run(self) -> Finding | None:
        """Return the diagnosed error of the smallest wrong call; skip if no call has a numerical derivative."""
        half = max(8, EXAMPLES[self.context.level] // 2)
        for values in (("uniform",), ("uniform", "wide")):
            finding = self.context.find(
                self._judge, types=self.types, sizes=SIZES, max_numel=MAX_NUMEL, values=values, examples=half
            )
            if finding:
                return self._diagnosed(finding)
        if not self.compared and not straight_through(self.context):
            raise Skipped("no call was found that has a numerical derivative")
        return None

    def point(self, case: Case, arguments: Arguments) -> Point | None:
        """Return the point of the call; None if the call is refused, or has nothing to differentiate."""
        try:
            point = point_of_case(self.context.operator, case, arguments, self.context.seed)
        except Exception:  # noqa: BLE001 - whatever an operator raises
            return None
        return backward_point(point, case.seed) if point and self.second else point

    def points(self) -> Iterator[Point]:
        """Yield some points of calls that the operator accepts."""
        for case in self.context.examples(20, types=self.types, sizes=(2, 3), contiguous=True, max_numel=MAX_NUMEL):
            if point := self.point(case, case.arguments()):
                yield point

    def compare(self, point: Point) -> tuple[AutogradJacobian, Comparison]:
        """Compute and compare both Jacobians; NaN in new memory shows elements that the backward doesn't write."""
        with fill_new_memory():
            got = autograd_jacobian(point)
        return got, compare_jacobians(point, got, numerical_jacobian(point), self._estimates(point))

    def _judge(self, case: Case, arguments: Arguments) -> Finding | None:
        """Judge one call. Errors come from the backward, because calls that the forward refuses aren't judged."""
        operator, layout = self.context.operator, ""
        try:
            finding, layout = self._find_difference(case, arguments)
        except Exception as error:  # noqa: BLE001 - whatever a backward raises
            finding = Finding("backward-raises", f"the backward raises {type(error).__name__}: {error}")
        if finding is None:
            return None
        text = gradient_reproducer(
            operator, case.arguments(), second=self.second, layout=layout, eps=0.0 if self.exact else 0.03
        )
        return replace(finding, reproducer=text)

    @property
    def exact(self) -> bool:
        """Whether all floating tensors are float64."""
        tensors = (*self.context.operator.differentiable, *self.context.operator.signature.outputs)
        types = [tensor.type.resolve(self.types) for tensor in tensors]
        return all(dtype.part is DType.F64 for dtype in types if dtype.is_floating or dtype.is_complex)

    def _find_difference(self, case: Case, arguments: Arguments) -> tuple[Finding | None, str]:
        """Return the finding, and the layout of the incoming gradient for which it occurs."""
        if (point := self.point(case, arguments)) is None:
            return None, ""
        if finding := check_repeated(point, case.seed):
            return finding, ""
        got, comparison = self.compare(point)
        self.compared += comparison.count
        self.kinks += sum(b.expected.numel() for b in comparison.blocks.values()) - comparison.count
        if comparison.wrong:
            return self._explain(case, arguments, point, comparison), ""
        wrong_layout = check_layouts(point, got, case.seed)
        return (wrong_layout.finding, wrong_layout.layout) if wrong_layout else (None, "")

    def _explain(self, case: Case, arguments: Arguments, point: Point, comparison: Comparison) -> Finding:
        text = describe_worst(comparison.wrong[0])
        again = autograd_jacobian(point)
        if any(_written_later(again.values[p], block.got) for p, block in comparison.blocks.items()):
            return Finding("uninitialised-gradient", f"a part of the gradient isn't written: {text}")
        if all(bool(torch.isnan(block.got[block.wrong]).all()) for block in comparison.wrong):
            return Finding("nan-gradient", text)
        if not are_contiguous(arguments):
            twin = self.point(case, contiguous_arguments(arguments))
            if twin and not self.compare(twin)[1].wrong:
                return Finding("wrong-when-strided", f"right for contiguous arguments, wrong for these: {text}")
        if len(point.results) > 1:
            whole = compare_jacobians(
                point, autograd_jacobian(point, zeros=True), numerical_jacobian(point), self._estimates(point)
            )
            if not whole.wrong:
                return Finding("absent-gradient", f"right where every result has a gradient, else wrong: {text}")
        self.wrong.append(comparison)
        return Finding("wrong-gradient", text)

    def _estimates(self, point: Point) -> frozenset[Place]:
        """Return the blocks that aren't compared: gradients that are estimates on purpose."""
        if self.second:
            return frozenset()
        named = straight_through(self.context)
        return frozenset((result, argument) for result in point.results for argument in named)

    def _diagnosed(self, finding: Finding) -> Finding:
        """Return the finding with the fault's name and explanation."""
        if finding.kind != "wrong-gradient":
            return finding
        pool = self._wrong_comparisons()
        fault = diagnose(pool)
        if fault.kind == "wrong-gradient" and not self.second:
            fault = find_wrong_saved_tensor(pool) or fault
        kind = _SECOND.get(fault.kind, "wrong-double-backward") if self.second else fault.kind
        return replace(finding, kind=kind, message=f"{fault.text}\n{finding.message}")

    def _wrong_comparisons(self) -> list[Comparison]:
        """Return wrong comparisons at points of several shapes: those of the search, and some more."""
        more = []
        for case in self.context.examples(
            12, patient=True, types=self.types, sizes=(2, 3), contiguous=True, max_numel=MAX_NUMEL
        ):
            point = self.point(case, case.arguments())
            if point and (comparison := self.compare(point)[1]).wrong:
                more.append(comparison)
        return [*sorted(self.wrong, key=lambda c: -c.count)[:_SHOWN], *more]


def differentiable_types(context: Context) -> dict[str, DType]:
    """Return the widest element types that can be differentiated.

    Raises:
        Skipped: no argument can be differentiated.
    """
    if not context.operator.differentiable:
        ours = "it has no backward: asking for a gradient is an error"
        raise Skipped(ours if context.operator.ours else "no argument is floating")
    return context.type_choices(floating=True)[0]


def straight_through(context: Context) -> list[str]:
    """Return the operator's arguments in the option `straight_through`, whose gradients are estimates on purpose.

    The option is a sequence such as ``("x",)`` or ``("round.x",)``, with or without the operator's name.
    """
    names: list[str] = []
    for name in context.options.get("straight_through", ()):
        owner, _, argument = name.rpartition(".")
        if owner in ("", context.operator.name):
            names.append(argument)
    return names


def _written_later(before: torch.Tensor, poisoned: torch.Tensor) -> bool:
    """Return whether an element is NaN only if new memory was filled with NaN."""
    return bool((torch.isnan(poisoned) & ~torch.isnan(before)).any())
