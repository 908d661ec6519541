"""Registration of ``flops:`` with PyTorch's FLOP counter, ``torch.utils.flop_counter``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright.runtime.binding import check_sizes
from opwright.runtime.interface import KernelState
from opwright.runtime.register.fake import bind_arguments
from opwright.runtime.torch_internals import OpOverloadPacket
from opwright.signature import operations

_OURS: dict[OpOverloadPacket, Callable[..., int]] = {}


def count_flops(packet: OpOverloadPacket, kernel: KernelState) -> None:
    """Make PyTorch's counter count what the kernel's signature says; a formula that the user registered stays."""
    before, says = _OURS.pop(packet, None), kernel.signature.flops is not None
    if not (before or says):
        return
    from torch.utils.flop_counter import flop_registry, register_flop_formula

    if before and flop_registry.get(packet) is before:
        del flop_registry[packet]
    if says and packet not in flop_registry:
        _OURS[packet] = formula = _formula(kernel)
        register_flop_formula(packet, get_raw=True)(formula)


def _formula(kernel: KernelState) -> Callable[..., int]:
    signature = kernel.signature

    def formula(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        del out_val
        call = bind_arguments(signature, args, kwargs, axes=kernel.axes, ellipsis=kernel.ellipsis, check=check_sizes)
        return operations(signature, call.binding, call.scalars) or 0

    return formula
