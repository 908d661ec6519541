"""The arguments of one call, as its schema has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from opwright.errors import ArgumentError
from opwright.runtime.fake import DTYPES
from opwright.runtime.interface import KernelState
from opwright.signature import Binding, Check, ScalarParam, Signature, TensorInfo, TensorParam, bind


class Arguments:
    """What one call was given, by its role. Sizes may be symbolic."""

    def __init__(self, kernel: KernelState, given: Sequence[Any], *, mask: bool) -> None:
        """`given`: all arguments, in the schema's order."""
        signature = kernel.signature
        self._kernel, extra = kernel, iter(given[len(_inputs(signature)) :])
        self.inputs = tuple(given[: len(_inputs(signature))])
        pairs = list(zip(_inputs(signature), self.inputs, strict=True))
        self.tensors: list[torch.Tensor | None] = [v for p, v in pairs if isinstance(p, TensorParam)]
        self.scalars = [v for p, v in pairs if isinstance(p, ScalarParam)]
        self.axes = {axis: next(extra) for axis in kernel.axes}
        self.ellipsis = tuple(next(extra)) if kernel.ellipsis else None
        self.mask = _mask(signature, next(extra)) if mask else None

    def bind(self, *, check: Check | None = None) -> Binding:
        """What the signature's names stand for in this call; ArgumentError where it doesn't fit."""
        signature = self._kernel.signature
        infos = {p.name: _info(signature, p, t) for p, t in zip(signature.tensors, self.tensors, strict=True)}
        binding = bind(signature, infos, axes=self.axes, ellipsis=self.ellipsis, check=check)
        unknown = [variable for variable in signature.type_variables if variable not in binding.types]
        if unknown:
            raise ArgumentError(
                f"{signature.name}(): no argument tells the element type {', '.join(unknown)}\n"
                f"  signature:    {signature}"
            )
        return binding


def check_dense(signature: Signature, tensors: Sequence[torch.Tensor | None]) -> None:
    """ArgumentError for a sparse, nested or quantized tensor: PyTorch's own error for those names no argument."""
    for param, tensor in zip(signature.tensors, tensors, strict=True):
        if tensor is None or (tensor.layout is torch.strided and not tensor.is_quantized and not tensor.is_nested):
            continue
        packed = "nested" if tensor.is_nested else "sparse or otherwise packed"
        kind, fix = ("quantized", "dequantize()") if tensor.is_quantized else (packed, "to_dense()")
        raise ArgumentError(
            f"{signature.name}(): {param.name} is a {kind} tensor, expected a dense one\n  likely fix:   {fix}"
        )


def check_device(signature: Signature, tensors: Sequence[torch.Tensor | None]) -> None:
    """ArgumentError for a tensor that isn't on the CPU."""
    for param, tensor in zip(signature.tensors, tensors, strict=True):
        if tensor is not None and tensor.device.type != "cpu":
            raise ArgumentError(
                f"{signature.name}(): {param.name} is on {tensor.device}, expected cpu: "
                "all tensors of a call must be on one device"
            )


def _inputs(signature: Signature) -> list[TensorParam | ScalarParam]:
    return [param for param in signature.inputs if isinstance(param, TensorParam | ScalarParam)]


def _mask(signature: Signature, given: Sequence[bool]) -> list[bool]:
    if len(given) != len(signature.outputs):
        raise ArgumentError(
            f"{signature.name}(): output_mask has {len(given)} elements, expected one for each of "
            f"{len(signature.outputs)} gradients"
        )
    return list(given)


def _info(signature: Signature, param: TensorParam, tensor: torch.Tensor | None) -> TensorInfo | None:
    if tensor is None:
        return None
    if tensor.dtype not in DTYPES:
        raise ArgumentError(
            f"{signature.name}(): {param.name} has an element type that no signature can name\n"
            f"  signature:    {signature}"
        )
    return TensorInfo(tuple(tensor.shape), DTYPES[tensor.dtype])
