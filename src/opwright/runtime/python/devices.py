"""Where the tensors of a call are, and what kind they are of: the errors for what there is no kernel for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import torch

from opwright.errors import ArgumentError
from opwright.runtime.python.arguments import Arguments
from opwright.signature import Signature


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


def check_cpu(signature: Signature, tensors: Sequence[torch.Tensor | None]) -> None:
    """ArgumentError for a tensor that isn't on the CPU while another one is, or that has no memory."""
    for param, tensor in zip(signature.tensors, tensors, strict=True):
        if tensor is not None and tensor.device.type != "cpu":
            raise ArgumentError(
                f"{signature.name}(): {param.name} is on {tensor.device}, expected cpu: "
                "all tensors of a call must be on one device"
            )
        if tensor is not None and tensor.numel() and not tensor.untyped_storage().nbytes():
            raise ArgumentError(
                f"{signature.name}(): {param.name} has no memory: its storage was freed (untyped_storage().resize_(0))"
            )


def refuse(signature: Signature, call: Arguments) -> NoReturn:
    """ArgumentError for a call on a device without kernels."""
    check_dense(signature, call.tensors)
    if call.device is not None and torch.device(call.device).type != "cpu":
        raise _refused(f"{signature.name}(): device is {call.device}", f'device="cpu", then .to("{call.device}")')
    for param, tensor in zip(signature.tensors, call.tensors, strict=True):
        if tensor is not None and tensor.device.type != "cpu":
            raise _refused(f"{signature.name}(): {param.name} is on {tensor.device}", "call it with .cpu()")
    call.bind()  # without a tensor: the error says which is missing
    raise ArgumentError(f"{signature.name}(): there is no kernel for these arguments; it has kernels for cpu only")


def _refused(what: str, fix: str) -> ArgumentError:
    return ArgumentError(f"{what}, but this operator has kernels for cpu only\n  likely fix:   {fix}")


def keys_of(device: torch.device | None) -> Any:
    """The dispatcher's keys for an operator without input tensors, on that device."""
    kind = "cpu" if device is None else torch.device(device).type
    key: Any = torch._C._parse_dispatch_key(torch._C._dispatch_key_for_device(kind))  # noqa: SLF001 - as torch.library does
    return torch._C.DispatchKeySet(key)  # noqa: SLF001
