"""Where an operator is called: on the CPU, under emulation, or on another device of PyTorch's."""

from __future__ import annotations

from typing import Any

import torch

from opwright.check.targets import is_source

_FIX = 'likely fix: device="emulated" runs CUDA kernels on the CPU; `opwright doctor` says what is missing'


def loading(op: Any, device: str) -> dict[str, Any] | None:
    """How a source file is loaded for a device.

    Raises:
        ValueError: what is checked is no source file, and can't be emulated.
    """
    if device != "emulated":
        return None
    if not is_source(op):
        raise ValueError(
            f"check() got device='emulated' and {op!r}, expected a source file: what is built runs where it was built "
            'for\n  likely fix: load it with backend="emulate" and check that'
        )
    return {"backend": "emulate"}


def of_tensors(device: str) -> str:
    """Whose tensors the operator is called with.

    Raises:
        ValueError: there is no such device, or none here.
    """
    if device in ("cpu", "emulated"):
        return "cpu"
    kind = _parsed(device).type
    if kind in ("cpu", "meta"):
        raise ValueError(f"check() got device={device!r}, expected 'cpu', 'emulated', or a GPU, as 'cuda'")
    module = torch.get_device_module(kind)
    if not module.is_available():
        raise ValueError(f"check() got device={device!r}, but PyTorch finds no such device here\n  {_FIX}")
    return device


def _parsed(device: str) -> torch.device:
    try:
        return torch.device(device)
    except (RuntimeError, TypeError):
        expected = "expected 'cpu', 'emulated', or a device of PyTorch's, as 'cuda'"
        raise ValueError(f"check() got device={device!r}, {expected}") from None
