"""Checks that look at the arguments' values and memory, not only at their shapes."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence

import torch

from opwright.errors import ArgumentError, OpwrightError
from opwright.runtime.python.arguments import Arguments
from opwright.signature import Binding, Signature, TensorParam, index_error

_LARGEST = 2**63 - 1


def check_values(signature: Signature, call: Arguments, binding: Binding, *, on_cpu: bool = True) -> None:
    """ArgumentError where something that is overwritten overlaps, or an index is out of its range.

    Indices elsewhere aren't looked at: that would be to wait for the device.
    """
    check_overlaps(signature, call.tensors)
    if not on_cpu:
        return
    for param, tensor in zip(signature.tensors, call.tensors, strict=True):
        if param.index_range and tensor is not None and tensor.numel():
            _check_indices(signature, call, binding, param, tensor)


def check_overlaps(signature: Signature, tensors: Sequence[torch.Tensor | None]) -> None:
    """ArgumentError where something that is overwritten shares memory with another argument, or with itself."""
    pairs = list(zip(signature.tensors, tensors, strict=True))
    for param, tensor in pairs:
        if param.mutated and tensor is not None:
            _check_overlap(signature, param, tensor, [(p, t) for p, t in pairs if p is not param])


def too_large(signature: Signature) -> ArgumentError:
    """The error for numbers that don't fit an int64."""
    return ArgumentError(f"{signature.name}(): its sizes are larger than a tensor can be\n  signature:    {signature}")


@contextlib.contextmanager
def memory_for(signature: Signature, what: str, shape: Sequence[int], dtype: torch.dtype) -> Iterator[None]:
    """What PyTorch says of a tensor that is too large, with the names of the operator and of the tensor.

    Raises:
        OpwrightError: there is no memory for it.
    """
    try:
        yield
    except RuntimeError as error:
        size = functools.reduce(lambda product, n: product * float(n), shape, dtype.itemsize / (1 << 30))
        raise OpwrightError(
            f"{signature.name}(): no memory for {what} of shape {list(shape)}: {size:.3g} GiB\n"
            f"  PyTorch says: {str(error).partition(chr(10))[0]}"
        ) from error


def _check_overlap(
    signature: Signature,
    param: TensorParam,
    tensor: torch.Tensor,
    others: list[tuple[TensorParam, torch.Tensor | None]],
) -> None:
    """Refuses what ATen refuses of its own in-place operators, and a full overlap too.

    That one is left to pointwise operators, which read each element before they write it: ``x.add_(x)``.
    """
    start = f"{signature.name}(): {param.name} is overwritten, but"
    if not _is_dense(tensor) and any(s == 0 and n > 1 for s, n in zip(tensor.stride(), tensor.shape, strict=True)):
        raise ArgumentError(
            f"{start} several of its elements share one place in memory\n  likely fix:   clone() it before the call"
        )
    for read, other in others:
        if other is None or not _share_memory(tensor, other):
            continue
        if not signature.pointwise or read.mutated or not _is_same(tensor, other):
            raise ArgumentError(
                f"{start} it shares memory with {read.name}\n  likely fix:   clone() one of them before the call"
            )


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether they have the same elements in the same places; ATen asks in the same words."""
    return a.data_ptr() == b.data_ptr() and a.nbytes == b.nbytes and a.stride() == b.stride()


def _share_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    """What is certain; two tensors with gaps may lie in between each other, which nobody looks into."""
    if a is b:
        return True
    if not a.numel() or not b.numel() or not _is_dense(a) or not _is_dense(b):
        return False
    first, second = a.data_ptr(), b.data_ptr()
    return first < second + b.numel() * b.element_size() and second < first + a.numel() * a.element_size()


def _is_dense(tensor: torch.Tensor) -> bool:
    return bool(torch.ops.aten.is_non_overlapping_and_dense.default(tensor))


def _check_indices(
    signature: Signature, call: Arguments, binding: Binding, param: TensorParam, tensor: torch.Tensor
) -> None:
    low, high = _limits(signature, binding, param)
    with memory_for(signature, f"a contiguous copy of {param.name}", tensor.shape, tensor.dtype):
        values = tensor.contiguous().reshape(-1)
    wide = values.view(torch.int64) if values.dtype is torch.uint64 else values.to(torch.int64)
    if values.dtype is torch.uint64:  # what is beyond int64 looks negative here
        low = max(low, 0)
    outside = (wide < low) | (wide >= high)
    if outside.any():
        position = int(outside.nonzero()[0])
        raise index_error(signature, binding, param, call.infos(), position, int(wide[position]))


def _limits(signature: Signature, binding: Binding, param: TensorParam) -> tuple[int, int]:
    try:
        low, high = (limit.evaluate(binding.axes) for limit in param.index_range or ())
    except ZeroDivisionError as error:
        raise too_large(signature) from error
    if max(abs(low), abs(high)) > _LARGEST:
        raise too_large(signature)
    return low, high
