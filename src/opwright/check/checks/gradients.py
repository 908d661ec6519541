"""Checks of gradients: first and second order against numerical ones, and estimated ones against the reference's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

import torch

from opwright.check.calls.cases import Arguments, Case, copy_arguments, torch_dtype, types_text
from opwright.check.calls.target_operator import run_backward
from opwright.check.context import Context, are_numbers_of
from opwright.check.gradients.gradcheck import (
    MAX_NUMEL,
    SIZES,
    GradientSearch,
    StepExplanation,
    differentiable_types,
    explain_step,
    straight_through,
)
from opwright.check.gradients.point import Point
from opwright.check.gradients.vjp import compare_single_gradients, compare_with_float64, reference_gradients
from opwright.check.isolation.fork import run_in_fork
from opwright.check.registry import register
from opwright.check.report import Finding, Skipped, first_line
from opwright.check.values.comparison import asks_reference
from opwright.check.values.ulp import ULP, worst_difference
from opwright.codegen.library import untested_results
from opwright.signature import DType
from opwright.signature.names import backward_of
from opwright.sources import match

_GRADCHECK_EPS = 1e-6
_SLACK = 4
"""Tolerance of gradients relative to results: gradients are computed from rounded values."""


@register("gradcheck", group="gradients", share=2.0)
def gradcheck(context: Context) -> Iterator[Finding]:
    """Compare the backward with the forward's numerical derivative, for incoming gradients of every layout."""
    search = GradientSearch(context, differentiable_types(context))
    finding = search.run()
    context.detail = _detail(search)
    explanation = _explain_gradcheck(search)
    if finding:
        about = f"\n{explanation.text}" if explanation and explanation.cause in ("formula", "undecided") else ""
        yield replace(finding, message=finding.message + about)
    elif explanation:
        context.detail += f"; {explanation.text}"


@register("gradgradcheck", group="gradients")
def gradgradcheck(context: Context) -> Iterator[Finding]:
    """Compare the double backward with the backward's numerical derivative."""
    search = GradientSearch(context, differentiable_types(context), second=True)
    _require_second_derivative(search)
    if finding := search.run():
        yield finding
    context.detail = _detail(search)


@register("gradient types", group="gradients", share=0.5)
def gradient_types(context: Context) -> Iterator[Finding]:
    """Compare the gradients of every element type with those of the widest one for the same numbers."""
    widest = differentiable_types(context)
    others = [types for types in context.type_choices() if types != widest and _same_kinds(types, widest)]
    if not others:
        raise Skipped("there is one element type")
    for types in others:
        least = max((ULP.get(torch_dtype(dtype), 64.0) for dtype in types.values()), default=64.0)

        def judge(case: Case, arguments: Arguments, allowed: float = least * _SLACK) -> Finding | None:
            return compare_with_float64(context, case, arguments, allowed)

        if finding := context.find(judge, types=types, sizes=SIZES, max_numel=256, examples=20):
            yield replace(finding, kind="wrong-element-type", message=f"for {types_text(types)}: {finding.message}")
    context.detail = f"{context.tried} calls of {len(others)} element types against the widest"


@register("single gradients", group="gradients", share=0.5)
def single_gradients(context: Context) -> Iterator[Finding]:
    """Request each gradient alone: it must be the same as with the others, and no other gradient must be written."""
    context.require_cpu("a forked child can't use another device")
    types = differentiable_types(context)
    if len(context.operator.differentiable) < 2:
        raise Skipped("there is one gradient")
    search = GradientSearch(context, types)
    survives: list[str] = []

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        """Ask for each gradient alone, in a forked child, and compare it with the one of all together."""
        point = search.point(case, arguments)
        if point is None:
            return None
        with contextlib.suppress(TimeoutError):
            survives.append(run_in_fork(lambda: compare_single_gradients(point, case.seed)))
        text = survives[-1] if survives else ""
        if text.startswith("killed"):
            return Finding("writes-unwanted-gradient", f"where one gradient alone is wanted, the process is {text}\n"
                           "  likely fix: what isn't wanted isn't there: if (grad_x) ...")  # fmt: skip
        return Finding("depends-on-what-is-wanted", text) if text else None

    if finding := context.find(judge, types=types, sizes=SIZES, max_numel=MAX_NUMEL, examples=10):
        yield finding
    context.detail = f"{len(survives)} calls, each gradient alone, in a process of their own{_untested(context)}"


def _untested(context: Context) -> str:
    """Name the gradients that the kernel computes even where nobody wants them: that works, and takes its time."""
    name = context.operator.backward.name if context.operator.backward else ""
    written = [k for s in context.operator.sources for k in s.source.kernels if k.signature.name == name]
    names = dict.fromkeys(a.parameter.name for k in written for a in untested_results(k, match(k)))
    if not names:
        return ""
    tests = " and ".join(f"if ({name}) ..." for name in names)
    return f"; it would be faster to leave out the gradients that aren't wanted: {tests}"


def _same_kinds(types: Mapping[str, DType], widest: Mapping[str, DType]) -> bool:
    same = all(types[name].is_differentiable == widest[name].is_differentiable for name in widest)
    return same and are_numbers_of(types, widest)


def _explain_gradcheck(search: GradientSearch) -> StepExplanation | None:
    """Explain why a gradient fits or doesn't at the requested step, or if there is no float64."""
    context = search.context
    eps = context.options.get("eps")
    choices = [types for types in context.type_choices() if DType.F32 in types.values()]
    for case in context.examples(
        20, types=choices[0] if choices else search.types, sizes=(3, 2), contiguous=True, max_numel=MAX_NUMEL
    ):
        point = search.point(case, case.arguments())
        if point is None or (eps is None and search.exact):
            continue
        points = [point]
        if point.precision > torch.finfo(torch.float64).eps and choices:
            wide = search.point(case, case.arguments(torch.float64))
            points += [wide] if wide else []
        return explain_step(points, _GRADCHECK_EPS if eps is None else eps)
    return None


def _require_second_derivative(search: GradientSearch) -> None:
    """Skip the check if there is no second derivative, and requesting one is an error."""
    operator = search.context.operator
    declared = operator.ours and backward_of(operator.name, 2) in (operator.namespace or {})
    for point in search.points():
        try:
            run_backward(point.function(point.leaves()))
        except (RuntimeError, NotImplementedError) as error:
            if declared:
                return
            raise Skipped(
                f"there is no second derivative, and asking for it is an error: {first_line(error)}"
            ) from None
        return
    raise Skipped("there is no gradient to differentiate")


def _detail(search: GradientSearch) -> str:
    order = "second" if search.second else "first"
    estimates = [] if search.second else straight_through(search.context)
    without = f"none, or aren't meant to be any: {', '.join(estimates)}" if estimates else "none (kinks)"
    kinks = f", {search.kinks} more had {without}" if search.kinks else ""
    return f"{search.context.tried} calls: {search.compared} derivatives of {order} order against numerical ones{kinks}"


@register("estimated gradients", group="gradients", share=0.5, asks_reference=True)
@asks_reference
def estimated_gradients(context: Context) -> Iterator[Finding]:
    """Compare gradients that aren't meant to be the derivative with the reference's gradients by autograd."""
    names = [name for name in straight_through(context) if name in {t.name for t in context.operator.differentiable}]
    if not names:
        raise Skipped("every gradient is meant to be the derivative")
    context.require_reference()
    search, compared = GradientSearch(context, context.type_choices(floating=True)[0]), [0]

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        before = copy_arguments(arguments)
        if (point := search.point(case, arguments)) is None:
            return None
        generator = torch.Generator().manual_seed(case.seed)
        expected = reference_gradients(context.operator, before, names, lambda _, result: _draw_like(result, generator))
        compared[0] += any(bool(gradient.any()) for gradient in expected.values())
        return _estimate_difference(point, expected, generator.manual_seed(case.seed)) if expected else None

    finding = context.find(judge, types=search.types, sizes=SIZES, max_numel=MAX_NUMEL, values=("uniform", "wide"))
    if compared[0]:
        context.detail = f"{compared[0]} calls: {', '.join(names)} against the reference's gradient"
        if finding:
            yield finding
        return
    raise Skipped(
        "the reference has no gradient, or it is zero: torch.round is no reference for a gradient that passes it; a "
        "torch.autograd.Function with that gradient is"
    )


def _estimate_difference(point: Point, expected: dict[str, torch.Tensor], generator: torch.Generator) -> Finding | None:
    leaves = point.leaves()
    results = point.function(leaves)
    gradients = [_draw_like(result, generator).to(result.dtype) for result in results]
    actual = torch.autograd.grad(
        results, [leaves[name] for name in expected], gradients, allow_unused=True, materialize_grads=True
    )
    for (name, estimate), got in zip(expected.items(), actual, strict=True):
        if estimate.any() and (difference := worst_difference(got, estimate, _SLACK * ULP.get(got.dtype, 64.0))):
            return Finding("wrong-estimate", f"grad_{name} differs from the gradient of the reference: {difference}")
    return None


def _draw_like(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(like.shape, generator=generator, dtype=torch.float64).to(like.device) * 2 - 1
