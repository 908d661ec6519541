"""Checks against a reference: values, scalars at the ends of their range, and the distribution of random results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch

from opwright.check.calls.cases import (
    LARGE_SIZES,
    SMALL_SIZES,
    Arguments,
    Case,
    copy_arguments,
    is_floating,
    special_kinds,
    types_text,
)
from opwright.check.calls.reproducer import case_reproducer
from opwright.check.calls.target_operator import dtype_mismatch
from opwright.check.context import EXAMPLES, Context
from opwright.check.registry import register
from opwright.check.report import Finding, Skipped
from opwright.check.values.comparison import asks_reference, compare_results, compare_with_excuses, for_other_lengths
from opwright.check.values.conditioning import excuse_overflow
from opwright.check.values.conditions import add_condition
from opwright.errors import ArgumentError
from opwright.signature import DType, Sample

_VALUES = (0.0, -1.0, 2.0**-20, -(2.0**-20), 2.0**20)
"""Exact in every element type except float16, whose kernels compute in float32."""
_SIZES = (2, 1, 3, 5)
_SPECIAL_SIZES = (11, 8, 13)
_ATTEMPTS = 20
_DRAWS = 400
"""Calls from which the moments of random results are estimated."""
_MAX_DEVIATIONS = 6.0
"""Standard errors by which two means may differ: by chance, a larger difference occurs once in 500 million."""
_DISTRIBUTION_SIZES = (8, 5, 17, 3)
_MAX_NUMEL = 64
Draws = Callable[[], Sequence[torch.Tensor]]


@register("agreement", group="values", share=2.0, asks_reference=True)
@asks_reference
def agreement(context: Context) -> Iterator[Finding]:
    """Compare the results with the reference's, for all element types, sizes and layouts, within some ulp."""
    operator = context.operator
    context.require_reference()
    context.require_deterministic()

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        """Compare the results of one call with the reference; excuse what overflows in it."""
        before = copy_arguments(arguments)
        got = context.operator.call_all(arguments, case.types)  # first: it may refuse the call
        if wrong := dtype_mismatch(operator.signature, got, case.types):
            return wrong
        expected = operator.reference_results(copy_arguments(before)) or ()
        if case.values not in ("uniform", "wide") and compare_results(context, got, expected, "the reference"):
            expected = excuse_overflow(operator, before, got, expected)
        return compare_with_excuses(
            context, got, expected, "the reference", before, lambda moved: operator.reference_results(moved) or ()
        )

    finding = next(_compare_each_type(context, judge, values=("uniform", "special"), unaligned=True), None)
    if finding or (finding := context.find(judge, sizes=SMALL_SIZES, values=("wide",))):
        yield finding
    yield from for_other_lengths(context, agreement)
    context.detail = f"{context.tried} calls against the reference"


def _compare_each_type(context: Context, judge: Any, **options: Any) -> Iterator[Finding]:
    """Yield the first finding of the choices of element types, with small calls; then of large calls."""
    choices = context.level_types()
    for types in choices:
        if finding := context.find(
            judge, types=types, sizes=SMALL_SIZES, examples=context.examples_per_choice(choices), **options
        ):
            yield add_condition(context, judge, _with_types(finding, types, choices), types)
            return
    for types in choices:
        if finding := _with_each_special_kind(context, judge, types):
            yield _with_types(finding, types, choices)
            return
    large = {**options, "sizes": LARGE_SIZES, "max_numel": 1 << 18, "values": ("uniform",)}
    if finding := context.find(judge, examples=8, **large):
        yield add_condition(context, judge, finding, {})


def _with_each_special_kind(context: Context, judge: Any, types: Mapping[str, DType]) -> Finding | None:
    """Return the finding of a call with special values of one kind; each kind is tried, whatever the seed."""
    kinds = special_kinds(torch.finfo(torch.float32))
    for sizes in (_SPECIAL_SIZES, (*_SPECIAL_SIZES, 4, *_SIZES)):
        with suppress(ArgumentError):  # no such sizes fit
            call = next(context.draw(types=types, sizes=sizes, attempts=_ATTEMPTS, contiguous=True))
            break
    else:
        return None
    for kind in kinds:
        if finding := context.evaluate(judge, replace(call, values=kind)):
            smaller = context.find(judge, types=types, sizes=_SIZES, values=(kind,), examples=_ATTEMPTS)
            return smaller or replace(finding, reproducer=case_reproducer(context.operator, replace(call, values=kind)))
    return None


def _with_types(finding: Finding, types: dict[str, DType], choices: Sequence[Any]) -> Finding:
    if len(choices) == 1 or finding.kind == "bad-reference":
        return finding
    return Finding(finding.kind, f"for {types_text(types)}: {finding.message}", finding.reproducer)


@register("scalars", group="values", asks_reference=True)
@asks_reference
def scalars(context: Context) -> Iterator[Finding]:
    """Compare the results with the reference's for scalars that are zero, almost zero, negative or huge."""
    operator = context.operator
    names = [scalar.name for scalar in operator.signature.scalars if scalar.kind.edge_values]
    if not names:
        raise Skipped("it takes no float")
    context.require_reference()
    context.require_deterministic()
    examples = max(4, EXAMPLES[context.level] // (2 * len(names)))
    for name in names:
        for value in _VALUES:

            def judge(case: Case, arguments: Arguments, scalars: Mapping[str, float] = {name: value}) -> Finding | None:
                del arguments
                changed = with_scalars(case, scalars)
                return _judge(context, changed) if _in_domains(context, changed) else None

            if finding := context.find(judge, sizes=_SIZES, examples=examples):
                of_operator = finding.kind != "bad-reference"
                yield replace(finding, message=f"for {name}={value:g}: {finding.message}") if of_operator else finding
                break
    context.detail = f"{context.tried} calls with {', '.join(names)} at {', '.join(f'{v:.3g}' for v in _VALUES)}"


def _in_domains(context: Context, case: Case) -> bool:
    named, values = case.sample.named, case.sample.scalars
    every = context.operator.signature.scalars
    return all(s.domain is None or values[s.name] in s.domain.interval(named) for s in every)


def with_scalars(case: Case, scalars: Mapping[str, float]) -> Case:
    """Return the same call with other scalars."""
    sample = case.sample
    return replace(case, sample=Sample(sample.tensors, {**sample.scalars, **scalars}, sample.binding))


def _judge(context: Context, case: Case) -> Finding | None:
    """Compare with the reference; ignore a difference that its results in the arguments' types have, too."""
    operator = context.operator
    got = context.operator.call_all(case.arguments(), case.types)  # first: it may refuse the call
    expected = operator.reference_results(copy_arguments(case.arguments())) or ()
    finding = compare_results(context, got, expected, "the reference")
    if (
        finding is None
        or compare_results(context, got, _reference_in_own_types(context, case), "the reference") is None
    ):
        return None
    return replace(finding, reproducer=case_reproducer(operator, case))


def _reference_in_own_types(context: Context, case: Case) -> tuple[torch.Tensor, ...]:
    """Call the reference with the arguments' own types; shorter floats as float32, in which kernels compute."""
    arguments = {
        name: value.float() if is_floating(value) and value.element_size() < 4 else value
        for name, value in case.arguments().items()
    }
    return context.operator.call_reference(arguments)


@register("distribution", group="values", asks_reference=True)
@asks_reference
def distribution(context: Context) -> Iterator[Finding]:
    """Compare the means, squares, and products of neighbours of random results with the reference's."""
    operator = context.operator
    if not operator.signature.generator:
        raise Skipped("it isn't random")
    context.require_reference()

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        torch.manual_seed(case.seed)
        got = _moments(lambda: operator.call(copy_arguments(arguments), case.types))
        expected = _moments(lambda: operator.reference_results(copy_arguments(arguments)) or ())
        return _compare_moments([output.name for output in operator.signature.outputs], got, expected)

    types = context.type_choices(floating=True)[0]
    if finding := context.find(judge, types=types, sizes=_DISTRIBUTION_SIZES, max_numel=_MAX_NUMEL, examples=12):
        yield finding
    context.detail = f"{context.tried} calls, each drawn {_DRAWS} times"


def _moments(draw: Draws) -> list[dict[str, tuple[torch.Tensor, torch.Tensor]]]:
    """Return the means of the moments and their squared standard errors, for each result and element."""
    draws = [[result.detach().to(torch.float64).flatten() for result in draw()] for _ in range(_DRAWS)]
    results = []
    for samples in zip(*draws, strict=True):
        values = torch.stack(samples)
        moments = {"mean": values, "mean square": values**2, "mean product of neighbours": values * values.roll(1, 1)}
        results.append(
            {name: (m.mean(0), m.var(0) / _DRAWS + (m.abs().amax(0) / _DRAWS) ** 2) for name, m in moments.items()}
        )
    return results


def _compare_moments(
    names: Sequence[str],
    got: Sequence[dict[str, tuple[torch.Tensor, torch.Tensor]]],
    expected: Sequence[dict[str, tuple[torch.Tensor, torch.Tensor]]],
) -> Finding | None:
    """Compare means over the draws; each is given with its squared standard error."""
    for name, ours, theirs in zip(names, got, expected, strict=False):
        for moment, (mean, error) in ours.items():
            other, its_error = theirs[moment]
            deviations = (mean - other).abs() / (error + its_error).sqrt().clamp_min(1e-12)
            if deviations.numel() and float(deviations.max()) > _MAX_DEVIATIONS:
                at = int(deviations.argmax())
                return Finding(
                    "wrong-distribution",
                    f"{name}: the {moment} of element {at} over {_DRAWS} draws is {float(mean[at]):.4g}, the "
                    f"reference's is {float(other[at]):.4g}, {float(deviations[at]):.0f} standard errors away",
                )
    return None
