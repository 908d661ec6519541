"""What a reference says of a call, and where the call's own rounding excuses another answer.

A reference computes in float64. It is no judge of what an operator does where the formula itself, computed in the
operator's type, overflows halfway, or where a change of the arguments in their last place changes the result beyond all
that is compared: the sum of numbers of which two large ones cancel each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from opwright.check.compare import ULP, distance
from opwright.check.inputs import Arguments, all_copied, copied, most_collected, most_elements, most_equal
from opwright.check.returned import BadReferenceError
from opwright.check.subject import Subject

Refer = Callable[[Arguments], Sequence[torch.Tensor]]

_ROUNDINGS = 16.0
"""How many changes of the arguments a result's own roundings may be worth, where it is ill-conditioned."""
_MOST = 8
"""By how many units of the last place an argument is changed at most: not all by the same, or large ones that cancel
each other would go on doing so."""
_DRAWS = 3
"""How many ways the arguments are changed: of one, two large numbers may get the same."""
_FAR = 1024.0
"""How many times as large the second change of the arguments is."""
_GROWS = 16.0
"""By how much more the second change shows, at least, where it is no jump."""


def overflowed(
    subject: Subject, arguments: Arguments, got: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """`expected`, but what was got where the reference, in the type in which the operator computes, overflows.

    Args:
        subject: whose reference it is.
        arguments: the call's, with their values before it.
        got: the results, and what was overwritten.
        expected: what the reference gives for them.
    """
    kind = computed_in(arguments)
    narrow = subject.referred(all_copied(arguments), kind) or ()
    expected = _summed_halfway(subject, arguments, got, expected)
    huge = _any_huge(arguments)
    itself = huge and kind == torch.float64  # then it may be the reference that overflows
    return tuple(_overflowed(*each, huge=huge, itself=itself) for each in zip(got, expected, narrow, strict=False))


def excused(
    refer: Refer, arguments: Arguments, got: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """`expected`, but what was got where a change of the arguments in their last place moves it as far.

    Args:
        refer: gives what is expected for other arguments, whose floating tensors are float64.
        arguments: the call's, with their values before it.
        got: the results, and what was overwritten.
        expected: what `refer` gives for `arguments`.

    Where one has many equal numbers, as expanded ones do, it is changed by as many units as a sum of them, one by one,
    may lose: then all terms are rounded the same way, and what is left of x minus the mean is that error.
    """
    eps = torch.finfo(computed_in(arguments)).eps
    near, far = (_reached(refer, arguments, expected, times * eps) for times in (1, _FAR))
    summed = _of_sums(arguments, eps)
    near_sums = near if summed == eps else _reached(refer, arguments, expected, summed)
    every = zip(got, expected, near, far, near_sums, strict=False)
    return tuple(_ill_conditioned(one, other, *steps) for one, other, *steps in every)


def _of_sums(arguments: Arguments, eps: float) -> float:
    """By which share of it the terms of a sum are changed: of n terms by n / 2 units of the last place, at most.

    What is added to the elements of an overwritten tensor, where indices say, is rounded to its own type each time,
    which may be a half; other sums are taken in the type that is computed in, whose unit is `eps`.
    """
    collected = most_collected(arguments)
    kinds = [v.dtype for v in arguments.values() if isinstance(v, torch.Tensor) and v.is_floating_point()]
    own = max((torch.finfo(kind).eps for kind in kinds), default=eps) if collected > 1 else eps
    return max(eps, most_equal(arguments) / 2 / _MOST * eps, collected / 2 / _MOST * own)


def computed_in(arguments: Arguments) -> torch.dtype:
    """The type in which a kernel computes: float32 for halves."""
    kinds = [value.dtype for value in arguments.values() if isinstance(value, torch.Tensor)]
    return functools.reduce(torch.promote_types, [k for k in kinds if k.is_floating_point], torch.float32)


def _overflowed(
    got: torch.Tensor, expected: torch.Tensor, narrow: torch.Tensor, *, huge: bool, itself: bool
) -> torch.Tensor:
    """3 x - y is minus infinity where x is the largest number and y infinite; in the type of x it is NaN.

    `narrow` is what the reference gives in the type in which the operator computes; `huge`: whether it may be another
    number because something overflowed halfway, and what was divided by that is zero; `itself`: whether what it gives
    in float64 may be infinite, with either sign, or NaN for no other reason.
    """
    if not _comparable(got, expected, narrow):
        return expected
    same = distance(got, narrow) <= ULP.get(got.dtype, 64.0)
    lost = torch.isfinite(expected) & ~torch.isfinite(narrow)  # nobody can tell then in which way
    off = (narrow.to(expected.dtype) - expected).abs() > ULP[torch.float32] * torch.finfo(
        narrow.dtype
    ).eps * expected.abs()
    lost |= huge & torch.isfinite(expected) & off
    lost |= itself & ~torch.isfinite(expected)
    wide = got.to(expected.dtype)
    return torch.where((same | lost) & (wide != expected), wide, expected)


def _summed_halfway(
    subject: Subject, arguments: Arguments, got: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """`expected`, but what was got where a sum overflows in one order of its terms, and not in another.

    That it may do where it would if all terms were finite and positive. The reference may sum in float64, whatever it
    is given, and give the mean: then the sum is as many times as large as it has terms.
    """
    kind = computed_in(arguments)
    most, itself = most_elements(arguments), kind == torch.float64  # as the reference's own sums do
    lost = [
        ~torch.isfinite(one) & (itself | ~torch.isnan(other)) & (one.numel() < most)
        if _comparable(one, other)
        else torch.zeros_like(other, dtype=torch.bool)
        for one, other in zip(got, expected, strict=True)
    ]
    if not any(bool(each.any()) for each in lost):
        return tuple(expected)
    try:
        sizes = subject.referred({name: _size(value) for name, value in arguments.items()}, kind) or ()
    except BadReferenceError:  # it doesn't take those: nothing is excused
        return tuple(expected)
    return tuple(
        torch.where(each & ~torch.isfinite((size * (most // one.numel())).to(kind)), one.to(other.dtype), other)
        if size.shape == one.shape and one.numel()
        else other
        for one, other, size, each in zip(got, expected, sizes, lost, strict=True)
    )


def _size(value: Any) -> Any:
    """How large each number is that is finite."""
    is_floating = isinstance(value, torch.Tensor) and value.dtype.is_floating_point
    return torch.nan_to_num(value.abs(), nan=0.0, posinf=0.0) if is_floating else copied(value)


def _reached(refer: Refer, arguments: Arguments, expected: Sequence[torch.Tensor], by: float) -> list[torch.Tensor]:
    """How far each element is, at most, from what is expected for arguments that are a share `by` away."""
    found = [torch.zeros_like(one, dtype=torch.float64) for one in expected]
    for draw in range(_DRAWS):
        given = refer(_moved(arguments, by, draw))
        for k, (one, other) in enumerate(zip(given, expected, strict=False)):
            if one.dtype.is_floating_point and one.shape == other.shape:
                found[k] = torch.maximum(found[k], (one - other).abs().double())  # NaN stays NaN
    return found


def _ill_conditioned(
    got: torch.Tensor, expected: torch.Tensor, near: torch.Tensor, far: torch.Tensor, near_sums: torch.Tensor
) -> torch.Tensor:
    """`near` and `far` say how far the reference goes where the arguments are other ones in their last places.

    Where a function jumps, both are the same: on which side of the jump a number lies is no matter of rounding.
    `near_sums`: as `near`, where equal numbers may have been summed one by one, which are all rounded the same way.
    """
    if not _comparable(got, expected):
        return expected
    wide = got.to(expected.dtype)
    reach = torch.maximum(near, near_sums)
    excused = ((wide - expected).abs() <= _ROUNDINGS * reach) & (far >= _GROWS * near) & torch.isfinite(reach)
    return torch.where(excused & (wide != expected), wide, expected)  # equal zeros may have different signs


def _any_huge(arguments: Arguments) -> bool:
    """Whether a product of two of the numbers, or a sum of some, overflows."""
    tensors = [v for v in arguments.values() if isinstance(v, torch.Tensor) and v.is_floating_point()]
    return any(bool((torch.isfinite(v) & (v.abs() > torch.finfo(v.dtype).max ** 0.5)).any()) for v in tensors)


def _comparable(got: torch.Tensor, *others: torch.Tensor) -> bool:
    return got.dtype.is_floating_point and all(other.shape == got.shape for other in others)


def _moved(arguments: Arguments, by: float, draw: int) -> Arguments:
    """Each floating number another one, by a share of a few times `by`; 0 as it is. No finite one becomes infinite."""
    generator = torch.Generator().manual_seed(draw)

    def moved(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.dtype.is_floating_point:
            return copied(value)
        drawn = torch.randint(0, 2 * _MOST, value.shape, generator=generator, dtype=torch.float64)
        steps = torch.where(drawn < _MOST, drawn - _MOST, drawn - _MOST + 1).to(value.device)
        wide = value.to(torch.float64)
        there = wide * (1 + by * steps)
        return torch.where(torch.isinf(there), wide * (1 - by * steps.abs()), there)

    return {name: moved(value) for name, value in arguments.items()}
