"""The device of a call: the accelerator's streams, memory and random numbers, and checks of the tensors' devices."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import torch

from opwright.errors import ArgumentError
from opwright.runtime import messages
from opwright.runtime.arguments import Arguments, check_dense
from opwright.runtime.binding import check_asked, two_devices
from opwright.runtime.interface import KernelState
from opwright.signature import Signature, TensorParam

_MASK = 2**64 - 1


class Accelerator:
    """CUDA, through `torch.cuda`. Tests without a GPU change the attributes before the first operator is made.

    Attributes:
        kind: the type of its devices.
        key: their dispatch key.
    """

    kind = "cuda"
    key = "CUDA"

    @property
    def module(self) -> Any:
        """PyTorch's module for the accelerator: ``torch.cuda``."""
        return getattr(torch, self.kind)

    def stream(self, device: torch.device) -> int:
        """Return the handle of the current stream."""
        handle: int = self.module.current_stream(device).cuda_stream
        return handle

    def is_capturing(self) -> bool:
        """Return whether the current stream is being captured for a graph."""
        return bool(self.module.is_current_stream_capturing())

    def synchronize_if_asked(self, device: torch.device) -> None:
        """Wait for the current stream if ``OPWRIGHT_CUDA_SYNC=1``; raise RuntimeError if its work failed."""
        if os.environ.get("OPWRIGHT_CUDA_SYNC", "0") not in ("", "0") and not self.is_capturing():
            self.module.current_stream(device).synchronize()

    def generator(self, device: torch.device) -> torch.Generator:
        """Return the device's default generator, which torch.manual_seed seeds."""
        generator: torch.Generator = self.module.default_generators[device.index]
        return generator

    @contextlib.contextmanager
    def on(self, device: torch.device) -> Iterator[None]:
        """Make `device` the current device, and in this thread the one on which kernels' services allocate memory."""
        before = getattr(_running, "device", None)
        _running.device = device
        try:
            with self.module.device(device):
                yield
        finally:
            _running.device = before


_running = threading.local()
accelerator = Accelerator()


def running_on() -> torch.device:
    """Return the device of the kernel that is running in this thread; the CPU if there is none."""
    return getattr(_running, "device", None) or torch.device("cpu")


def key_of(generator: torch.Generator) -> int:
    """Return a random key that is unique to a call, computed from the generator's seed and offset.

    The native runtime computes the same key (csrc/frames/frame.cpp).
    """
    offset = generator.get_offset()
    generator.set_offset(offset + 4)  # the smallest step that PyTorch's own operators take
    return _mixed(_mixed(generator.initial_seed() & _MASK) + offset)


def _mixed(z: int) -> int:
    """Apply SplitMix64's finalizer (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014)."""
    z = (z + 0x9E3779B97F4A7C15) & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)


def place(state: KernelState, call: Arguments) -> torch.device:
    """Return the device of a call, which is the device of all its tensors and has kernels.

    Pointwise operators also accept 0-dim CPU tensors beside tensors on another device.

    Raises:
        ArgumentError: the tensors are on different devices or on one without kernels, or a tensor has no memory.
    """
    signature = state.signature
    if signature.is_factory:
        device = torch.device(call.device or "cpu")
        if not _serves(state, device):
            raise _refused(state, device, None)
        return device if device.type == "cpu" or ":" in str(device) else _current(device)
    pairs = [(p, t) for p, t in zip(signature.tensors, call.tensors, strict=True) if t is not None]
    fixed = [(p, t) for p, t in pairs if not _goes_anywhere(signature, p, t)]
    for param, tensor in fixed or pairs:
        if not _serves(state, tensor.device):
            raise _refused(state, tensor.device, param)
        if tensor.device != (fixed or pairs)[0][1].device:
            first, other = (fixed or pairs)[0]
            raise two_devices(signature, param.name, tensor.device, first.name, other.device)
    if call.device and pairs:
        check_asked(signature, call.device, *(fixed or pairs)[0])
    for param, tensor in pairs:
        if tensor.numel() and not tensor.untyped_storage().nbytes():
            raise ArgumentError(messages.STORAGE_FREED.format(argument=f"{signature.shown_name}(): {param.name}"))
    return (fixed or pairs)[0][1].device if pairs else torch.device("cpu")


def move_numbers(call: Arguments, device: torch.device) -> None:
    """Replace 0-dim CPU tensors of a pointwise call by tensors filled on `device`, so that no stream waits."""
    for i, tensor in enumerate(call.tensors):
        if tensor is not None and tensor.device != device:
            call.tensors[i] = torch.full((), tensor.item(), dtype=tensor.dtype, device=device)


def refuse(state: KernelState, call: Arguments) -> NoReturn:
    """Raise ArgumentError for a call on a device without kernels."""
    signature = state.signature
    check_dense(signature, call.tensors)
    if call.device is not None and not _serves(state, device := torch.device(call.device)):
        raise _refused(state, device, None)
    for param, tensor in zip(signature.tensors, call.tensors, strict=True):
        if tensor is not None and not _serves(state, tensor.device):
            raise _refused(state, tensor.device, param)
    call.bind()  # if there is no tensor, this raises the error that names the missing one
    known = " and ".join(_named(state))
    raise ArgumentError(
        f"{signature.shown_name}(): there is no kernel for these arguments; it has kernels for {known} only"
    )


def _goes_anywhere(signature: Signature, param: TensorParam, tensor: torch.Tensor) -> bool:
    return signature.pointwise and not param.mutated and tensor.dim() == 0 and tensor.device.type == "cpu"


def _serves(state: KernelState, device: torch.device) -> bool:
    return device.type in _named(state)


def _named(state: KernelState) -> list[str]:
    """Return the devices that have kernels, by PyTorch's names."""
    return [accelerator.kind if device == "cuda" else device for device in sorted(state.devices)]


def _refused(state: KernelState, device: torch.device, param: TensorParam | None) -> ArgumentError:
    name, known = state.signature.shown_name, _named(state)
    facts = {"device": str(device), "known": " and ".join(known), "nearest": known[0]}
    on_cpu = device.type == "cpu"
    if param:
        text = messages.NO_KERNEL_FOR_DEVICE.format(argument=f"{name}(): {param.name}", **facts)
    else:
        move = "" if on_cpu else messages.THEN_MOVE_THE_RESULT.format(**facts)
        argument = state.signature.device.name if state.signature.device else "device"
        text = messages.NO_KERNEL_FOR_FACTORY.format(name=name, argument=argument, **facts) + move
    return ArgumentError(text + (messages.OR_EMULATE if on_cpu else ""))


def new_tensor(
    shape: Sequence[int], dtype: torch.dtype, device: torch.device, strides: Sequence[int] | None = None
) -> torch.Tensor:
    """Return a tensor of uninitialised memory, which PyTorch fills in deterministic mode; row-major without strides."""
    if dtype is torch.float4_e2m1fn_x2:  # which PyTorch can't fill
        return new_tensor(shape, torch.uint8, device, strides).view(dtype)
    if strides is None:
        return torch.empty(shape, dtype=dtype, device=device)
    return torch.empty_strided(shape, strides, dtype=dtype, device=device)


def _current(device: torch.device) -> torch.device:
    return torch.empty(0, device=device).device


def keys_of(device: torch.device | None) -> Any:
    """Return the dispatch keys for a call, on `device`, of an operator without input tensors."""
    kind = "cpu" if device is None else torch.device(device).type
    known = (key for name, key in torch.DispatchKey.__members__.items() if name.lower() == kind)
    return torch.DispatchKeySet(next(known, torch.DispatchKey.PrivateUse1))


def keys_below_autograd(keys: Any) -> Any:
    """Return the dispatch keys below autograd's."""
    return _below(keys, ("Autograd",))


def keys_below_inplace(keys: Any) -> Any:
    """Return the dispatch keys below autograd's and version counting (ADInplaceOrView)."""
    return _below(keys, ("Autograd", "ADInplaceOrView"))


def _below(keys: Any, prefixes: tuple[str, ...]) -> Any:
    while (highest := keys.highestPriorityTypeId()).name.startswith(prefixes):
        keys = keys.remove(highest)
    return keys
