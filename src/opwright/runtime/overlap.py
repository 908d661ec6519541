"""Checks that what is overwritten shares no memory with another argument, and that its own elements lie apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from opwright.errors import ArgumentError
from opwright.runtime import messages
from opwright.signature import Signature, TensorParam

_MOST_STEPS = 1000
"""Steps of one search; what takes longer counts as no overlap (csrc/call/overlap.cpp has the same number)."""


def check_overlaps(signature: Signature, tensors: Sequence[torch.Tensor | None]) -> None:
    """Refuse a call if an overwritten tensor shares memory with another argument, or its elements with each other."""
    pairs = list(zip(signature.tensors, tensors, strict=True))
    if len(signature.mutated) > _FEW and _lie_apart(pairs):
        return
    for param, tensor in pairs:
        if param.mutated and tensor is not None:
            _check_overlap(signature, param, tensor, [(p, t) for p, t in pairs if p is not param])


_FEW = 8
"""Overwritten tensors of which pairs are quicker to compare."""


def _lie_apart(pairs: Sequence[tuple[TensorParam, torch.Tensor | None]]) -> bool:
    """Return whether between the ends of the memory of each overwritten tensor no other one has memory.

    Pairs, of which lists have too many, are compared where that isn't so.
    """
    places = []
    for param, tensor in pairs:
        if tensor is None or not tensor.numel():
            continue
        if param.mutated and not _is_dense(tensor):
            return False
        last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
        begin = tensor.data_ptr()
        places.append((begin, begin + (last + 1) * tensor.element_size(), param.mutated))
    furthest = furthest_written = 0  # the ends of those before
    for begin, end, written in sorted(places):
        if begin < furthest_written or (written and begin < furthest):
            return False
        furthest = max(furthest, end)
        furthest_written = max(furthest_written, end if written else 0)
    return True


def _check_overlap(
    signature: Signature,
    param: TensorParam,
    tensor: torch.Tensor,
    others: list[tuple[TensorParam, torch.Tensor | None]],
) -> None:
    """Refuse what certainly overlaps: what ATen refuses for its own in-place operators, and more.

    Full overlaps with an input are allowed for pointwise operators, which read each element before they write it:
    ``x.add_(x)``.
    """
    argument = f"{signature.shown_name}(): {param.name}"
    if _overlaps_itself(tensor):
        raise ArgumentError(messages.INTERNAL_OVERLAP.format(argument=argument))
    for read, other in others:
        if other is None or not _share_memory(tensor, other):
            continue
        if not signature.pointwise or read.mutated or not _is_same(tensor, other):
            raise ArgumentError(messages.SHARED_MEMORY.format(argument=argument, other=read.name))


def check_given(signature: Signature, arguments: Mapping[str, Any]) -> None:
    """Refuse a call of a variant whose results would share memory in part with an argument, or at all with another one.

    A result may be all of an argument: arguments are read before results are written.
    """
    tensors = [(name, each) for name, value in arguments.items() for each in _flat(value)]
    for name in signature.returned:
        argument = f"{signature.shown_name}(): {name}"
        if _overlaps_itself(arguments[name]):
            raise ArgumentError(messages.INTERNAL_OVERLAP.format(argument=argument))
        for other, tensor in tensors:
            if other == name or not _share_memory(arguments[name], tensor):
                continue
            if other in signature.returned or not _is_same(arguments[name], tensor):
                raise ArgumentError(messages.SHARED_MEMORY.format(argument=argument, other=other))


def _flat(value: Any) -> list[torch.Tensor]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, torch.Tensor)]


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether two tensors have the same elements at the same addresses, by ATen's criteria."""
    return a.data_ptr() == b.data_ptr() and a.nbytes == b.nbytes and a.stride() == b.stride()


def _share_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether two tensors certainly share memory; False for tensors with gaps, which might only interleave."""
    if a is b:
        return True
    if not a.numel() or not b.numel() or not _is_dense(a) or not _is_dense(b):
        return False
    first, second = a.data_ptr(), b.data_ptr()
    return first < second + b.numel() * b.element_size() and second < first + a.numel() * a.element_size()


def _is_dense(tensor: torch.Tensor) -> bool:
    return bool(torch.ops.aten.is_non_overlapping_and_dense.default(tensor))


def _overlaps_itself(tensor: torch.Tensor) -> bool:
    """Return whether two elements certainly lie in one place; exact, unless the search takes too long."""
    if _is_dense(tensor) or not tensor.numel():
        return False
    axes = sorted((step, size) for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size > 1)
    if axes[0][0] == 0:
        return True
    reach = [sum((size - 1) * step for step, size in axes[:i]) for i in range(len(axes))]
    steps = iter(range(_MOST_STEPS))
    return _adds_up(list(zip(axes, reach, strict=True)), 0, steps, moved=False)


def _adds_up(axes: list[tuple[tuple[int, int], int]], rest: int, steps: Iterator[int], *, moved: bool) -> bool:
    """Return whether steps along the axes add up to `rest`, which isn't negative.

    Args:
        axes: stride, size, and how far the axes before it reach, by ascending strides.
        rest: the distance, in elements.
        steps: how many calls are allowed.
        moved: whether no axis needs to be stepped along any more.
    """
    if next(steps, None) is None:
        return False
    if not axes:
        return moved and rest == 0
    (step, size), inner = axes[-1]
    low = -((inner - rest) // step) if moved or rest > inner else 0  # backwards is forwards, the other way round
    high = min(size - 1, (rest + inner) // step)
    counts = range(max(low, 1 - size), high + 1)
    return any(_adds_up(axes[:-1], abs(rest - k * step), steps, moved=moved or k != 0) for k in counts)
