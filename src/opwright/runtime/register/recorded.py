"""One identity for an operator and its recorded form, the overload that returns the residuals, too.

While a gradient is recorded, the recorded form runs in the operator's place. Both are overloads of one packet, so what
PyTorch knows by the packet (formulas of its FLOP counter, names in profiles) holds for both. What it knows by the
overload is passed on here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.checkpoint import create_selective_checkpoint_contexts

from opwright.runtime.torch_internals import OpOverload, wrap_policy

_PUBLIC: dict[OpOverload, OpOverload] = {}
"""The operator that each recorded form belongs to."""


def share_policies(recorded: OpOverload, public: OpOverload, library: torch.library.Library) -> None:
    """Make selective checkpointing do with a recorded form what its policy says of the operator."""
    _PUBLIC[recorded] = public
    for mode in _checkpoint_modes():
        torch.library.register_torch_dispatch(recorded, mode, _by_policy_of_public, lib=library)


@functools.cache
def _checkpoint_modes() -> Sequence[type]:
    """Return the classes of the modes that are active in the forward and in the recomputation."""
    return tuple(map(type, create_selective_checkpoint_contexts([])))


def _by_policy_of_public(mode: Any, recorded: OpOverload, types: Any, args: Any, kwargs: Any) -> Any:
    wrap_policy(mode, _PolicyOfPublic)
    return mode.__torch_dispatch__(recorded, types, args, kwargs)


class _PolicyOfPublic:
    """A checkpointing policy that is asked about the operator instead of its recorded form."""

    def __init__(self, policy: Callable[..., Any]) -> None:
        self._policy = policy

    def __call__(self, context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        return self._policy(context, _PUBLIC.get(op, op), *args, **kwargs)
