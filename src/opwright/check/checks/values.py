"""Values: against a reference, between element types, layouts, threads, and from call to call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from opwright.check.compare import identical
from opwright.check.context import Context
from opwright.check.inputs import Arguments, Case, Values, all_copied
from opwright.check.points import dense
from opwright.check.reference import overflowed
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.results import all_written, as_called, differing, in_type, referring, reordered, unexcused
from opwright.check.returned import other_type
from opwright.check.threads import using_threads
from opwright.check.when import named
from opwright.signature import DType, TensorParam

_SMALL = (2, 1, 3, 0, 5, 8, 17)
_LARGE = (8209, 1031, 257, 64, 33, 5, 2)  # small ones among them, so that tensors of many axes are found, too
_DIVIDED = (*_LARGE, 100_003)
"""The last one is enough for a `parallel_for` to be divided among three threads, along one axis alone."""
_KINDS: tuple[Values, ...] = ("uniform", "special")


@register("agreement", group="values", share=2.0)
@referring
def agreement(context: Context) -> Iterator[Finding]:
    """The results are the reference's, for all element types, sizes and layouts, within some ulp."""
    subject = context.subject
    if subject.reference is None:
        raise Skipped("no reference was given")
    if subject.signature.generator:
        raise Skipped("it is random")

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        before = all_copied(arguments)
        got = all_written(context, arguments, case)  # first: what it refuses, the reference needn't know
        if wrong := other_type(subject.signature, got, case.sample.binding.types):
            return wrong
        expected = subject.referred(all_copied(before)) or ()
        if case.values == "special" and differing(context, got, expected, "the reference"):
            expected = overflowed(subject, before, got, expected)
        return unexcused(context, got, expected, "the reference", before, lambda moved: subject.referred(moved) or ())

    found = next(_over_types(context, judge, values=_KINDS, unaligned=True), None)
    if found or (found := context.find(judge, sizes=_SMALL, values=("wide",))):
        yield found
    context.detail = f"{context.tried} calls against the reference"


@register("element types", group="values")
def element_types(context: Context) -> Iterator[Finding]:
    """Every element type gives what the widest one gives for the same numbers."""
    subject, choices = context.subject, context.type_choices()
    widest = context.type_choices(floating=True)[0]
    others = [types for types in choices if types != widest and _same_kinds(types, widest)]
    if not others or subject.signature.generator or not subject.signature.tensors:
        raise Skipped("there is one element type" if not others else "it is random or takes no tensor")

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        def widely(given: Arguments) -> tuple[torch.Tensor, ...]:
            wide = {name: in_type(value, _type_of(context, name, widest)) for name, value in given.items()}
            return all_written(context, wide, case, widest)

        before, expected = all_copied(arguments), widely(arguments)
        got = all_written(context, arguments, case)
        wrong = other_type(subject.signature, got, case.sample.binding.types)
        return wrong or unexcused(context, got, expected, f"what {_named(widest)} gives", before, widely)

    for types in others:
        finding = context.find(judge, types=types, sizes=_SMALL, examples=_each(context, others))
        finding = finding or context.find(judge, types=types, sizes=_LARGE, max_numel=1 << 18, examples=3)
        if finding:
            kind = finding.kind if finding.kind in ("wrong-dtype", "wrong-results", "raises") else "wrong-element-type"
            yield Finding(kind, f"for {_named(types)}: {finding.message}", finding.reproducer)
            if kind == "raises":  # it may be the widest one's call, which all are compared with
                return
    context.detail = f"{context.tried} calls of {len(others)} element types against {_named(widest)}"


@register("layouts", group="values")
def layouts(context: Context) -> Iterator[Finding]:
    """Strided, sliced, expanded, transposed and unaligned arguments give what contiguous ones give."""
    if context.subject.signature.generator or not context.subject.signature.tensors:
        raise Skipped("it is random or takes no tensor")

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        before, expected = all_copied(arguments), all_written(context, dense(arguments), case)
        got = all_written(context, arguments, case)
        return unexcused(context, got, expected, "what contiguous arguments give", before, as_called(context, case))

    for types in context.run_types():
        found = context.find(
            judge, types=types, sizes=_SMALL, unaligned=True, examples=_each(context, context.run_types())
        )
        if found:
            kind = found.kind if found.kind in ("raises", "wrong-results") else "wrong-when-strided"
            yield Finding(kind, found.message, found.reproducer)
            return
    context.detail = f"{context.tried} calls, strided against contiguous"


@register("sizes", group="values")
def sizes(context: Context) -> Iterator[Finding]:
    """Sizes 0 and 1, and large odd ones, work; the results have the shapes and types that the signature says."""
    from opwright.signature import output_shapes

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        results = context.subject.call(arguments, case.sample.binding.types)
        shapes = output_shapes(context.subject.signature, case.sample.binding)
        for output, got, expected in zip(context.subject.signature.outputs, results, shapes, strict=True):
            fits = len(got.shape) == len(expected) and all(
                not isinstance(b, int) or a == b for a, b in zip(got.shape, expected, strict=True)
            )
            if not fits:
                return Finding("wrong-shape", f"{output.name} has shape {tuple(got.shape)}, expected {tuple(expected)}")
        return other_type(context.subject.signature, results, case.sample.binding.types)

    for drawn, most in (((0, 1), 1 << 10), (_DIVIDED, 1 << 18)):
        finding = context.find(judge, sizes=drawn, max_numel=most, examples=10 if most > 1 << 10 else None)
        if finding:
            empty = finding.kind == "raises" and most == 1 << 10
            yield Finding("fails-when-empty" if empty else finding.kind, finding.message, finding.reproducer)
    context.detail = f"{context.tried} calls with sizes 0, 1 and up to {max(_DIVIDED)}"


@register("determinism", group="values")
def determinism(context: Context) -> Iterator[Finding]:
    """The same call gives the same bits; a random operator does after the same seed."""

    def judge(case: Case, arguments: Arguments, calls: int = 3) -> Finding | None:
        seen: list[Sequence[torch.Tensor]] = []
        for _ in range(calls):
            torch.manual_seed(context.seed)
            seen.append(all_written(context, all_copied(arguments), case))
        for number, again in enumerate(seen[1:], 2):
            for k, (a, b) in enumerate(zip(seen[0], again, strict=True)):
                if not identical(a, b):
                    return Finding("nondeterministic", f"result {k}: call number {number} of the same gives other bits")
        return None

    def divided(case: Case, arguments: Arguments) -> Finding | None:
        with using_threads(max(torch.get_num_threads(), 4)):
            return judge(case, arguments, 8)

    finding = context.find(judge, sizes=_SMALL)
    finding = finding or context.find(divided, sizes=_DIVIDED, max_numel=1 << 18, examples=3)
    finding = finding or context.find(divided, sizes=_DIVIDED[::-1], max_numel=1 << 18, examples=3)
    if finding:
        yield finding
    context.detail = f"{context.tried} calls, three times each, and eight times where they are large"


@register("threads", group="values")
def threads(context: Context) -> Iterator[Finding]:
    """One thread gives what several give."""
    if context.subject.signature.generator:
        raise Skipped("it is random")
    context.only_on_the_cpu("the number of threads is varied")
    before = torch.get_num_threads()

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        with using_threads(1):
            expected = all_written(context, all_copied(arguments), case)
        for count in (2, max(before, 4)):
            for _ in range(3):
                with using_threads(count):
                    got = all_written(context, all_copied(arguments), case)
                finding = unexcused(
                    context,
                    got,
                    expected,
                    "what one thread gives",
                    arguments,
                    as_called(context, case),
                    reordered(arguments),
                )
                if finding:
                    return Finding("depends-on-threads", f"{count} threads: {finding.message}")
        return None

    finding = context.find(judge, sizes=_DIVIDED, max_numel=1 << 18, examples=8 if context.level == "quick" else 20)
    context.detail = f"{context.tried} calls with 1, 2 and {max(before, 4)} threads"
    if finding:
        yield finding


def _over_types(context: Context, judge: Any, **options: Any) -> Iterator[Finding]:
    """The finding of each choice of element types, small calls first; then of large calls."""
    choices = context.run_types()
    for types in choices:
        if finding := context.find(judge, types=types, sizes=_SMALL, examples=_each(context, choices), **options):
            yield named(context, judge, _of_types(finding, types, choices), types)
            return
    large = {**options, "sizes": _LARGE, "max_numel": 1 << 18, "values": ("uniform",)}
    if finding := context.find(judge, examples=8, **large):
        yield named(context, judge, finding, {})


def _each(context: Context, choices: Sequence[Any]) -> int:
    from opwright.check.context import EXAMPLES

    return max(10, 2 * EXAMPLES[context.level] // max(1, len(choices)))


def _of_types(finding: Finding, types: dict[str, DType], choices: Sequence[Any]) -> Finding:
    if len(choices) == 1 or finding.kind == "bad-reference":
        return finding
    return Finding(finding.kind, f"for {_named(types)}: {finding.message}", finding.reproducer)


def _type_of(context: Context, name: str, types: dict[str, DType]) -> torch.dtype | None:
    param = next((p for p in context.subject.signature.tensors if p.name == name), None)
    if not isinstance(param, TensorParam):
        return None
    dtype: torch.dtype = getattr(torch, param.type.resolve(types).torch_name)
    return dtype


def _same_kinds(one: dict[str, DType], other: dict[str, DType]) -> bool:
    """Whether each variable is floating in both or in neither."""
    return all(one[v].is_floating == other[v].is_floating and one[v].is_complex == other[v].is_complex for v in one)


def _named(types: dict[str, DType]) -> str:
    return ", ".join(f"{variable} = {dtype}" for variable, dtype in types.items()) or "the only element types"
