"""How far a result is from what it should be, in units of its element type's last place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch

ULP: Mapping[torch.dtype, float] = {torch.float64: 64.0, torch.float32: 64.0, torch.float16: 8.0, torch.bfloat16: 8.0}
"""What is allowed: kernels compute halves in float and round once; others round at every step."""
_FLOAT64 = torch.finfo(torch.float64).eps
_MOST_ULP = 4 / _FLOAT64
"""What is expected is nothing beside what is so many units off."""
_DIGITS, _DIGITS_OF_64_BITS = 9, 17
"""They tell a float32, and a float64, from all others."""


@dataclass(frozen=True)
class Difference:
    """Where a result is farthest off.

    Attributes:
        index: the element.
        got: what it is.
        expected: what it should be.
        ulp: how far off, in units of the last place; infinite where one is NaN or infinite and the other isn't.
        count: how many elements are too far off.
        total: of how many.
        digits: with how many the two are told from their neighbours in the result's element type.
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
        """What is wrong with it: a NaN or an infinity that is lost, or one where there should be none; or its value."""
        if math.isnan(self.expected):
            return "nan-lost"
        if math.isinf(self.expected):
            return "inf-lost"
        return "wrong-value" if math.isfinite(self.got) else "not-finite"

    def __str__(self) -> str:
        """One sentence."""
        place = ", ".join(map(str, self.index))
        return (
            f"element [{place}] is {self._shown(self.got)}, expected {self._shown(self.expected)} ({self._off}); "
            f"{self.count} of {self.total} elements are wrong"
        )

    @property
    def _off(self) -> str:
        """Where all numbers should be zero, units of the last place are next to nothing."""
        if self.ulp == float("inf"):
            return "not of the same kind"
        if self.ulp > _MOST_ULP:
            return f"{abs(self.got - self.expected):.3g} off"
        return f"{self.ulp:.3g} ulp off"

    def _shown(self, number: float) -> str:
        """With no more digits than it takes to read the same number."""
        texts = [f"{number:.{digits}g}" for digits in range(_DIGITS, self.digits + 1)]
        return next((text for text in texts if float(text) == number), texts[-1])


def distance(got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """How far off each element is, in ulp of `got`'s element type; infinite where one is NaN and the other isn't.

    An element's last place is that of its own size plus the tensor's mean size: what is a small difference of large
    terms can't be as exact as it is small. A value that `got`'s type can't hold may be infinite there.
    """
    if not got.dtype.is_floating_point and not got.dtype.is_complex:
        return torch.where(got == expected.to(got.dtype), 0.0, float("inf")).to(torch.float64)
    info = torch.finfo(got.dtype)
    wide = torch.complex128 if got.dtype.is_complex else torch.float64
    a, exact = got.detach().to(wide), expected.detach().to(wide)
    b = exact
    if not got.dtype.is_complex:
        b = torch.where(b.abs() > info.max, b.sign() * float("inf"), b)
    size = b.abs()
    finite = size[torch.isfinite(size)]
    scale = size + (finite.mean() if finite.numel() else 0.0)
    ulp = (a - b).abs() / (scale * max(info.eps, _FLOAT64)).clamp_min(info.tiny)
    same = (a == b) | (torch.isnan(a) & torch.isnan(b))
    ulp = torch.where(same, 0.0, torch.where(torch.isfinite(a.abs()) & torch.isfinite(b.abs()), ulp, float("inf")))
    return _with_rounding_to_infinity(ulp, a, exact, info)


def difference(got: torch.Tensor, expected: torch.Tensor, allowed: float | None = None) -> Difference | None:
    """The element that is farthest off, if any is beyond what is allowed.

    Args:
        got: the result.
        expected: what it should be, of the same shape, at least as exact.
        allowed: how far off an element may be, in ulp of `got`'s type; None: what `ULP` says of it.
    """
    if not got.numel():
        return None
    limit = ULP.get(got.dtype, 64.0) if allowed is None else allowed
    ulp = distance(got, expected)
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


def other_zeros(one: torch.Tensor, other: torch.Tensor) -> int:
    """How many zeros of both have different signs."""
    if not one.dtype.is_floating_point:
        return 0
    both = (one == 0) & (other == 0)
    return int((both & (torch.signbit(one) != torch.signbit(other))).sum())


def identical(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether all elements are the same, NaN being the same as NaN."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    same = (one == other) | ((one != one) & (other != other))  # noqa: PLR0124
    return bool(same.all())


def _with_rounding_to_infinity(
    ulp: torch.Tensor, a: torch.Tensor, exact: torch.Tensor, info: torch.finfo
) -> torch.Tensor:
    """At the very end of the range, infinity and the largest number are neighbours; other infinities have none."""
    if a.is_complex():
        return ulp
    off = (exact.abs() / info.max - 1).abs()
    near = (a.sign() == exact.sign()) & (a.abs() >= info.max) & (off <= 4 * max(info.eps, _FLOAT64))
    return torch.where(near, 0.0, ulp)


def _number(element: torch.Tensor) -> float:
    return float(element.real if element.is_complex() else element)
