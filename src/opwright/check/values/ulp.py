"""Distance of a result from the expected one, in units of the last place (ulp) of its element type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from opwright.signature import DType

ULP: Mapping[torch.dtype, float] = {
    torch.float64: 64.0,
    torch.float32: 64.0,
    torch.float16: 8.0,
    torch.bfloat16: 8.0,
    **{getattr(torch, dtype.torch_name): 1.0 for dtype in DType if dtype.only_converts},
}
"""Tolerances: kernels compute float16 and bfloat16 in float32 and round once; others round at every step. Those
of 8 bits may be one unit off, where the sum before it is near a tie."""
_FLOAT64 = torch.finfo(torch.float64).eps
_MOST_ULP = 4 / _FLOAT64
"""Beyond this distance, the expected number is negligible compared with the error."""
_DIGITS, _DIGITS_OF_64_BITS = 9, 17
"""Significant digits that distinguish a float32, and a float64, from all others."""


@dataclass(frozen=True)
class Difference:
    """The element of a result with the largest error.

    Attributes:
        index: the element's index.
        got: its value.
        expected: the expected value.
        ulp: the error in units of the last place; infinite if one is NaN or infinite and the other isn't.
        count: number of elements with too large an error.
        total: number of elements.
        digits: number of digits that distinguish numbers of the result's element type.
    """

    index: tuple[int, ...]
    got: float
    expected: float
    ulp: float
    count: int
    total: int
    digits: int = _DIGITS

    @property
    def kind(self) -> str:
        """The kind of error: a lost NaN or infinity, an unexpected one, or a wrong value."""
        if math.isnan(self.expected):
            return "nan-lost"
        if math.isinf(self.expected):
            return "inf-lost"
        return "wrong-value" if math.isfinite(self.got) else "not-finite"

    def __str__(self) -> str:
        """Describe the difference in one sentence."""
        place = ", ".join(map(str, self.index))
        return (
            f"element [{place}] is {self._shown(self.got)}, expected {self._shown(self.expected)} ({self._off}); "
            f"{self.count} of {self.total} elements are wrong"
        )

    @property
    def _off(self) -> str:
        """The error in ulp, or the absolute error if all numbers should be zero, where ulp are meaningless."""
        if self.ulp == float("inf"):
            return "not of the same kind"
        if self.ulp > _MOST_ULP:
            return f"{abs(self.got - self.expected):.3g} off"
        return f"{self.ulp:.3g} ulp off"

    def _shown(self, number: float) -> str:
        """Format a number with the fewest digits that read back as the same number."""
        texts = [f"{number:.{digits}g}" for digits in range(_DIGITS, self.digits + 1)]
        return next((text for text in texts if float(text) == number), texts[-1])


def ulp_distance(got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Return each element's distance in ulp of `got`'s element type; infinite if only one value is NaN.

    The unit is that of the element's magnitude plus the tensor's mean magnitude: a small difference of large terms has
    the terms' absolute error. A value that `got`'s type can't represent may be infinite in `got`.
    """
    if got.dtype.is_floating_point and got.element_size() == 1:
        expected = expected.to(got.dtype)  # which rounds, and saturates, as the type does
    if got.dtype is torch.float4_e2m1fn_x2:
        got, expected = got.view(torch.uint8), expected.view(torch.uint8)
    if not got.dtype.is_floating_point and not got.dtype.is_complex:
        return torch.where(got == expected.to(got.dtype), 0.0, float("inf")).to(torch.float64)
    info = torch.finfo(got.dtype)
    wide = torch.complex128 if got.dtype.is_complex else torch.float64
    a, exact = got.detach().to(wide), expected.detach().to(wide)
    b = exact
    if got.dtype.is_complex:
        rounded = exact.to(got.dtype).to(wide)
        b = torch.where(torch.isfinite(rounded), b, rounded)
    else:
        b = torch.where(b.abs() > info.max, b.sign() * float("inf"), b)
    size = b.abs()
    finite = size[torch.isfinite(size)]
    scale = size + (finite.mean() if finite.numel() else 0.0)
    ulp = (a - b).abs() / (scale * max(info.eps, _FLOAT64)).clamp_min(info.tiny)
    same = (a == b) | (torch.isnan(a) & torch.isnan(b))
    if got.dtype.is_complex:  # which part is infinite or NaN differs from library to library
        same |= ~torch.isfinite(a) & ~torch.isfinite(b)
    ulp = torch.where(same, 0.0, torch.where(torch.isfinite(a.abs()) & torch.isfinite(b.abs()), ulp, float("inf")))
    return _with_rounding_to_infinity(ulp, a, exact, info)


def worst_difference(got: torch.Tensor, expected: torch.Tensor, allowed: float | None = None) -> Difference | None:
    """Return the element with the largest error, if any exceeds the tolerance.

    Args:
        got: the result.
        expected: the expected result, of the same shape, and at least as exact.
        allowed: the tolerance in ulp of `got`'s type; None: that of `ULP`.
    """
    if not got.numel():
        return None
    limit = ULP.get(got.dtype, 64.0) if allowed is None else allowed
    ulp = ulp_distance(got, expected)
    wrong = ~(ulp <= limit)
    if not bool(wrong.any()):
        return None
    worst = int(torch.where(torch.isnan(ulp), float("inf"), ulp).argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), got.shape)) if got.dim() else ()
    one, other = _number(got[index]), _number(expected[index])
    if got.dtype.is_floating_point and abs(other) > (1 + 4 * torch.finfo(got.dtype).eps) * torch.finfo(got.dtype).max:
        other = math.copysign(math.inf, other)
    digits = _DIGITS if got.dtype.itemsize < torch.float64.itemsize else _DIGITS_OF_64_BITS
    return Difference(index, one, other, float(ulp[index]), int(wrong.sum()), got.numel(), digits)


def count_sign_changes(one: torch.Tensor, other: torch.Tensor) -> int:
    """Count the elements that are zero in both tensors, with different signs."""
    if not one.dtype.is_floating_point or one.element_size() == 1:
        return 0
    both = (one == 0) & (other == 0)
    return int((both & (torch.signbit(one) != torch.signbit(other))).sum())


def equal_with_nan(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether all elements are equal; NaN equals NaN."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    same = (one == other) | ((one != one) & (other != other))  # noqa: PLR0124
    return bool(same.all())


def _with_rounding_to_infinity(
    ulp: torch.Tensor, a: torch.Tensor, exact: torch.Tensor, info: torch.finfo
) -> torch.Tensor:
    """Treat infinity and the largest number as neighbours."""
    if a.is_complex():
        return ulp
    relative = (exact.abs() / info.max - 1).abs()
    near = (a.sign() == exact.sign()) & (a.abs() >= info.max) & (relative <= 4 * max(info.eps, _FLOAT64))
    return torch.where(near, 0.0, ulp)


def _number(element: torch.Tensor) -> float:
    return float(element.real if element.is_complex() else element)
