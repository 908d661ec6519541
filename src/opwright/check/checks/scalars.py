"""Scalars at the ends of their range: zero, next to it, negative, huge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import torch

from opwright.check.context import EXAMPLES, Context
from opwright.check.inputs import Arguments, Case, all_copied
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.reproducer import reproducer
from opwright.check.results import all_written, differing, referring
from opwright.signature import Sample

_VALUES = (0.0, -1.0, 2.0**-20, -(2.0**-20), 2.0**20)
"""Exact in every element type but float16, whose kernels compute in float32."""
_SIZES = (2, 1, 3, 5)


@register("scalars", group="values")
@referring
def scalars(context: Context) -> Iterator[Finding]:
    """The results are the reference's for scalars that are zero, next to it, negative, huge."""
    subject = context.subject
    names = [scalar.name for scalar in subject.signature.scalars if scalar.kind == "float"]
    if not names:
        raise Skipped("it takes no float")
    if subject.reference is None:
        raise Skipped("no reference was given")
    if subject.signature.generator:
        raise Skipped("it is random")
    examples = max(4, EXAMPLES[context.level] // (2 * len(names)))
    for name in names:
        for value in _VALUES:

            def judge(case: Case, arguments: Arguments, given: Mapping[str, float] = {name: value}) -> Finding | None:
                del arguments
                return _judged(context, with_scalars(case, given))

            if found := context.find(judge, sizes=_SIZES, examples=examples):
                of_operator = found.kind != "bad-reference"
                yield replace(found, message=f"for {name}={value:g}: {found.message}") if of_operator else found
                break
    context.detail = f"{context.tried} calls with {', '.join(names)} at {', '.join(f'{v:.3g}' for v in _VALUES)}"


def with_scalars(case: Case, given: Mapping[str, float]) -> Case:
    """The same call with other scalars."""
    drawn = case.sample
    return replace(case, sample=Sample(drawn.tensors, {**drawn.scalars, **given}, drawn.binding))


def _judged(context: Context, case: Case) -> Finding | None:
    """What is wrong; nothing where rounding does it: then the reference is off as well, if computed no more exactly."""
    subject, types = context.subject, case.sample.binding.types
    got = all_written(context, case.arguments(), case)  # first: what it refuses, the reference needn't know
    expected = subject.referred(all_copied(case.arguments())) or ()
    found = differing(context, got, expected, "the reference")
    if found is None or differing(context, got, _as_exact(context, case), "the reference") is None:
        return None
    return replace(found, reproducer=reproducer(subject, case.arguments(), types=types))


def _as_exact(context: Context, case: Case) -> tuple[torch.Tensor, ...]:
    """The reference's results, from the arguments' own types; halves as float32, in which kernels compute."""
    halves = (torch.float16, torch.bfloat16)
    given = {
        name: value.float() if isinstance(value, torch.Tensor) and value.dtype in halves else value
        for name, value in case.arguments().items()
    }
    return context.subject.of_reference(given)
