"""Checks that values agree between element types, layouts, sizes, numbers of threads, and repeated calls."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Sequence
from functools import partial

import torch

from opwright.check.calls.cases import (
    LARGE_SIZES,
    SMALL_SIZES,
    Arguments,
    Case,
    contiguous_arguments,
    copy_arguments,
    torch_dtype,
    types_text,
)
from opwright.check.calls.reproducer import case_reproducer
from opwright.check.calls.settings import using_threads
from opwright.check.calls.target_operator import dtype_mismatch, is_stand_in
from opwright.check.context import Context, are_numbers_of
from opwright.check.registry import register
from opwright.check.report import Finding, Skipped
from opwright.check.values.comparison import (
    compare_results,
    compare_with_excuses,
    contiguous_call,
    copy_as,
    for_other_lengths,
    reordered_sum_ulp,
)
from opwright.check.values.ulp import equal_with_nan

_DIVIDED = (*LARGE_SIZES, 100_003)
"""The last size is enough to divide a `parallel_for` along a single axis among three threads."""
_ATTEMPTS = 50
"""Choices of the other sizes, for a call in which one axis is empty."""


@register("element types", group="values")
def element_types(context: Context) -> Iterator[Finding]:
    """Compare the results of every element type with those of the widest one for the same numbers."""
    operator, choices = context.operator, context.type_choices()
    widest = context.type_choices(floating=True)[0]
    others = [types for types in choices if types != widest and are_numbers_of(types, widest)]
    if not others or operator.signature.generator or not operator.signature.tensors:
        raise Skipped("there is one element type" if not others else "it is random or takes no tensor")

    dtypes = {tensor.name: torch_dtype(tensor.type.resolve(widest)) for tensor in operator.signature.tensors}

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        """Compare a call with the same call in the widest types."""

        def widely(arguments: Arguments) -> tuple[torch.Tensor, ...]:
            wide = {name: copy_as(value, dtypes.get(name)) for name, value in arguments.items()}
            return context.operator.call_all(wide, widest)

        before, expected = copy_arguments(arguments), widely(arguments)
        got = context.operator.call_all(arguments, case.types)
        wrong = dtype_mismatch(operator.signature, got, case.types)
        return wrong or compare_with_excuses(context, got, expected, f"what {types_text(widest)} gives", before, widely)

    for types in others:
        finding = context.find(judge, types=types, sizes=SMALL_SIZES, examples=context.examples_per_choice(others))
        finding = finding or context.find(judge, types=types, sizes=LARGE_SIZES, max_numel=1 << 18, examples=3)
        if finding:
            kind = finding.kind if finding.kind in ("wrong-dtype", "wrong-results", "raises") else "wrong-element-type"
            yield Finding(kind, f"for {types_text(types)}: {finding.message}", finding.reproducer)
            if kind == "raises":  # perhaps the call with the widest types raised, which is part of every comparison
                return
    context.detail = f"{context.tried} calls of {len(others)} element types against {types_text(widest)}"


@register("layouts", group="values")
def layouts(context: Context) -> Iterator[Finding]:
    """Compare strided, sliced, expanded, transposed and unaligned arguments with contiguous ones."""
    if context.operator.signature.generator or not context.operator.signature.tensors:
        raise Skipped("it is random or takes no tensor")

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        """Compare a call with the same call on contiguous arguments."""
        before, expected = (
            copy_arguments(arguments),
            context.operator.call_all(contiguous_arguments(arguments), case.types),
        )
        got = context.operator.call_all(arguments, case.types)
        return compare_with_excuses(
            context, got, expected, "what contiguous arguments give", before, contiguous_call(context, case)
        )

    for types in context.level_types():
        finding = context.find(
            judge,
            types=types,
            sizes=SMALL_SIZES,
            unaligned=True,
            examples=context.examples_per_choice(context.level_types()),
        )
        if finding:
            kind = finding.kind if finding.kind in ("raises", "wrong-results") else "wrong-when-strided"
            yield Finding(kind, finding.message, finding.reproducer)
            return
    context.detail = f"{context.tried} calls, strided against contiguous"


@register("sizes", group="values")
def sizes(context: Context) -> Iterator[Finding]:
    """Call with sizes 0 and 1, and large odd ones: the results must have the shapes and types of the signature."""
    from opwright.signature import output_shapes

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        """Compare the shapes and element types of one call's results with the signature's."""
        results = context.operator.call(arguments, case.types)
        shapes = output_shapes(context.operator.signature, case.sample.binding)
        for output, got, expected in zip(context.operator.signature.outputs, results, shapes, strict=True):
            absent = output.name in case.sample.binding.absent
            if output.condition and absent is not is_stand_in(got):
                returned = "a tensor, expected None" if absent else "None, expected a tensor"
                return Finding("wrong-shape", f"{output.name} ({output.condition}) is {returned}")
            if absent:
                continue
            fits = len(got.shape) == len(expected) and all(
                not isinstance(b, int) or a == b for a, b in zip(got.shape, expected, strict=True)
            )
            if not fits:
                return Finding("wrong-shape", f"{output.name} has shape {tuple(got.shape)}, expected {tuple(expected)}")
        return dtype_mismatch(context.operator.signature, results, case.types)

    for drawn, most in (((0, 1), 1 << 10), (_DIVIDED, 1 << 18)):
        finding = context.find(judge, sizes=drawn, max_numel=most, examples=10 if most > 1 << 10 else None)
        if finding:
            empty = finding.kind == "raises" and most == 1 << 10
            yield Finding("fails-when-empty" if empty else finding.kind, finding.message, finding.reproducer)
    yield from for_other_lengths(context, sizes)
    context.detail = f"{context.tried} calls with sizes 0, 1 and up to {max(_DIVIDED)}"


@register("empty axes", group="values", share=0.5)
def empty_axes(context: Context) -> Iterator[Finding]:
    """Call with one axis of size 0, and all others not: results as the reference's, or of the signature's shapes."""
    from opwright.errors import ArgumentError

    operator, signature = context.operator, context.operator.signature
    if operator.examples:
        raise Skipped("sizes are those of the examples")
    compares = operator.reference is not None and signature.generator is None

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        before = copy_arguments(arguments)
        results = operator.call_all(arguments, case.types)
        expected = operator.reference_results(before) if compares else None
        return None if expected is None else compare_results(context, results, expected, "the reference")

    rng, empty = random.Random(context.seed), []  # noqa: S311 - test data
    for axis in (*signature.axes, "..."):
        leads = signature.has_ellipsis or signature.broadcasts
        if axis == "..." and not leads:
            continue
        with contextlib.suppress(ArgumentError):  # no call has that axis of size 0
            sample = operator.sample(rng, sizes=(2, 3, 5), fixed={axis: 0}, contiguous=True, attempts=_ATTEMPTS)
            context.tried += 1
            empty.append(axis)
            case = Case(sample, device=context.device)
            if finding := context.evaluate(judge, case):
                text = f"where {axis} alone is 0: {finding.message}"
                yield Finding("fails-when-empty", text, case_reproducer(operator, case))
    if not empty:
        raise Skipped("no axis can be empty alone")
    context.detail = f"{len(empty)} calls, with {', '.join(empty)} empty in turn"


@register("determinism", group="values")
def determinism(context: Context) -> Iterator[Finding]:
    """Repeat the same call: it must give the same bits; a random operator, after the same seed."""

    def judge(case: Case, arguments: Arguments, calls: int = 3) -> Finding | None:
        """Compare the bits of repeated calls with the first one."""
        seen: list[Sequence[torch.Tensor]] = []
        for _ in range(calls):
            torch.manual_seed(context.seed)
            seen.append(context.operator.call_all(copy_arguments(arguments), case.types))
        for number, again in enumerate(seen[1:], 2):
            for k, (a, b) in enumerate(zip(seen[0], again, strict=True)):
                if not equal_with_nan(a, b):
                    return Finding("nondeterministic", f"result {k}: call number {number} of the same gives other bits")
        return None

    finding = context.find(judge, sizes=SMALL_SIZES)
    with using_threads(max(torch.get_num_threads(), 4)):
        for drawn in (_DIVIDED, _DIVIDED[::-1]):
            finding = finding or context.find(partial(judge, calls=8), sizes=drawn, max_numel=1 << 18, examples=3)
    if finding:
        yield finding
    context.detail = f"{context.tried} calls, three times each, and eight times where they are large"


@register("threads", group="values")
def threads(context: Context) -> Iterator[Finding]:
    """Compare the results of several threads with one thread's."""
    context.require_deterministic()
    context.require_cpu("the number of threads is varied")
    before = torch.get_num_threads()

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        """Compare calls with several threads with a call with one."""
        with using_threads(1):
            expected = context.operator.call_all(copy_arguments(arguments), case.types)
        for count in (2, max(before, 4)):
            for _ in range(3):
                with using_threads(count):
                    got = context.operator.call_all(copy_arguments(arguments), case.types)
                finding = compare_with_excuses(
                    context,
                    got,
                    expected,
                    "what one thread gives",
                    arguments,
                    contiguous_call(context, case),
                    reordered_sum_ulp(arguments),
                )
                if finding:
                    return Finding("depends-on-threads", f"{count} threads: {finding.message}")
        return None

    finding = context.find(judge, sizes=_DIVIDED, max_numel=1 << 18, examples=8 if context.level == "quick" else 20)
    context.detail = f"{context.tried} calls with 1, 2 and {max(before, 4)} threads"
    if finding:
        yield finding
