"""Registration of ``flops:`` with PyTorch's FLOP counter, ``torch.utils.flop_counter``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opwright.errors import ArgumentError
from opwright.runtime.binding import check_sizes
from opwright.runtime.interface import KernelState
from opwright.runtime.register.call_errors import problem_of
from opwright.runtime.register.fake import bind_arguments
from opwright.runtime.torch_internals import OpOverload, OpOverloadPacket
from opwright.signature import Signature, operations

_OURS: dict[OpOverloadPacket, Callable[..., int]] = {}


def count_flops(packet: OpOverloadPacket, overloads: Sequence[tuple[OpOverload, Signature, KernelState]]) -> None:
    """Make PyTorch's counter count what the signatures of a packet say; a formula that the user registered stays."""
    before, says = _OURS.pop(packet, None), any(kernel.signature.flops is not None for *_, kernel in overloads)
    if not (before or says):
        return
    from torch.utils.flop_counter import flop_registry, register_flop_formula

    if before and flop_registry.get(packet) is before:
        del flop_registry[packet]
    if says and packet not in flop_registry:
        _OURS[packet] = formula = _formula(overloads)
        register_flop_formula(packet, get_raw=True)(formula)


def _formula(overloads: Sequence[tuple[OpOverload, Signature, KernelState]]) -> Callable[..., int]:
    """Return the formula of a packet. The counter doesn't tell it the overload: it is the first that fits."""

    def formula(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        """Return the operations of a call; 0 where the signature doesn't say."""
        del out_val
        fitting = [k for op, s, k in overloads if len(overloads) == 1 or not problem_of(s, op, args, kwargs)]
        for kernel in fitting:
            signature = kernel.signature
            try:
                call = bind_arguments(
                    signature, args, kwargs, axes=kernel.axes, ellipsis=kernel.ellipsis, check=check_sizes
                )
            except ArgumentError:
                if signature.alternative:  # another one fits
                    continue
                raise
            return operations(signature, call.binding, call.scalars) or 0
        return 0

    return formula
