"""Gradients: against numerical ones, of first and second order, backwards and forwards."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

import torch

from opwright.check import forward_mode
from opwright.check.alone import survived
from opwright.check.compare import ULP
from opwright.check.context import Context
from opwright.check.inputs import Arguments, Case
from opwright.check.jacobian import numerical
from opwright.check.points import Point
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.same_gradients import alone, of_type
from opwright.check.search import MOST, SIZES, Search, straight_through
from opwright.check.tolerance import Story, story
from opwright.signature import DType

_GRADCHECK_EPS = 1e-6
_SLACK = 4
"""How much less exact than results gradients may be: what they are computed from has been rounded."""


@register("gradcheck", group="gradients", share=2.0)
def gradcheck(context: Context) -> Iterator[Finding]:
    """The backward is the forward's derivative, in whatever layout gradients come in."""
    search = Search(context, _types(context))
    finding = search.run()
    context.detail = _detail(search)
    told = _story(search)
    if finding:
        about = f"\n{told.text}" if told and told.cause in ("formula", "undecided") else ""
        yield replace(finding, message=finding.message + about)
    elif told:
        context.detail += f"; {told.text}"


@register("gradgradcheck", group="gradients")
def gradgradcheck(context: Context) -> Iterator[Finding]:
    """The backward's backward is its derivative."""
    search = Search(context, _types(context), second=True)
    _probe(search)
    if finding := search.run():
        yield finding
    context.detail = _detail(search)


@register("forward mode", group="gradients", share=0.5)
def forward(context: Context) -> Iterator[Finding]:
    """What forward mode gives is the derivative: never silently zero."""
    search = Search(context, _types(context))
    kept = frozenset(straight_through(context))
    _probe_forward(search)

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        point = search.point(case, arguments)
        return forward_mode.compared(point, numerical(point), case.seed, kept) if point else None

    found = context.find(judge, types=search.types, sizes=SIZES, max_numel=MOST)
    if found:
        yield replace(found, kind="wrong-forward-mode") if found.kind == "raises" else found
    context.detail = f"{context.tried} calls: derivatives along directions against numerical ones"


@register("gradient types", group="gradients", share=0.5)
def gradient_types(context: Context) -> Iterator[Finding]:
    """Every element type's gradient is what the widest one's is for the same numbers."""
    widest = _types(context)
    others = [types for types in context.type_choices() if types != widest and _all_real(types, widest)]
    if not others:
        raise Skipped("there is one element type")
    for types in others:
        dtypes = {name: getattr(torch, dtype.torch_name) for name, dtype in types.items()}
        least = max((ULP.get(dtype, 64.0) for dtype in dtypes.values()), default=64.0)

        def judge(case: Case, arguments: Arguments, allowed: float = least * _SLACK) -> Finding | None:
            return of_type(context, case, arguments, allowed)

        if found := context.find(judge, types=types, sizes=SIZES, max_numel=256, examples=20):
            named = ", ".join(f"{variable} = {dtype}" for variable, dtype in types.items())
            yield Finding("wrong-element-type", f"for {named}: {found.message}", found.reproducer)
    context.detail = f"{context.tried} calls of {len(others)} element types against the widest"


@register("single gradients", group="gradients", share=0.5)
def single_gradients(context: Context) -> Iterator[Finding]:
    """A gradient that is asked for alone is what it is beside the others; none is written that isn't wanted."""
    context.only_on_the_cpu("a copy of the process can't use another device")
    types = _types(context)
    if len(context.subject.differentiable) < 2:
        raise Skipped("there is one gradient")
    search = Search(context, types)
    survives: list[str] = []

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        point = search.point(case, arguments)
        if point is None:
            return None
        with contextlib.suppress(TimeoutError):
            survives.append(survived(lambda: alone(point, case.seed)))
        text = survives[-1] if survives else ""
        if text.startswith("killed"):
            return Finding("writes-unwanted-gradient", f"where one gradient alone is wanted, the process is {text}\n"
                           "  likely fix: what isn't wanted isn't there: if (grad_x) ...")  # fmt: skip
        return Finding("depends-on-what-is-wanted", text) if text else None

    if found := context.find(judge, types=types, sizes=SIZES, max_numel=MOST, examples=10):
        yield found
    context.detail = f"{len(survives)} calls, each gradient alone, in a process of their own"


def _types(context: Context) -> dict[str, DType]:
    if not context.subject.differentiable:
        ours = "it has no backward: asking for a gradient is an error"
        raise Skipped(ours if context.subject.ours else "no argument is floating")
    return context.type_choices(floating=True)[0]


def _all_real(types: Mapping[str, DType], widest: Mapping[str, DType]) -> bool:
    return all(types[name].is_floating == widest[name].is_floating for name in widest) and not any(
        dtype.is_complex for dtype in types.values()
    )


def _story(search: Search) -> Story | None:
    """Why a gradient fits or doesn't at the step that was asked for, or where there is no float64; else None."""
    context = search.context
    eps = context.options.get("eps")
    choices = [types for types in context.type_choices() if DType.F32 in types.values()]
    for case in context.examples(
        20, types=choices[0] if choices else search.types, sizes=(3, 2), contiguous=True, max_numel=MOST
    ):
        point = search.point(case, case.arguments())
        if point is None or (eps is None and search.exact):
            continue
        points = [point]
        if point.precision > torch.finfo(torch.float64).eps and choices:
            wide = search.point(case, case.arguments(torch.float64))
            points += [wide] if wide else []
        return story(points, _GRADCHECK_EPS if eps is None else eps)
    return None


def _probe(search: Search) -> None:
    """Skipped where there is no second derivative, and asking for one is an error."""
    subject = search.context.subject
    declared = subject.ours and f"{subject.name}_backward_backward" in (subject.namespace or {})
    for point in _points(search):
        try:
            _run_backward(point)
        except (RuntimeError, NotImplementedError) as error:
            if declared:
                return
            raise Skipped(f"there is no second derivative, and asking for it is an error: {_first(error)}") from None
        return
    raise Skipped("there is no gradient to differentiate")


def _run_backward(point: Point) -> None:
    """As `Tensor.backward`: `torch.autograd.grad` doesn't run what leads to no input, and would raise."""
    results = [result for result in point.function(point.leaves()) if result.requires_grad]
    if results:
        torch.autograd.backward(results, [torch.ones_like(result) for result in results])


def _probe_forward(search: Search) -> None:
    for point in _points(search):
        try:
            forward_mode.derivatives(point, forward_mode.drawn(point, 0))
        except (RuntimeError, NotImplementedError) as error:
            raise Skipped(f"there is none, and asking for it is an error: {_first(error)}") from None
        return


def _points(search: Search) -> Iterator[Point]:
    for case in search.context.examples(20, types=search.types, sizes=(2, 3), contiguous=True, max_numel=MOST):
        if point := search.point(case, case.arguments()):
            yield point


def _first(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _detail(search: Search) -> str:
    order = "second" if search.second else "first"
    estimates = [] if search.second else straight_through(search.context)
    without = f"none, or aren't meant to be any: {', '.join(estimates)}" if estimates else "none (kinks)"
    kinks = f", {search.kinks} more had {without}" if search.kinks else ""
    return f"{search.context.tried} calls: {search.compared} derivatives of {order} order against numerical ones{kinks}"
