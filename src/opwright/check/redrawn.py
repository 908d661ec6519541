"""Python that draws a tensor like another one, which is too large to be written out."""

from __future__ import annotations

import math

import torch

_HUGE, _LITTLE = 1e4, 1e-12
"""Beyond the one, or closer to zero than the other, a number stands out: it isn't of the range that others are of."""
_LOOKED_AT = 1 << 20
"""Elements that are looked at."""
_MOST = 12
"""Numbers that stand out that are told; of more, the first ones."""


def redrawn(value: torch.Tensor, shape: tuple[int, ...], there: str) -> str:
    """An expression for a tensor of this shape whose values are drawn as those of `value` might have been.

    What is floating is of the same range; where zeros, infinities, NaN and other numbers that stand out are among them,
    as large a share of it is those. `there`: further words for its device.
    """
    dtype = value.dtype
    if dtype is torch.bool:
        return f"torch.rand({shape}{there}).lt(0.5)"
    if not dtype.is_floating_point:
        low, high = (int(value.min()), int(value.max()) + 1) if value.numel() else (0, 1)
        return f"torch.randint({low}, {high}, {shape}, dtype={dtype}{there})"
    numbers = value.detach().flatten()[:_LOOKED_AT].double()
    stands_out = _stand_out(numbers)
    odd, text = numbers[stands_out], _uniform(numbers[~stands_out], shape, there)
    if odd.numel():
        told = list(dict.fromkeys(map(_number, odd.tolist())))[:_MOST]
        chosen = f"torch.tensor([{', '.join(told)}], dtype=torch.float64{there})"
        picked = f"{chosen}[torch.randint({len(told)}, {shape}{there})]"
        text = f"torch.where(torch.rand({shape}{there}) < {odd.numel() / numbers.numel():.3g}, {picked}, {text})"
    return f"{text}.to({dtype})"


def _stand_out(numbers: torch.Tensor) -> torch.Tensor:
    size = numbers.abs()
    return ~((size >= _LITTLE) & (size <= _HUGE))  # NaN, too


def _uniform(numbers: torch.Tensor, shape: tuple[int, ...], there: str) -> str:
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.numel() else (-1.0, 1.0)
    return f"(torch.rand({shape}, dtype=torch.float64{there}) * {high - low:.4g} + {low:.4g})"


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value}")'
