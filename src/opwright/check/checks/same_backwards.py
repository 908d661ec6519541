"""Gradients from call to call, and from one number of threads to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import torch

from opwright.check.compare import difference, identical
from opwright.check.context import Context
from opwright.check.inputs import Arguments, Case
from opwright.check.points import Point
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.results import reordered
from opwright.check.search import Search
from opwright.check.showing import shown
from opwright.check.threads import using_threads
from opwright.check.vjp import drawn, traced, vjp

_SIZES = (8209, 100_003, 1031, 257, 33, 5)
"""The second one is enough for a `parallel_for` to be divided among three threads, along one axis alone."""
_SLACK = 4
"""How much less exact than results gradients may be: what they are computed from has been rounded."""
_GRAPHS = 2
_BACKWARDS = 3
"""How many forwards, and how many backwards through the graph of each."""
_THREADS = 4

Gradients = Mapping[str, torch.Tensor]


@register("gradient determinism", group="gradients", share=0.5)
def gradient_determinism(context: Context) -> Iterator[Finding]:
    """The same backward gives the same gradient, however often, and however many threads there are.

    What differs by no more than the order of a sum can explain is told, but is no finding: atomic additions of floating
    numbers are a way to write a backward, ATen's among them.
    """
    if not context.subject.differentiable:
        raise Skipped("there is no gradient")
    search, rounded = Search(context, context.type_choices(floating=True)[0]), [0]
    counts = [1, max(torch.get_num_threads(), _THREADS)] if context.device == "cpu" else [torch.get_num_threads()]

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        point = search.point(case, arguments)
        found = _differing(point, case, arguments, counts, rounded) if point else None
        return found and replace(found, reproducer=shown(context.subject, case.arguments(), layout="contiguous"))

    found = None
    for sizes in (_SIZES, _SIZES[1:]):
        found = found or context.find(judge, types=search.types, sizes=sizes, max_numel=1 << 18, examples=3)
    if found:
        yield replace(found, kind="backward-raises") if found.kind == "raises" else found
    threads = f", with {' and '.join(map(str, counts))} threads" if len(counts) > 1 else ""
    order = f"; in {rounded[0]} comparisons bits differed, as another order of a sum does" if rounded[0] else ""
    context.detail = f"{context.tried} calls, {_GRAPHS * _BACKWARDS} backwards each{threads}{order}"


def _differing(
    point: Point, case: Case, arguments: Arguments, counts: Sequence[int], rounded: list[int]
) -> Finding | None:
    firsts: list[Gradients] = []
    for count in counts:
        with using_threads(count):
            seen = list(_gradients(point, case.seed))
        for number, again in enumerate(seen[1:], 2):
            if found := _off(seen[0], again, arguments, rounded):
                text = f"backward number {number} of the same, with {count} threads: {found}"
                return Finding("nondeterministic-gradient", text)
        firsts += seen[:1]
    if len(firsts) > 1 and (found := _off(firsts[0], firsts[1], arguments, rounded)):
        return Finding("gradient-depends-on-threads", f"{counts[1]} threads, against one: {found}")
    return None


def _gradients(point: Point, seed: int) -> Iterator[Gradients]:
    """Of backwards through the same graph, and through new ones."""
    for _ in range(_GRAPHS):
        leaves = point.leaves()
        results = traced(point, leaves)
        for _ in range(_BACKWARDS if results else 0):
            yield vjp(results, leaves, drawn(results, seed))


def _off(one: Gradients, other: Gradients, arguments: Arguments, rounded: list[int]) -> str:
    """Where they differ by more than another order of sums explains; what differs by less is counted."""
    for name, value in one.items():
        if identical(value, other[name]):
            continue
        rounded[0] += 1
        if off := difference(other[name], value.double(), _SLACK * reordered(arguments)):
            return f"grad_{name}: {off}"
    return ""
