"""One call of a kernel: results allocated, ``opw_call`` filled in, the entry called without the GIL."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from opwright.errors import ArgumentError, KernelError
from opwright.runtime import abi
from opwright.runtime.fake import DTYPES, TORCH_TYPES
from opwright.runtime.interface import KernelState
from opwright.runtime.python.arguments import Arguments
from opwright.runtime.python.interrupts import note, taken
from opwright.signature import Binding, ScalarParam, Signature, output_shapes, output_types

_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Instance:
    """A kernel for given element types, in an open library."""

    entry: Any
    strided: int  # bit i: tensor i may have any strides


def run(kernel: KernelState, instance: Instance, call: Arguments, binding: Binding, returned: int) -> list[Any]:
    """Call the kernel; its first `returned` results, None where the mask leaves one out.

    Raises:
        KernelError: the kernel said so.
    """
    signature = kernel.signature
    inputs = [
        t if t is None or instance.strided >> i & 1 or t.is_contiguous() else t.contiguous()
        for i, t in enumerate(call.tensors)
    ]
    results = _allocate(signature, binding, call.mask, returned)
    absent = [None] * (len(signature.results) - returned)
    axes = [int(binding.axes.get(axis, 0)) for axis in signature.axes]
    _enter(signature, instance.entry, [*inputs, *results, *absent], call.scalars, axes)
    return results


def _allocate(
    signature: Signature, binding: Binding, mask: Sequence[bool] | None, returned: int
) -> list[torch.Tensor | None]:
    everything = returned > len(signature.outputs)
    shapes: Any = output_shapes(signature, binding, with_residuals=everything)
    types = output_types(signature, binding, with_residuals=everything)
    if max((size for shape in shapes for size in shape), default=0) > _LARGEST:
        raise ArgumentError(
            f"{signature.name}(): its sizes are larger than a tensor can be\n  signature:    {signature}"
        )
    return [
        torch.empty(shape, dtype=TORCH_TYPES[dtype], device="cpu") if mask is None or mask[i] else None
        for i, (shape, dtype) in enumerate(zip(shapes, types, strict=True))
    ]


def _enter(
    signature: Signature,
    entry: Any,
    tensors: Sequence[torch.Tensor | None],
    scalars: Sequence[Any],
    axes: Sequence[int],
) -> None:
    sizes = array("q", (n for t in tensors if t is not None for n in (*t.shape, *t.stride())))
    text: list[bytes] = []
    call = abi.Call(
        size=ctypes.sizeof(abi.Call),
        tensors=_rows(tensors, sizes),
        scalars=_scalars(signature, scalars),
        axes=(ctypes.c_int64 * len(axes))(*axes),
        device_index=abi.WITHOUT_DEVICE,
        fail=_taking(text),
    )
    status = entry(ctypes.byref(call))
    if (error := taken()) is not None:
        raise error
    if status != 0:
        raise KernelError(f"{signature.name}(): {b''.join(text).decode('utf-8', 'replace')}")


def _taking(text: list[bytes]) -> Any:
    """``opw_call.fail``: keeps a copy of the text."""

    def fail(_context: int | None, first: int | None, length: int) -> None:
        try:
            text[:] = [ctypes.string_at(first, length)] if first else []
        except BaseException as error:  # noqa: BLE001 - the kernel is the caller
            note(error)

    return abi.FAIL(fail)


def _rows(tensors: Sequence[torch.Tensor | None], sizes: array[int]) -> Any:
    """The tensors, whose sizes and strides stand in `sizes` one after another."""
    rows, (at, _) = [], sizes.buffer_info()
    for tensor in tensors:
        if tensor is None:
            rows.append(abi.TensorRow())
            continue
        numel, rank = tensor.numel(), tensor.dim()
        data = tensor.data_ptr() if numel else None
        rows.append(abi.TensorRow(data, at, at + 8 * rank, numel, rank, DTYPES[tensor.dtype].code, present=1))
        at += 16 * rank
    return (abi.TensorRow * len(rows))(*rows)


def _scalars(signature: Signature, values: Sequence[Any]) -> Any:
    return (abi.Scalar * len(values))(*(_scalar(p, v) for p, v in zip(signature.scalars, values, strict=True)))


def _scalar(param: ScalarParam, value: Any) -> abi.Scalar:
    return abi.Scalar(f=float(value)) if param.kind == "float" else abi.Scalar(i=int(value))
