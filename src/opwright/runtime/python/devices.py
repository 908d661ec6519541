"""Where the tensors of a call are, and what kind they are of: the errors for what there is no kernel for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import torch

from opwright.errors import ArgumentError
from opwright.runtime.interface import KernelState
from opwright.runtime.python.accelerator import accelerator
from opwright.runtime.python.arguments import Arguments
from opwright.signature import Signature, TensorParam


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


def place(state: KernelState, call: Arguments) -> torch.device:
    """The device that a call runs on: all its tensors are there, and there are kernels for it.

    Pointwise operators take numbers from the CPU beside tensors elsewhere: those may be somewhere else.

    Raises:
        ArgumentError: it isn't so, or a tensor has no memory.
    """
    signature = state.signature
    if signature.is_factory:
        device = torch.device(call.device or "cpu")
        if not _serves(state, device):
            raise _refused(state, f"{signature.name}(): device is {device}", device, None)
        return device if device.type == "cpu" or ":" in str(device) else _current(device)
    pairs = [(p, t) for p, t in zip(signature.tensors, call.tensors, strict=True) if t is not None]
    fixed = [(p, t) for p, t in pairs if not _goes_anywhere(signature, p, t)]
    for param, tensor in fixed or pairs:
        if not _serves(state, tensor.device):
            raise _refused(state, f"{signature.name}(): {param.name} is on {tensor.device}", tensor.device, param)
        if tensor.device != (fixed or pairs)[0][1].device:
            first, other = (fixed or pairs)[0]
            raise ArgumentError(
                f"{signature.name}(): {param.name} is on {tensor.device}, {first.name} on {other.device}; "
                "all tensors of a call must be on one device"
            )
    for param, tensor in pairs:
        if tensor.numel() and not tensor.untyped_storage().nbytes():
            raise ArgumentError(
                f"{signature.name}(): {param.name} has no memory: its storage was freed (untyped_storage().resize_(0))"
            )
    return (fixed or pairs)[0][1].device if pairs else torch.device("cpu")


def move_numbers(call: Arguments, device: torch.device) -> None:
    """Put the numbers of a pointwise call where it runs: filled in there, which no stream waits for."""
    for i, tensor in enumerate(call.tensors):
        if tensor is not None and tensor.device != device:
            call.tensors[i] = torch.full((), tensor.item(), dtype=tensor.dtype, device=device)


def refuse(state: KernelState, call: Arguments) -> NoReturn:
    """ArgumentError for a call on a device without kernels."""
    signature = state.signature
    check_dense(signature, call.tensors)
    if call.device is not None and not _serves(state, device := torch.device(call.device)):
        raise _refused(state, f"{signature.name}(): device is {device}", device, None)
    for param, tensor in zip(signature.tensors, call.tensors, strict=True):
        if tensor is not None and not _serves(state, tensor.device):
            raise _refused(state, f"{signature.name}(): {param.name} is on {tensor.device}", tensor.device, param)
    call.bind()  # without a tensor: the error says which is missing
    known = " and ".join(_named(state))
    raise ArgumentError(f"{signature.name}(): there is no kernel for these arguments; it has kernels for {known} only")


def _goes_anywhere(signature: Signature, param: TensorParam, tensor: torch.Tensor) -> bool:
    return signature.pointwise and not param.mutated and tensor.dim() == 0 and tensor.device.type == "cpu"


def _serves(state: KernelState, device: torch.device) -> bool:
    return device.type in _named(state)


def _named(state: KernelState) -> list[str]:
    """For which devices there are kernels, as PyTorch calls them."""
    return [accelerator.kind if device == "cuda" else device for device in sorted(state.devices)]


def _refused(state: KernelState, what: str, device: torch.device, param: TensorParam | None) -> ArgumentError:
    known = _named(state)
    nearest = known[0]
    if param:
        fix = f"call it with .{nearest}()" if nearest in ("cpu", "cuda") else f'call it with .to("{nearest}")'
    else:
        fix = f'device="{nearest}"' + (f', then .to("{device}")' if device.type != "cpu" else "")
    if device.type == "cpu":
        fix += ', or run its CUDA kernels on the CPU: load(..., backend="emulate")'
    return ArgumentError(f"{what}, but this operator has kernels for {' and '.join(known)} only\n  likely fix:   {fix}")


def _current(device: torch.device) -> torch.device:
    return torch.empty(0, device=device).device


def keys_of(device: torch.device | None) -> Any:
    """The dispatcher's keys for an operator without input tensors, on that device."""
    kind = "cpu" if device is None else torch.device(device).type
    key: Any = torch._C._parse_dispatch_key(torch._C._dispatch_key_for_device(kind))  # noqa: SLF001 - as torch.library does
    return torch._C.DispatchKeySet(key)  # noqa: SLF001
