"""Kernels for different devices: what they give has to be the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import torch

from opwright.check.compare import ULP, difference
from opwright.check.context import Context
from opwright.check.files import load_files
from opwright.check.inputs import Arguments, Case
from opwright.check.points import Point, of_case
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.results import all_written, as_called, reordered, unexcused
from opwright.check.subject import Subject
from opwright.check.targets import subjects
from opwright.check.vjp import drawn, traced, vjp

_SIZES = (2, 1, 3, 0, 5, 17, 257)
_LARGE = (1031, 8209, 33)
_SLACK = 4
"""How much less exact than results gradients may be: what they are computed from has been rounded."""


@register("devices", group="values")
def devices(context: Context) -> Iterator[Finding]:
    """A GPU's kernels, or CUDA kernels that are emulated, give what the CPU's give: results and gradients."""
    if context.subject.signature.generator:
        raise Skipped("it is random")
    plain = replace(context, subject=_on_the_cpu(context))

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        there, here = replace(case, device=context.device), replace(case, device="cpu")
        expected = all_written(plain, here.arguments(), here)
        got = [result.cpu() for result in all_written(context, arguments, there)]
        found = unexcused(
            plain,
            got,
            expected,
            "what the CPU's kernel gives",
            here.arguments(),
            as_called(plain, here),
            reordered(arguments),
        )
        return found or _gradients(context, plain, there, here)

    for types in context.run_types():
        found = context.find(judge, types=types, sizes=_SIZES, values=("uniform", "wide"))
        if found := found or context.find(judge, types=types, sizes=_LARGE, max_numel=1 << 15, examples=3):
            kind = "raises" if found.kind == "raises" else "differs-between-devices"
            yield Finding(kind, found.message, found.reproducer)
            return
    context.detail = f"{context.tried} calls, results and gradients, against the kernels of the CPU"


def _on_the_cpu(context: Context) -> Subject:
    """The same operator's kernel for the CPU.

    Raises:
        Skipped: there is none, or no other device was asked for.
    """
    subject = context.subject
    here = replace(subject, device="cpu")
    if subject.sources and all(source.is_emulated for source in subject.sources):
        ops = load_files(*(source.path for source in subject.sources))
        here = next(each for each in subjects(ops) if each.name == subject.name)
    elif context.device == "cpu":
        raise Skipped('it is called on the CPU: device="cuda", or "emulated", compares CUDA kernels with that')
    if here.ours and "cpu" not in here.devices:
        raise Skipped(f'it has no kernel for the CPU; reference="FILE.cpp:{subject.name}" names another file\'s')
    return here


def _gradients(context: Context, plain: Context, there: Case, here: Case) -> Finding | None:
    """What the gradients of the same call differ by."""
    points = [_point(context, there), _point(plain, here)]
    if points[0] is None or points[1] is None:
        return None
    got, expected = _pulled([points[0], points[1]], here.seed)
    for name, grad in got.items():
        allowed = _SLACK * ULP.get(grad.dtype, 64.0)
        if found := difference(grad.cpu(), expected[name], allowed):
            return Finding("wrong-gradient", f"grad_{name} differs from what the CPU's kernel gives: {found}")
    return None


def _point(context: Context, case: Case) -> Point | None:
    return of_case(context.subject, case, case.arguments(), context.seed) if context.subject.differentiable else None


def _pulled(points: Sequence[Point], seed: int) -> tuple[Mapping[str, torch.Tensor], Mapping[str, torch.Tensor]]:
    """Each point's gradients, for the same incoming ones."""
    leaves = [point.leaves() for point in points]
    results = [traced(point, each) for point, each in zip(points, leaves, strict=True)]
    one, other = [vjp(r, each, drawn(r, seed)) if r else {} for r, each in zip(results, leaves, strict=True)]
    return one, other
