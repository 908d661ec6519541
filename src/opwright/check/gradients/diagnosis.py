"""Diagnosis of a wrong backward: names the relation of its Jacobians to the numerical ones.

A single small Jacobian fits many explanations (a number is always some multiple of another), so an explanation must
hold at all points that were found, and be supported by several numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import torch

from opwright.check.gradients.jacobian import (
    Block,
    Comparison,
    autograd_jacobian,
    compare_jacobians,
    describe_worst,
    numerical_jacobian,
)
from opwright.check.gradients.point import Point

_EVIDENCE = 3
"""Minimum number of elements that must agree with an explanation."""
_MOST = 12


@dataclass(frozen=True)
class Fault:
    """A fault of a backward: its name for programs, and a sentence."""

    kind: str
    text: str


def diagnose(comparisons: Sequence[Comparison]) -> Fault:
    """Explain the wrong elements of each argument, and name the first fault that has an explanation.

    Args:
        comparisons: at several points, of several shapes; each has wrong elements.
    """
    arguments = {block.argument for comparison in comparisons for block in comparison.wrong}
    faults = {name: _of_argument(name, comparisons) for name in sorted(arguments)}
    first = next((f for f in faults.values() if f.kind != "wrong-gradient"), next(iter(faults.values())))
    lines = [f"grad_{name}: {fault.text}" for name, fault in faults.items()]
    return Fault(first.kind, "\n".join(dict.fromkeys(lines)))


def _of_argument(name: str, comparisons: Sequence[Comparison]) -> Fault:
    wrong = [block for c in comparisons for block in c.of(name) if bool(block.wrong.any())]
    blocks = [block for c in comparisons if any(b in c.wrong for b in c.of(name)) for block in c.of(name)]
    explanations: list[Callable[[], Fault | None]] = [
        lambda: _no_gradient(blocks),
        lambda: _wrong_sign(wrong),
        lambda: _swapped(wrong, comparisons),
        lambda: _constant_factor(wrong),
        lambda: _size_factor(wrong),
        lambda: _transposed(wrong),
        lambda: _wrong_index(wrong),
        lambda: _extra_path(wrong),
        lambda: _missing_path(blocks),
        lambda: _tensor_factor(wrong),
        lambda: _missing_term(wrong),
    ]
    for explain in explanations:
        if fault := explain():
            return fault
    return Fault("wrong-gradient", describe_worst(max(wrong, key=lambda block: int(block.wrong.sum()))))


def _no_gradient(blocks: Sequence[Block]) -> Fault | None:
    """Explain the wrong gradient by the absence of a gradient from all results."""
    if any(bool((block.got != 0).any()) for block in blocks):
        return None
    if all(block.detached for block in blocks):
        return Fault("detached", "autograd knows of no path to it, though the results depend on it")
    return Fault("zero-gradient", "it is zero, though the results depend on the argument")


def _wrong_sign(blocks: Sequence[Block]) -> Fault | None:
    if all(block.matches(-block.expected) for block in blocks):
        return Fault("wrong-sign", "it has the wrong sign: it is the numerical gradient times -1")
    return None


def _constant_factor(blocks: Sequence[Block]) -> Fault | None:
    """Explain the wrong gradient by a constant factor."""
    got, expected = _significant(blocks)
    if len(got) < _EVIDENCE:
        return None
    factor = float((got @ expected) / (expected @ expected))
    if factor == 0 or not all(block.matches(factor * block.expected) for block in blocks):
        return None
    return Fault("constant-factor", f"it is the numerical gradient times {_number(factor)}, everywhere")


def _size_factor(blocks: Sequence[Block]) -> Fault | None:
    """Explain the wrong gradient by a factor that is a size or a scalar."""
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


def _swapped(blocks: Sequence[Block], comparisons: Sequence[Comparison]) -> Fault | None:
    """Explain the wrong gradient by an exchange of two arguments' gradients, or of two results' incoming gradients."""
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
    """Explain the wrong gradient by an exchange of two axes of the argument's gradient or of the incoming one."""
    for side, what in (("columns", "its"), ("rows", "the incoming gradient's")):
        for a, b in ((-2, -1), (-3, -1), (-3, -2)):
            if all(_matches_any(block, _transpositions(block, side, a, b)) for block in blocks):
                return Fault("transposed-gradient", f"{what} axes {a} and {b} are exchanged: it is transposed")
    return None


def _transpositions(block: Block, side: str, a: int, b: int) -> Iterator[torch.Tensor]:
    shape = block.columns if side == "columns" else block.rows
    if len(shape) < -a:
        return
    swapped = list(shape)
    swapped[a], swapped[b] = shape[b], shape[a]
    for read in (shape, swapped):  # second: the sizes are exchanged, too
        yield _rearranged(block, side, read, lambda values: values.transpose(a, b))


def _rearranged(
    block: Block, side: str, shape: Sequence[int], change: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Return the numerical derivative with `change` applied to the axes of one side, read as `shape`."""
    rows = block.expected if side == "columns" else block.expected.t()
    moved = change(rows.reshape(-1, *shape)).reshape(rows.shape)
    return moved if side == "columns" else moved.t()


def _wrong_index(blocks: Sequence[Block]) -> Fault | None:
    """Explain the wrong gradient by an index that is reversed, or off by one."""
    changes: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
        "runs backwards": lambda t, axis: t.flip(axis),
        "is one too small": lambda t, axis: t.roll(-1, axis),
        "is one too large": lambda t, axis: t.roll(1, axis),
    }
    for what, change in changes.items():
        for side in ("columns", "rows"):
            for axis in (-1, -2):
                if all(_matches_any(block, _index_changes(block, side, axis, change)) for block in blocks):
                    whose = "of the argument" if side == "columns" else "of the incoming gradient"
                    return Fault("wrong-index", f"the index along axis {axis} {whose} {what}")
    return None


def _index_changes(
    block: Block, side: str, axis: int, change: Callable[[torch.Tensor, int], torch.Tensor]
) -> Iterator[torch.Tensor]:
    shape = block.columns if side == "columns" else block.rows
    if len(shape) < -axis:
        return
    yield _rearranged(block, side, shape, lambda values: change(values, axis))


def _matches_any(block: Block, others: Iterator[torch.Tensor]) -> bool:
    return any(block.matches(other) for other in others)


def _missing_path(blocks: Sequence[Block]) -> Fault | None:
    """Explain the wrong gradient by zeros in place of nonzero elements.

    The other elements are right, or zeros occur at most points.
    """
    lost = [block.significant & (block.got == 0) for block in blocks]
    if sum(int(mask.sum()) for mask in lost) == 0:
        return None
    total = sum(int(block.significant.sum()) for block in blocks)
    count = sum(int(mask.sum()) for mask in lost)
    if all(bool((~block.wrong | mask).all()) for block, mask in zip(blocks, lost, strict=True)):
        without = {
            b.result for b, mask in zip(blocks, lost, strict=True) if bool(mask.any()) and not bool((b.got != 0).any())
        }
        whole = {b.result for b in blocks if bool((b.got != 0).any())}
        if without and not without & whole:
            return Fault(
                "missing-term", f"nothing flows from {', '.join(sorted(without))}; what flows from others is right"
            )
        return Fault(
            "missing-term", f"{count} of {total} elements that aren't zero are missing from it; the others are right"
        )
    several = [mask for block, mask in zip(blocks, lost, strict=True) if int(block.significant.sum()) > 1]
    if several and sum(bool(mask.any()) for mask in several) > 0.8 * len(several):
        return Fault(
            "missing-term", f"{count} of {total} elements that aren't zero are zero in it, and others are wrong"
        )
    return None


def _extra_path(blocks: Sequence[Block]) -> Fault | None:
    """Explain the wrong gradient by nonzero elements that should be zero; the others are right."""
    if all(bool((~block.wrong | ~block.significant).all()) for block in blocks):
        count = sum(int(block.wrong.sum()) for block in blocks)
        return Fault("extra-term", f"{count} elements that should be zero aren't; the others are right")
    return None


def _tensor_factor(blocks: Sequence[Block]) -> Fault | None:
    """Explain the wrong gradient by a factor that is an argument or a result of a pointwise function."""
    if len(_significant(blocks)[0]) <= _EVIDENCE:
        return None
    for name, factors in _diagonals(blocks):
        pairs = list(zip(blocks, factors, strict=True))
        if all(replace(b, got=b.got * t).matches(b.expected) for b, t in pairs):
            return Fault("missing-factor", f"the factor {name} is missing: it times {name} is the numerical gradient")
        if all(b.matches(b.expected * t) for b, t in pairs):
            return Fault("extra-factor", f"it has a factor {name} too many: it is the numerical gradient times {name}")
    return None


def _missing_term(blocks: Sequence[Block]) -> Fault | None:
    """Explain the wrong gradient by a missing multiple of the incoming one, perhaps times arguments or results."""
    if len(_significant(blocks)[0]) <= 1 + _EVIDENCE:
        return None
    ones = [torch.ones_like(block.got) for block in blocks]
    terms = [("", ones), *_diagonals(blocks)]
    for k, (name, factors) in enumerate(terms):
        for other, their in terms[max(k, 1) :] if k else terms:
            factor = _missing_multiple(blocks, [a * b for a, b in zip(factors, their, strict=True)])
            if factor is not None:
                times = "".join(f" times {factor_name}" for factor_name in (name, other) if factor_name)
                return Fault("missing-term", f"a term is missing: {_number(factor)} times the incoming gradient{times}")
    return None


def _missing_multiple(blocks: Sequence[Block], term: Sequence[torch.Tensor]) -> float | None:
    """Return the multiple of the diagonal term that makes the backward right when added to it."""
    pairs = [(torch.eye(*b.got.shape, dtype=torch.float64) * t, torch.nan_to_num(b.expected - b.got))
             for b, t in zip(blocks, term, strict=True)]  # fmt: skip
    size = sum(float((made * made).sum()) for made, _ in pairs)
    factor = sum(float((made * residual).sum()) for made, residual in pairs) / size if size else 0.0
    fits = all(replace(b, got=b.got + factor * m).matches(b.expected) for b, (m, _) in zip(blocks, pairs, strict=True))
    return factor if factor and fits else None


def _diagonals(blocks: Sequence[Block]) -> Iterator[tuple[str, list[torch.Tensor]]]:
    """Yield each argument or result of the argument's shape, flat, as factors of the Jacobian's columns.

    Yields nothing unless result and argument have the same shape.
    """
    if any(block.rows != block.columns for block in blocks):
        return
    for name in blocks[0].point.tensors:
        tensors = [block.point.tensors.get(name) for block in blocks]
        if all(t is not None and t.shape == b.columns for t, b in zip(tensors, blocks, strict=True)):
            yield name, [t.reshape(1, -1).double().cpu() for t in tensors if t is not None]


def _significant(blocks: Sequence[Block]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the backward's elements and the numerical ones, for all nonzero elements of the numerical derivative."""
    chosen = [(b.got[b.significant], b.expected[b.significant]) for b in blocks]
    return torch.cat([g for g, _ in chosen]), torch.cat([e for _, e in chosen])


def _number(value: float) -> str:
    """Format a number, as a fraction if it is close to one."""
    if not math.isfinite(value):
        return f"{value:g}"
    near = Fraction(value).limit_denominator(64)
    if abs(float(near) - value) <= 1e-4 * abs(value):
        return str(near)
    return f"{value:.4g}"


def find_wrong_saved_tensor(comparisons: Sequence[Comparison]) -> Fault | None:
    """Find another argument or result that makes all gradients right if it replaces a saved tensor.

    Args:
        comparisons: comparisons that have wrong elements.
    """
    largest = sorted(comparisons, key=lambda comparison: -comparison.count)[:_MOST]
    points = [next(iter(comparison.blocks.values())).point for comparison in largest]
    if sum(comparison.count for comparison in largest) < _EVIDENCE:
        return None
    names = list(points[0].tensors)
    for was in names:
        for needed in names:
            if was != needed and all(_right_with(point, was, needed) for point in points):
                return Fault(
                    "wrong-saved-tensor",
                    f"the wrong tensor was saved for it: with {needed} in place of {was} the backward is right",
                )
    return None


def _right_with(point: Point, was: str, needed: str) -> bool:
    one, other = point.tensors.get(was), point.tensors.get(needed)
    if one is None or other is None or one.shape != other.shape or one.dtype != other.dtype:
        return False
    replaced = 0

    def unpacked(saved: torch.Tensor) -> torch.Tensor:
        nonlocal replaced
        if saved.shape != one.shape or saved.dtype != one.dtype or not torch.equal(saved, one):
            return saved
        replaced += 1
        return other.detach().clone()

    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, unpacked):
        got = autograd_jacobian(point)
    return replaced > 0 and not compare_jacobians(point, got, numerical_jacobian(point)).wrong
