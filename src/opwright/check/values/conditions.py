"""Conditions under which an operator is wrong: one element type, strided, empty, in the tail, when large...

A condition holds for all wrong calls among several dozen, and for none of the right ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from opwright.check.calls.cases import Case, are_contiguous, contiguous_arguments
from opwright.check.context import Context, Judge
from opwright.check.report import Finding
from opwright.errors import ArgumentError
from opwright.signature import DType, output_shapes

_CALLS = 96
_EVIDENCE = 3
"""Minimum numbers of wrong and of right calls for naming a condition."""
_SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 32, 64, 96, 0, 257, 1031, 4099)
_MOST = 1 << 16
_LARGE = 32
"""Sizes up to this one don't count as large."""
_TAILS = (2, 4, 8, 16, 32, 64)
EXPLAINED = frozenset({"wrong-value", "not-finite", "nan-lost", "inf-lost"})
"""Kinds of findings that don't name a condition yet."""


@dataclass(frozen=True)
class TriedCall:
    """A call whose results have elements.

    Attributes:
        types: element types of the type variables.
        sizes: sizes of its axes by name, and the number of elements of the largest argument.
        wrong: the finding, if any.
    """

    types: tuple[tuple[str, str], ...]
    sizes: Mapping[str, int]
    wrong: Finding | None


def add_condition(context: Context, judge: Judge, finding: Finding, types: Mapping[str, DType]) -> Finding:
    """Return the finding, renamed after the condition under which it occurs, if one is found.

    Args:
        context: the check's context.
        judge: returns the finding of a call.
        finding: a finding; unchanged unless its kind is in `EXPLAINED`.
        types: element types of the calls with the finding; empty: any.
    """
    if finding.kind not in EXPLAINED:
        return finding
    tried = list(_try_calls(context, judge, types))
    condition = _type_condition(tried) or _strided_condition(context, judge, types)
    condition = condition or _size_condition([t for t in tried if not types or dict(t.types) == _type_names(types)])
    if condition is None:
        return finding
    return replace(finding, kind=condition[0], message=f"{finding.message}\n  only {condition[1]}")


def size_condition(context: Context, judge: Judge, types: Mapping[str, DType]) -> str:
    """Return the sizes for which an error occurs: "where N is 8 or more"; empty if they can't be determined."""
    condition = _size_condition(list(_try_calls(context, judge, types, all_types=False)))
    return condition[1] if condition else ""


def _try_calls(
    context: Context, judge: Judge, types: Mapping[str, DType], *, all_types: bool = True
) -> Iterator[TriedCall]:
    """Judge calls: half of them with the element types of the finding, or only those unless `all_types`."""
    rng = random.Random(context.seed)  # noqa: S311 - test data
    for number in range(_CALLS if all_types else _CALLS // 2):
        try:
            call = context.operator.sample(
                rng,
                types=types if number % 2 or not all_types else None,
                sizes=_SIZES,
                max_numel=_MOST if all_types else _MOST // 8,
                contiguous=True,
            )
        except ArgumentError:
            return
        if not _has_elements(context, Case(call, device=context.device)):
            continue
        binding = call.binding
        sizes = dict(binding.axes)
        if binding.ellipsis:
            sizes["the last of ..."] = binding.ellipsis[-1]
        numbers = [math.prod(t.shape) for t in call.tensors.values() if t is not None]
        sizes["the number of elements"] = max(numbers, default=0)
        yield TriedCall(
            tuple(_type_names(binding.types).items()),
            sizes,
            context.evaluate(judge, Case(call, seed=number, device=context.device)),
        )


def _type_condition(tried: Sequence[TriedCall]) -> tuple[str, str] | None:
    """Explain wrong results by element types that are always wrong, if others never are."""
    wrong = {t.types for t in tried if t.wrong}
    right = {t.types for t in tried if not t.wrong}
    count = [sum(t.types in wrong for t in tried), sum(t.types in right for t in tried)]
    if not wrong or not right or wrong & right or min(count) < _EVIDENCE:
        return None
    listed = "; ".join(", ".join(f"{name} = {dtype}" for name, dtype in types) for types in sorted(wrong))
    return "wrong-element-type", f"for {listed}"


def _strided_condition(context: Context, judge: Judge, types: Mapping[str, DType]) -> tuple[str, str] | None:
    """Explain wrong results by strided arguments, if the same numbers are right in contiguous tensors."""
    rng = random.Random(context.seed)  # noqa: S311 - test data
    wrong = 0
    for number in range(_CALLS):
        call = context.operator.sample(rng, types=types, sizes=(2, 3, 5), max_numel=_MOST)
        case = Case(call, seed=number, device=context.device)
        if are_contiguous(case.arguments()) or not context.evaluate(judge, case):
            continue
        if context.evaluate(lambda again, given: judge(again, contiguous_arguments(given)), case):
            return None
        wrong += 1
    return ("wrong-when-strided", "where arguments are strided") if wrong >= _EVIDENCE else None


def _size_condition(tried: Sequence[TriedCall]) -> tuple[str, str] | None:
    """Explain wrong results by an axis's size: 0, 1, not a multiple of a number, or large.

    Returns:
        The finding's kind and the condition, in words; None if no condition explains the results.
    """
    names = list(dict.fromkeys(name for t in tried for name in t.sizes))
    tests: list[tuple[str, str, Callable[[int], bool]]] = [
        ("wrong-when-empty", "where {} is 0", lambda size: size == 0),
        ("wrong-for-size-1", "where {} is 1", lambda size: size == 1),
        *(("wrong-in-tail", f"where {{}} is no multiple of {k}", lambda size, k=k: size % k != 0) for k in _TAILS),
    ]
    for name in names:
        known = [(t.sizes[name], t.wrong is not None) for t in tried if name in t.sizes]
        for kind, text, holds in tests:
            if _separates([(holds(size), wrong) for size, wrong in known]):
                return kind, text.format(name)
    for name in names:
        known = [(t.sizes[name], t.wrong is not None) for t in tried if name in t.sizes]
        least = min((size for size, wrong in known if wrong), default=0)
        if least > _LARGE and _separates([(size >= least, wrong) for size, wrong in known]):
            return "wrong-when-large", f"where {name} is {least} or more"
    return None


def _separates(known: Sequence[tuple[bool, bool]]) -> bool:
    """Return whether a condition holds for exactly the wrong calls, with enough wrong and right ones."""
    wrong = sum(is_wrong for _, is_wrong in known)
    return min(wrong, len(known) - wrong) >= _EVIDENCE and all(holds == is_wrong for holds, is_wrong in known)


def _has_elements(context: Context, case: Case) -> bool:
    shapes = output_shapes(context.operator.signature, case.sample.binding)
    mutated = [case.sample.tensors[t.name] for t in context.operator.signature.mutated]
    written_shapes = [*shapes, *(tensor.shape for tensor in mutated if tensor is not None)]
    return any(all(not isinstance(size, int) or size > 0 for size in shape) for shape in written_shapes)


def _type_names(types: Mapping[str, DType]) -> dict[str, str]:
    return {name: str(dtype) for name, dtype in sorted(types.items())}
