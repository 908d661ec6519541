"""The choice between alternatives for a call's tensors (:mod:`opwright.signature.alternatives`), and its error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from opwright.errors import ArgumentError
from opwright.runtime import messages
from opwright.runtime.binding import DTYPES
from opwright.signature.alternatives import Alternatives, count_axes


def chosen(choice: Alternatives, values: Mapping[str, Any]) -> int | None:
    """Return the number of the alternative that fits the arguments, by name; None if none does."""
    arrived = {name: _facts(values.get(name)) for name in choice.deciding}
    return choice.find(arrived, DTYPES[torch.get_default_dtype()])


def _facts(value: Any) -> Any:
    return (DTYPES.get(value.dtype), value.dim()) if isinstance(value, torch.Tensor) else None


def _arrived(name: str, value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return messages.ARRIVED_NONE.format(name=name)
    dtype = str(value.dtype).removeprefix("torch.")
    return messages.ARRIVED.format(name=name, dtype=dtype, axes=count_axes(value.dim()))


def none_fits(choice: Alternatives, values: Mapping[str, Any]) -> ArgumentError:
    """Return the error of a call that no alternative fits."""
    arrived = [_arrived(name, values.get(name)) for name in choice.deciding]
    facts = {"name": choice.name, "count": len(choice.signatures), "takes": choice.takes()}
    return ArgumentError(messages.NO_ALTERNATIVE.format(arrived=", ".join(arrived), **facts))
