"""Comparison of a call's results with expected ones: tolerances, excuses, and the finding."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from opwright.check.calls.cases import (
    Arguments,
    Case,
    contiguous_arguments,
    copy_value,
    largest_numel,
    most_repeated_values,
)
from opwright.check.calls.target_operator import BadReferenceError
from opwright.check.calls.tensor_lists import USUAL, lengths, of_tensors
from opwright.check.context import Context
from opwright.check.registry import Body
from opwright.check.report import Finding, Skipped
from opwright.check.values.conditioning import CallReference, excuse_ill_conditioned
from opwright.check.values.ulp import ULP, count_sign_changes, worst_difference
from opwright.signature.tensor_lists.calls import Elements


def asks_reference(body: Body) -> Body:
    """Decorate a check that calls the reference: an error of the reference is reported once, as the reference's."""

    @functools.wraps(body)
    def checked(context: Context) -> Iterator[Finding]:
        """Run the check; skip it after another one has found the reference wanting."""
        if context.operator.reference_complaints:
            raise Skipped("the reference can't judge, as another check says")
        try:
            for finding in body(context):
                if finding.kind == "bad-reference":
                    context.operator.reference_complaints.append(finding.message)
                yield replace(finding, reproducer="") if finding.kind == "bad-reference" else finding
        except BadReferenceError as error:  # raised outside the judgement of single calls
            yield Finding("bad-reference", str(error))
            return
        if context.reference_errors and not context.judgements:
            context.operator.reference_complaints.append(context.reference_errors[0])
            yield Finding("bad-reference", context.reference_errors[0])

    return checked


def compare_results(
    context: Context,
    got: Sequence[torch.Tensor],
    expected: Sequence[torch.Tensor],
    against: str,
    allowed: float | None = None,
    arguments: Arguments | None = None,
) -> Finding | None:
    """Compare the results `got` with those that `against` describes, and return the first finding.

    `arguments`: the call's arguments, for the tolerance of sums, which may be taken in any order or term by term.
    """
    names = [param.name for param in (*context.operator.signature.outputs, *context.operator.signature.mutated)]
    for name, one, other in zip(names, got, expected, strict=True):
        if one.shape != other.shape:
            return Finding("wrong-shape", f"{name} has shape {tuple(one.shape)}, {against} has {tuple(other.shape)}")
        requested_ulp = context.options.get("ulp")
        limit = sum_ulp(one, arguments or {}, allowed) if requested_ulp is None else requested_ulp
        if difference := worst_difference(one, other, limit):
            return Finding(difference.kind, f"{name} differs from {against}: {difference}")
        if context.options.get("signed_zero") and (wrong := count_sign_changes(one, other)):
            return Finding("negative-zero", f"{name}: {wrong} zeros have another sign than {against} gives them")
    return None


def compare_with_excuses(
    context: Context,
    got: Sequence[torch.Tensor],
    expected: Sequence[torch.Tensor],
    against: str,
    arguments: Arguments,
    refer: CallReference,
    allowed: float | None = None,
) -> Finding | None:
    """Return the finding of a comparison, unless a change of the arguments in their last place explains it.

    Nothing is excused if the caller requested a tolerance of less than one ulp.

    `arguments`: the call's arguments, with their values before the call; `refer`: returns the expected results for
    other arguments.
    """
    finding = compare_results(context, got, expected, against, allowed, arguments)
    requested_ulp = context.options.get("ulp")
    if finding is None or finding.kind == "wrong-shape" or (requested_ulp is not None and requested_ulp < 1):
        return finding
    try:
        expected = excuse_ill_conditioned(refer, arguments, got, expected)
    except BadReferenceError:  # it doesn't accept the changed arguments: nothing is excused
        return finding
    return compare_results(context, got, expected, against, allowed, arguments)


def contiguous_call(context: Context, case: Case) -> CallReference:
    """Return a function that calls the operator with contiguous tensors of the case's own element types."""
    dtypes = {name: value.dtype for name, value in case.arguments().items() if isinstance(value, torch.Tensor)}

    def call(moved: Arguments) -> Sequence[torch.Tensor]:
        arguments = {name: copy_as(value, dtypes.get(name)) for name, value in moved.items()}
        return context.operator.call_all(contiguous_arguments(arguments), case.types)

    return call


def reordered_sum_ulp(arguments: Arguments) -> float:
    """Return the ulp by which sums of all elements may differ between orders: errors grow like a random walk."""
    return max(64.0, 4 * math.sqrt(largest_numel(arguments)))


def sum_ulp(result: torch.Tensor, arguments: Arguments, allowed: float | None = None) -> float | None:
    """Return the tolerance of a result in ulp: `allowed`, or more if the result may contain sums.

    A result with fewer elements than an argument may be a sum. A sum of n terms that are added one by one has an error
    of at most (n - 1) / 2 ulp of the sum of their magnitudes (Higham, The accuracy of floating point summation, 1993).
    The error is almost as large if all terms are the same, as in an expanded argument. A quotient by such a sum has the
    same relative error, whatever the number of results.
    """
    terms = max(largest_numel(arguments) // max(1, result.numel()), most_repeated_values(arguments))
    if terms < 2 or result.dtype not in (torch.float32, torch.float64):  # float16 and bfloat16 are summed as float32
        return allowed
    return max(ULP[result.dtype] if allowed is None else allowed, terms / 2)


def copy_as(value: Any, dtype: torch.dtype | None) -> Any:
    """Copy a tensor with an element type; copy or return anything else as it is."""
    return value.to(dtype, copy=True) if isinstance(value, torch.Tensor) and dtype is not None else copy_value(value)


_OTHERS = ((1, 1), (4, 0), (0, 1), (2, 5))
"""Lengths of the lists of a first and a second group."""


def for_other_lengths(context: Context, check: Callable[[Context], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield the first finding of a check for lists of other lengths; nothing if the operator has no lists.

    Args:
        context: the context of the check with lists of usual lengths.
        check: the check.
    """
    operator = context.operator
    signature = operator.signature
    if operator.with_lists is None or not isinstance(signature, Elements):
        return
    if signature.lengths != lengths(signature.of, USUAL):
        return
    for counts in _OTHERS[: 2 + 2 * (context.level != "quick")]:
        other = of_tensors(operator.with_lists, counts)
        if set(other.signature.type_variables) > set(other.signature.bound_types) or not other.signature.tensors:
            continue  # lists are empty that alone tell something: such calls are refused
        smaller = replace(context, operator=other, level="quick", tried=0)
        finding = next(check(smaller), None)
        context.tried += smaller.tried
        if finding:
            text = f"with lists of {' and '.join(map(str, counts))} tensors: {finding.message}"
            yield replace(finding, message=text)
            return
