"""When is an operator wrong? Only for one element type, strided, empty, for one element, in the tail, when large...

Told by what all wrong calls of a few dozen have, and none of the right ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from opwright.check.context import Context, Judge
from opwright.check.inputs import Case
from opwright.check.points import dense, is_dense
from opwright.check.report import Finding
from opwright.errors import ArgumentError
from opwright.signature import DType, output_shapes, sample

_CALLS = 96
_EVIDENCE = 3
"""How many wrong calls, and how many right ones, it takes to name what they differ in."""
_SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 32, 64, 96, 0, 257, 1031, 4099)
_MOST = 1 << 16
_LARGE = 32
"""Up to this size what is wrong is hardly so for being large."""
_TAILS = (2, 4, 8, 16, 32, 64)
EXPLAINED = frozenset({"wrong-value", "not-finite", "nan-lost", "inf-lost"})
"""Findings that say nothing yet of when they are found."""


@dataclass(frozen=True)
class Tried:
    """A call with results that have elements.

    Attributes:
        types: what type variables stand for.
        sizes: its axes by name, and how many elements the largest argument has.
        wrong: what is wrong with it, if anything.
    """

    types: tuple[tuple[str, str], ...]
    sizes: Mapping[str, int]
    wrong: Finding | None


def named(context: Context, judge: Judge, finding: Finding, types: Mapping[str, DType]) -> Finding:
    """The finding, named by when it is found, where that can be told; as it was, otherwise.

    Args:
        context: of the check.
        judge: says what is wrong with a call.
        finding: of one of `EXPLAINED`.
        types: of the calls that it was found in; nothing: any.
    """
    if finding.kind not in EXPLAINED:
        return finding
    tried = list(_tried(context, judge, types))
    told = _type(tried) or _strided(context, judge, types)
    told = told or _of_size([t for t in tried if not types or dict(t.types) == _texts(types)])
    if told is None:
        return finding
    return replace(finding, kind=told[0], message=f"{finding.message}\n  only {told[1]}")


def of_size(context: Context, judge: Judge, types: Mapping[str, DType]) -> str:
    """Which sizes what is wrong needs: "where N is 8 or more"; nothing where that can't be told."""
    told = _of_size(list(_tried(context, judge, types, every=False)))
    return told[1] if told else ""


def _tried(context: Context, judge: Judge, types: Mapping[str, DType], *, every: bool = True) -> Iterator[Tried]:
    """Half of the calls have the types of the finding; all of them, unless `every` type is wanted."""
    rng = random.Random(context.seed)  # noqa: S311 - test data
    for number in range(_CALLS if every else _CALLS // 2):
        try:
            drawn = sample(
                context.subject.signature,
                rng,
                types=types if number % 2 or not every else None,
                sizes=_SIZES,
                max_numel=_MOST if every else _MOST // 8,
                contiguous=True,
            )
        except ArgumentError:
            return
        if not _has_elements(context, Case(drawn, device=context.device)):
            continue
        binding = drawn.binding
        sizes = dict(binding.axes)
        if binding.ellipsis:
            sizes["the last of ..."] = binding.ellipsis[-1]
        numbers = [_product(t.shape) for t in drawn.tensors.values() if t is not None]
        sizes["the number of elements"] = max(numbers, default=0)
        yield Tried(
            tuple(_texts(binding.types).items()),
            sizes,
            context.judged(judge, Case(drawn, seed=number, device=context.device)),
        )


def _type(tried: Sequence[Tried]) -> tuple[str, str] | None:
    """One or more element types, if there are others."""
    wrong = {t.types for t in tried if t.wrong}
    right = {t.types for t in tried if not t.wrong}
    count = [sum(t.types in wrong for t in tried), sum(t.types in right for t in tried)]
    if not wrong or not right or wrong & right or min(count) < _EVIDENCE:
        return None
    listed = "; ".join(", ".join(f"{name} = {dtype}" for name, dtype in types) for types in sorted(wrong))
    return "wrong-element-type", f"for {listed}"


def _strided(context: Context, judge: Judge, types: Mapping[str, DType]) -> tuple[str, str] | None:
    """Strided arguments: the same numbers are right when they are contiguous."""
    rng = random.Random(context.seed)  # noqa: S311 - test data
    wrong = 0
    for number in range(_CALLS):
        drawn = sample(context.subject.signature, rng, types=types, sizes=(2, 3, 5), max_numel=_MOST)
        case = Case(drawn, seed=number, device=context.device)
        if is_dense(case.arguments()) or not context.judged(judge, case):
            continue
        if context.judged(lambda again, given: judge(again, dense(given)), case):
            return None
        wrong += 1
    return ("wrong-when-strided", "where arguments are strided") if wrong >= _EVIDENCE else None


def _of_size(tried: Sequence[Tried]) -> tuple[str, str] | None:
    """An axis that is empty, or 1, or not a multiple of something, or large."""
    names = list(dict.fromkeys(name for t in tried for name in t.sizes))
    tests: list[tuple[str, str, Callable[[int], bool]]] = [
        ("wrong-when-empty", "where {} is 0", lambda size: size == 0),
        ("wrong-for-size-1", "where {} is 1", lambda size: size == 1),
        *(("wrong-in-tail", f"where {{}} is no multiple of {k}", lambda size, k=k: size % k != 0) for k in _TAILS),
    ]
    for name in names:
        known = [(t.sizes[name], t.wrong is not None) for t in tried if name in t.sizes]
        for kind, text, holds in tests:
            if _tells([(holds(size), wrong) for size, wrong in known]):
                return kind, text.format(name)
    for name in names:
        known = [(t.sizes[name], t.wrong is not None) for t in tried if name in t.sizes]
        least = min((size for size, wrong in known if wrong), default=0)
        if least > _LARGE and _tells([(size >= least, wrong) for size, wrong in known]):
            return "wrong-when-large", f"where {name} is {least} or more"
    return None


def _tells(known: Sequence[tuple[bool, bool]]) -> bool:
    """Whether something holds for all wrong calls, of which there are some, and for none of the right ones."""
    wrong = sum(is_wrong for _, is_wrong in known)
    return min(wrong, len(known) - wrong) >= _EVIDENCE and all(holds == is_wrong for holds, is_wrong in known)


def _has_elements(context: Context, case: Case) -> bool:
    shapes = output_shapes(context.subject.signature, case.sample.binding)
    mutated = [case.sample.tensors[t.name] for t in context.subject.signature.mutated]
    every = [*shapes, *(made.shape for made in mutated if made is not None)]
    return any(all(not isinstance(size, int) or size > 0 for size in shape) for shape in every)


def _texts(types: Mapping[str, DType]) -> dict[str, str]:
    return {name: str(dtype) for name, dtype in sorted(types.items())}


def _product(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total
