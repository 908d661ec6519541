"""Benchmarks of operators with lists of tensors: a list's name stands for its length, an axis for each tensor's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opwright.check.calls.target_operator import TargetOperator
from opwright.check.calls.tensor_lists import USUAL, of_tensors
from opwright.errors import ArgumentError
from opwright.signature import Signature
from opwright.signature.tensor_lists.calls import Elements, groups

_RANKS = (1,)  # leading axes of each tensor: one, as leading axes are in all benchmarks


def with_lengths(
    operators: Mapping[str, Sequence[TargetOperator]], axes: Mapping[str, Any]
) -> tuple[dict[str, list[TargetOperator]], dict[str, Any]]:
    """Return the operators, for the lengths of lists that `axes` gives, and the other sizes.

    Args:
        operators: the operators, by device.
        axes: sizes by name; a list's name stands for its length, one number.

    Raises:
        ArgumentError: a length isn't one number, from 1 on, or lists of the same length are given two.
    """
    used = dict[str, int]()
    chosen = {device: [_with_lengths(each, axes, used) for each in several] for device, several in operators.items()}
    return chosen, {name: sizes for name, sizes in axes.items() if name not in used}


def _with_lengths(operator: TargetOperator, axes: Mapping[str, Any], used: dict[str, int]) -> TargetOperator:
    whole = operator.with_lists
    if whole is None:
        return operator
    found = groups(whole.signature)
    counts = {group: USUAL[group % len(USUAL)] for group in range(found.count)}
    told = dict[int, str]()
    for tensor in whole.signature.tensors:
        if not tensor.listed or tensor.name not in axes:
            continue
        length, group = axes[tensor.name], found.of[tensor.name, False]
        several = list(length) if isinstance(length, Sequence) and not isinstance(length, str) else [length]
        if len(several) != 1 or not isinstance(several[0], int) or several[0] < 1:
            raise ArgumentError(
                f"{whole.name}(): {tensor.name} is {length!r}, expected one number, the length of the list\n"
                f"  signature:    {whole.signature}"
            )
        if group in told and counts[group] != several[0]:
            raise ArgumentError(
                f"{whole.name}(): {tensor.name} is {several[0]}, but {told[group]}, a list of the same length, is "
                f"{counts[group]}\n  signature:    {whole.signature}"
            )
        counts[group], told[group], used[tensor.name] = several[0], tensor.name, several[0]
    return of_tensors(whole, tuple(counts.values()) or USUAL, _RANKS)


def axis_of(sig: Signature, name: str) -> str:
    """Return the name that sets an axis: ``N`` for the axis ``N[2]`` of a list's tensor."""
    if isinstance(sig, Elements) and name not in sig.of.free_axes:
        return name.partition("[")[0]
    return name


def described(sig: Signature, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return sizes by the names that set them, after the lengths of lists."""
    if not isinstance(sig, Elements):
        return dict(sizes)
    counts = zip(sig.of.inputs, sig.input_counts, strict=True)
    lengths = {param.name: count for param, count in counts if count is not None}
    return {**lengths, **{axis_of(sig, name): size for name, size in sizes.items()}}
