"""Checks of operators with lists of tensors: for lists of usual lengths, and again for others, also empty ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from opwright.check.calls.tensor_lists import USUAL, lengths, of_tensors
from opwright.check.context import Context
from opwright.check.report import Finding
from opwright.signature.tensor_lists.calls import Elements

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
