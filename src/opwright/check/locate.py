"""What is wrong with a backward: named by what its Jacobians have in common with the numerical ones.

A single small Jacobian fits many explanations (a number is always some multiple of another), so an explanation has to
hold at all points that were found, and be told by several numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import torch

from opwright.check.compared import Block, Comparison, worst

_EVIDENCE = 3
"""How many numbers have to agree with an explanation."""


@dataclass(frozen=True)
class Fault:
    """What is wrong: its name for programs, and a sentence."""

    kind: str
    text: str


def locate(comparisons: Sequence[Comparison]) -> Fault:
    """The explanation of all comparisons, of which each has something wrong; for the argument with most wrong elements.

    Args:
        comparisons: at several points, of several shapes.
    """
    arguments = {block.argument for comparison in comparisons for block in comparison.wrong}
    faults = {name: _of_argument(name, comparisons) for name in sorted(arguments)}
    first = next((f for f in faults.values() if f.kind != "wrong-gradient"), next(iter(faults.values())))
    lines = [f"grad_{name}: {fault.text}" for name, fault in faults.items()]
    return Fault(first.kind, "\n".join(dict.fromkeys(lines)))


def _of_argument(name: str, comparisons: Sequence[Comparison]) -> Fault:
    wrong = [block for c in comparisons for block in c.of(name) if bool(block.wrong.any())]
    every = [block for c in comparisons if any(b in c.wrong for b in c.of(name)) for block in c.of(name)]
    explanations: list[Callable[[], Fault | None]] = [
        lambda: _nothing(every),
        lambda: _sign(wrong),
        lambda: _exchanged(wrong, comparisons),
        lambda: _factor(wrong),
        lambda: _sized_factor(wrong),
        lambda: _transposed(wrong),
        lambda: _moved(wrong),
        lambda: _extra_path(wrong),
        lambda: _missing_path(every),
        lambda: _tensor_factor(wrong),
        lambda: _missing_term(wrong),
    ]
    for explain in explanations:
        if fault := explain():
            return fault
    return Fault("wrong-gradient", worst(max(wrong, key=lambda block: int(block.wrong.sum()))))


def _nothing(blocks: Sequence[Block]) -> Fault | None:
    """No gradient at all, from any result."""
    if any(bool((block.got != 0).any()) for block in blocks):
        return None
    if all(block.detached for block in blocks):
        return Fault("detached", "autograd knows of no path to it, though the results depend on it")
    return Fault("zero-gradient", "it is zero, though the results depend on the argument")


def _sign(blocks: Sequence[Block]) -> Fault | None:
    if all(block.matches(-block.expected) for block in blocks):
        return Fault("wrong-sign", "it has the wrong sign: it is the numerical gradient times -1")
    return None


def _factor(blocks: Sequence[Block]) -> Fault | None:
    """A constant."""
    got, expected = _significant(blocks)
    if len(got) < _EVIDENCE:
        return None
    factor = float((got @ expected) / (expected @ expected))
    if factor == 0 or not all(block.matches(factor * block.expected) for block in blocks):
        return None
    return Fault("constant-factor", f"it is the numerical gradient times {_number(factor)}, everywhere")


def _sized_factor(blocks: Sequence[Block]) -> Fault | None:
    """A size or a scalar."""
    if sum(len(_significant([block])[0]) for block in blocks) < _EVIDENCE:
        return None
    for name in blocks[0].point.numbers:
        for power, text in ((1, name), (-1, f"1/{name}"), (2, f"{name}²"), (-2, f"1/{name}²")):
            factors = [_powered(block.point.numbers.get(name), power) for block in blocks]
            fits = all(f is not None and b.matches(f * b.expected) for f, b in zip(factors, blocks, strict=True))
            if fits and len(set(factors)) > 1:
                lacking = text[2:] if text.startswith("1/") else f"1/{text}"
                return Fault(
                    "missing-factor", f"it is the numerical gradient times {text}: the factor {lacking} is missing"
                )
    return None


def _powered(value: float | None, power: int) -> float | None:
    return None if value is None or (not value and power < 0) else value**power


def _exchanged(blocks: Sequence[Block], comparisons: Sequence[Comparison]) -> Fault | None:
    """Another argument's gradient, or another result's."""
    by_point = {id(block): c for c in comparisons for block in c.blocks.values()}
    for other in sorted({block.argument for c in comparisons for block in c.blocks.values()}):
        pairs = [(b, by_point[id(b)].blocks.get((b.result, other))) for b in blocks]
        if other != blocks[0].argument and all(o is not None and b.matches(o.expected) for b, o in pairs):
            return Fault("swapped-gradients", f"it is the gradient of {other}: the two are exchanged")
    results = sorted({block.result for c in comparisons for block in c.blocks.values()})
    for shift in range(1, len(results)):
        turned = {name: results[(k + shift) % len(results)] for k, name in enumerate(results)}
        pairs = [(b, by_point[id(b)].blocks.get((turned[b.result], b.argument))) for b in blocks]
        if all(o is not None and b.matches(o.expected) for b, o in pairs):
            return Fault("swapped-gradients", f"the gradients of {' and '.join(results)} that come in are exchanged")
    return None


def _transposed(blocks: Sequence[Block]) -> Fault | None:
    """Two axes exchanged, of the argument's gradient or of the one that came in."""
    for side, what in (("columns", "its"), ("rows", "the incoming gradient's")):
        for a, b in ((-2, -1), (-3, -1), (-3, -2)):
            if all(_matches_any(block, _exchanging(block, side, a, b)) for block in blocks):
                return Fault("transposed-gradient", f"{what} axes {a} and {b} are exchanged: it is transposed")
    return None


def _exchanging(block: Block, side: str, a: int, b: int) -> Iterator[torch.Tensor]:
    shape = block.columns if side == "columns" else block.rows
    if len(shape) < -a:
        return
    swapped = list(shape)
    swapped[a], swapped[b] = shape[b], shape[a]
    for read in (
        shape,
        swapped,
    ):  # the numbers in their order, the axes taken for each other: with other sizes, another thing
        order = block.expected if side == "columns" else block.expected.t()
        moved = order.reshape(-1, *read).transpose(a, b).reshape(order.shape)
        yield moved if side == "columns" else moved.t()


def _moved(blocks: Sequence[Block]) -> Fault | None:
    """An index turned round, or off by one."""
    changes: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
        "runs backwards": lambda t, axis: t.flip(axis),
        "is one too small": lambda t, axis: t.roll(-1, axis),
        "is one too large": lambda t, axis: t.roll(1, axis),
    }
    for what, change in changes.items():
        for side in ("columns", "rows"):
            for axis in (-1, -2):
                if all(_matches_any(block, _changed(block, side, axis, change)) for block in blocks):
                    whose = "of the argument" if side == "columns" else "of the incoming gradient"
                    return Fault("wrong-index", f"the index along axis {axis} {whose} {what}")
    return None


def _changed(
    block: Block, side: str, axis: int, change: Callable[[torch.Tensor, int], torch.Tensor]
) -> Iterator[torch.Tensor]:
    shape = block.columns if side == "columns" else block.rows
    if len(shape) < -axis:
        return
    order = block.expected if side == "columns" else block.expected.t()
    moved = change(order.reshape(-1, *shape), axis).reshape(order.shape)
    yield moved if side == "columns" else moved.t()


def _matches_any(block: Block, others: Iterator[torch.Tensor]) -> bool:
    return any(block.matches(other) for other in others)


def _missing_path(blocks: Sequence[Block]) -> Fault | None:
    """Right, or exactly zero where it shouldn't be; or at least zero where it shouldn't be at most points."""
    lost = [block.significant & (block.got == 0) for block in blocks]
    if sum(int(each.sum()) for each in lost) == 0:
        return None
    total = sum(int(block.significant.sum()) for block in blocks)
    count = sum(int(each.sum()) for each in lost)
    if all(bool((~block.wrong | each).all()) for block, each in zip(blocks, lost, strict=True)):
        without = {
            b.result for b, each in zip(blocks, lost, strict=True) if bool(each.any()) and not bool((b.got != 0).any())
        }
        whole = {b.result for b in blocks if bool((b.got != 0).any())}
        if without and not without & whole:
            return Fault(
                "missing-term", f"nothing flows from {', '.join(sorted(without))}; what flows from others is right"
            )
        return Fault(
            "missing-term", f"{count} of {total} elements that aren't zero are missing from it; the others are right"
        )
    several = [each for block, each in zip(blocks, lost, strict=True) if int(block.significant.sum()) > 1]
    if several and sum(bool(each.any()) for each in several) > 0.8 * len(several):
        return Fault(
            "missing-term", f"{count} of {total} elements that aren't zero are zero in it, and others are wrong"
        )
    return None


def _extra_path(blocks: Sequence[Block]) -> Fault | None:
    """Right, but for elements that should be zero."""
    if all(bool((~block.wrong | ~block.significant).all()) for block in blocks):
        count = sum(int(block.wrong.sum()) for block in blocks)
        return Fault("extra-term", f"{count} elements that should be zero aren't; the others are right")
    return None


def _tensor_factor(blocks: Sequence[Block]) -> Fault | None:
    """A factor that is an argument or a result: of functions of one element at a time."""
    if len(_significant(blocks)[0]) <= _EVIDENCE:
        return None
    for name, own in _diagonals(blocks):
        pairs = list(zip(blocks, own, strict=True))
        if all(replace(b, got=b.got * t).matches(b.expected) for b, t in pairs):
            return Fault("missing-factor", f"the factor {name} is missing: it times {name} is the numerical gradient")
        if all(b.matches(b.expected * t) for b, t in pairs):
            return Fault("extra-factor", f"it has a factor {name} too many: it is the numerical gradient times {name}")
    return None


def _missing_term(blocks: Sequence[Block]) -> Fault | None:
    """A summand: a multiple of the incoming gradient, or of that times an argument or a result or two."""
    if len(_significant(blocks)[0]) <= 1 + _EVIDENCE:
        return None
    ones = [torch.ones_like(block.got) for block in blocks]
    terms = [("", ones), *_diagonals(blocks)]
    for k, (name, own) in enumerate(terms):
        for other, their in terms[max(k, 1) :] if k else terms:
            factor = _lacking(blocks, [a * b for a, b in zip(own, their, strict=True)])
            if factor is not None:
                times = "".join(f" times {each}" for each in (name, other) if each)
                return Fault("missing-term", f"a term is missing: {_number(factor)} times the incoming gradient{times}")
    return None


def _lacking(blocks: Sequence[Block], term: Sequence[torch.Tensor]) -> float | None:
    """What the term on the diagonal is to be multiplied by, so that added to the backward it makes that right."""
    pairs = [(torch.eye(*b.got.shape, dtype=torch.float64) * t, torch.nan_to_num(b.expected - b.got))
             for b, t in zip(blocks, term, strict=True)]  # fmt: skip
    size = sum(float((made * made).sum()) for made, _ in pairs)
    factor = sum(float((made * off).sum()) for made, off in pairs) / size if size else 0.0
    fits = all(replace(b, got=b.got + factor * m).matches(b.expected) for b, (m, _) in zip(blocks, pairs, strict=True))
    return factor if factor and fits else None


def _diagonals(blocks: Sequence[Block]) -> Iterator[tuple[str, list[torch.Tensor]]]:
    """Tensors of the argument's shape, where the result has that too: a column for each of their elements."""
    if any(block.rows != block.columns for block in blocks):
        return
    for name in blocks[0].point.tensors:
        each = [block.point.tensors.get(name) for block in blocks]
        if all(t is not None and t.shape == b.columns for t, b in zip(each, blocks, strict=True)):
            yield name, [t.reshape(1, -1).double().cpu() for t in each if t is not None]


def _significant(blocks: Sequence[Block]) -> tuple[torch.Tensor, torch.Tensor]:
    """What the backward gives, and the numerical derivative, where that isn't zero."""
    chosen = [(b.got[b.significant], b.expected[b.significant]) for b in blocks]
    return torch.cat([g for g, _ in chosen]), torch.cat([e for _, e in chosen])


def _number(value: float) -> str:
    """As a fraction where it is one."""
    if not math.isfinite(value):
        return f"{value:g}"
    near = Fraction(value).limit_denominator(64)
    if abs(float(near) - value) <= 1e-4 * abs(value):
        return str(near)
    return f"{value:.4g}"
