"""Operators with lists of tensors as targets: checked and measured as operators whose arguments are the tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from opwright.check.calls.target_operator import Reference, TargetOperator
from opwright.signature import Signature
from opwright.signature.tensor_lists.calls import Elements, Lengths, elements, flat, groups
from opwright.signature.tensor_lists.derivatives import derivative_of_call
from opwright.signature.wiring import derivative

USUAL = (3, 2, 4)
"""The lengths of the lists in usual calls: those of a second group are others, so that they can't be mixed up."""
_RANKS = (1, 2, 0, 3)
"""The numbers of leading axes of the first tensors of a list of any rank."""


def of_tensors(
    operator: TargetOperator, counts: Sequence[int] = USUAL, ranks: Sequence[int] = _RANKS
) -> TargetOperator:
    """Return the operator for calls with lists of certain lengths, each tensor of which is an argument or a result.

    Args:
        operator: an operator; one without lists is returned as it is.
        counts: the length of the lists of each group; repeated, if there are more groups.
        ranks: the numbers of leading axes of tensors that have any; repeated.
    """
    signature = operator.signature
    if not signature.lists:
        return operator
    made = elements(signature, lengths(signature, counts, ranks))
    backward = operator.backward
    if backward is not None:
        backward = derivative_of_call(derivative(signature, backward), made).backward
    reference = operator.reference and over_tensors(operator.reference, made, generator=False)
    function = over_tensors(operator.function, made)
    return replace(
        operator, signature=made, function=function, backward=backward, reference=reference, with_lists=operator
    )


def with_reference(operator: TargetOperator, reference: Reference | None) -> TargetOperator:
    """Return the operator with a reference, which takes and returns lists as the operator does."""
    if operator.with_lists is None:
        return replace(operator, reference=reference)
    return like(replace(operator.with_lists, reference=reference), operator.signature)


def like(operator: TargetOperator, signature: Signature) -> TargetOperator:
    """Return an operator for calls with lists of the lengths that those of `signature` have."""
    if not isinstance(signature, Elements):
        return operator
    return of_tensors(operator.with_lists or operator, signature.lengths.counts, signature.lengths.ranks or (0,))


def lengths(signature: Signature, counts: Sequence[int], ranks: Sequence[int] = _RANKS) -> Lengths:
    """Return the lengths of calls of a signature, with tensors of different ranks where they can have any."""
    found = groups(signature)
    chosen = tuple(counts[group % len(counts)] for group in range(found.count))
    leading = found.axes.get("...")
    places = range(0 if leading is None else chosen[leading])
    return Lengths(chosen, tuple(ranks[place % len(ranks)] for place in places))


def lists_of(signature: Signature, values: Sequence[Any]) -> list[Any]:
    """Return the arguments of a call as the operator takes them: tensors of lists in their lists."""
    return list(_joined(signature.input_counts, values)) if isinstance(signature, Elements) else list(values)


def over_tensors(function: Callable[..., Any], made: Signature, *, generator: bool = True) -> Callable[..., Any]:
    """Return a function of each tensor, for one that takes and returns lists; without lists the function itself.

    `generator`: whether it takes the operator's generator.
    """
    if not isinstance(made, Elements):
        return function
    counts = made.input_counts
    if not generator:  # a reference isn't given one
        counts = tuple(n for n, p in zip(counts, made.of.inputs, strict=True) if p is not made.of.generator)
    results = made.result_counts[: len(made.of.outputs)]

    def call(*values: Any, **keywords: Any) -> Any:
        returned = function(*_joined(counts, values), **keywords)
        listed = [returned] if len(results) == 1 else returned
        if not isinstance(listed, (list, tuple)) or len(listed) != len(results):
            return returned  # the caller says what is wrong
        if any(n is not None and not isinstance(one, (list, tuple)) for n, one in zip(results, listed, strict=True)):
            return returned
        return tuple(flat(results, listed))

    call.__name__ = getattr(function, "__name__", made.name)
    return call


def _joined(counts: Sequence[int | None], values: Sequence[Any]) -> list[Any]:
    """Return values with their lists; with loops that torch.compile traces."""
    joined, at = list[Any](), 0
    for count in counts:
        if count is None:
            joined.append(values[at])
        else:
            joined.append(list(values[at : at + count]))
        at += 1 if count is None else count
    return joined
