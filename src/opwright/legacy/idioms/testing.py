"""What ``torch.testing`` had in 2018 and 2019, and test suites of that time import."""

from __future__ import annotations

from collections.abc import Callable

import torch

from opwright.legacy.attributes import add

__all__ = ["apply"]

_FLOATING = (torch.float32, torch.float64, torch.float16)
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def apply() -> Callable[[], None]:
    """Add them to ``torch.testing``."""
    return add(
        torch.testing,
        {
            "get_all_dtypes": get_all_dtypes,
            "get_all_math_dtypes": get_all_math_dtypes,
            "get_all_device_types": get_all_device_types,
            "is_tensor": torch.is_tensor,
            "make_non_contiguous": make_non_contiguous,
            "rand_like": torch.rand_like,
            "randn_like": torch.randn_like,
        },
    )


def get_all_dtypes() -> list[torch.dtype]:
    """The element types of PyTorch 1.0: no bool, bfloat16 or complex ones. A new list, which the caller may edit."""
    return [*_INTEGERS, *_FLOATING]


def get_all_math_dtypes(device: str | torch.device) -> list[torch.dtype]:
    """Those that arithmetic was defined for: half only on CUDA."""
    halves = [torch.float16] if torch.device(device).type == "cuda" else []
    return [*_INTEGERS, torch.float32, torch.float64, *halves]


def get_all_device_types() -> list[str]:
    """``cpu``, and ``cuda`` where there is one."""
    return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


def make_non_contiguous(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor with the same values that isn't contiguous (one of at most one element always is)."""
    if tensor.numel() <= 1:
        return tensor.clone()
    spread = tensor.new_empty((*tensor.shape, 2))[..., 0]
    return spread.copy_(tensor)
