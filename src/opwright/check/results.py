"""What a call gives, and how it differs from what it should give."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from opwright.check.compare import ULP, difference, other_zeros
from opwright.check.context import Context
from opwright.check.inputs import Arguments, Case, copied, most_elements, most_equal
from opwright.check.points import dense
from opwright.check.reference import Refer, excused
from opwright.check.registry import Body, Skipped
from opwright.check.report import Finding
from opwright.check.returned import BadReferenceError
from opwright.signature import DType


def referring(body: Body) -> Body:
    """A check that asks the reference: what is wrong with that one is said once, and not of the operator."""

    @functools.wraps(body)
    def checked(context: Context) -> Iterator[Finding]:
        if context.subject.blamed:
            raise Skipped("the reference can't judge, as another check says")
        try:
            for found in body(context):
                if found.kind == "bad-reference":
                    context.subject.blamed.append(found.message)
                yield replace(found, reproducer="") if found.kind == "bad-reference" else found
        except BadReferenceError as error:  # from outside of what is judged call by call
            yield Finding("bad-reference", str(error))
            return
        if context.unreferred and not context.judgements:
            context.subject.blamed.append(context.unreferred[0])
            yield Finding("bad-reference", context.unreferred[0])

    return checked


def all_written(
    context: Context, arguments: Arguments, case: Case, types: dict[str, DType] | None = None
) -> tuple[torch.Tensor, ...]:
    """The results, then what was overwritten."""
    signature = context.subject.signature
    results = context.subject.call(arguments, types or case.sample.binding.types)
    return (*results, *(arguments[t.name] for t in signature.mutated if arguments[t.name] is not None))


def differing(
    context: Context,
    got: Sequence[torch.Tensor],
    expected: Sequence[torch.Tensor],
    against: str,
    allowed: float | None = None,
    arguments: Arguments | None = None,
) -> Finding | None:
    """What is wrong with results, `got`; `against`: what others give, in words.

    `arguments`: the call's, where sums of them may be taken in any order, or one by one.
    """
    names = [param.name for param in (*context.subject.signature.outputs, *context.subject.signature.mutated)]
    for name, one, other in zip(names, got, expected, strict=True):
        if one.shape != other.shape:
            return Finding("wrong-shape", f"{name} has shape {tuple(one.shape)}, {against} has {tuple(other.shape)}")
        asked = context.options.get("ulp")
        limit = summed(one, arguments or {}, allowed) if asked is None else asked
        if found := difference(one, other, limit):
            return Finding(found.kind, f"{name} differs from {against}: {found}")
        if context.options.get("signed_zero") and (wrong := other_zeros(one, other)):
            return Finding("negative-zero", f"{name}: {wrong} zeros have another sign than {against} gives them")
    return None


def unexcused(
    context: Context,
    got: Sequence[torch.Tensor],
    expected: Sequence[torch.Tensor],
    against: str,
    arguments: Arguments,
    refer: Refer,
    allowed: float | None = None,
) -> Finding | None:
    """What is wrong with results, unless a change of the arguments in their last place explains it.

    Whoever asks for less than a unit of the last place wants to see that as well.

    `arguments`: the call's, with their values before it; `refer`: what is expected for others; else as `differing`.
    """
    found = differing(context, got, expected, against, allowed, arguments)
    asked = context.options.get("ulp")
    if found is None or found.kind == "wrong-shape" or (asked is not None and asked < 1):
        return found
    try:
        expected = excused(refer, arguments, got, expected)
    except BadReferenceError:  # it doesn't take those: nothing is excused
        return found
    return differing(context, got, expected, against, allowed, arguments)


def as_called(context: Context, case: Case) -> Refer:
    """The operator itself, called with contiguous tensors of the case's own element types."""
    own = {name: value.dtype for name, value in case.arguments().items() if isinstance(value, torch.Tensor)}
    return lambda moved: all_written(context, dense({n: in_type(v, own.get(n)) for n, v in moved.items()}), case)


def reordered(arguments: Arguments) -> float:
    """Ulp that sums of as many terms as there are elements may differ by in another order: they err as a walk does."""
    return max(64.0, 4 * math.sqrt(most_elements(arguments)))


def summed(result: torch.Tensor, arguments: Arguments, allowed: float | None = None) -> float | None:
    """Ulp that a result may be off, `allowed`, or as many as one that has fewer elements than an argument may lose.

    A sum of n terms that are added one by one is off by (n - 1) / 2 ulp of the sum of their sizes, at most (Higham, The
    accuracy of floating point summation, 1993). It is nearly so where all are the same, as in an expanded argument:
    what is divided by such a sum is off by as much, however many results there are.
    """
    terms = max(most_elements(arguments) // max(1, result.numel()), most_equal(arguments))
    if terms < 2 or result.dtype not in (torch.float32, torch.float64):  # halves are summed as float
        return allowed
    return max(ULP[result.dtype] if allowed is None else allowed, terms / 2)


def in_type(value: Any, dtype: torch.dtype | None) -> Any:
    """A tensor's copy in an element type; anything else as it is."""
    return value.to(dtype, copy=True) if isinstance(value, torch.Tensor) and dtype is not None else copied(value)
