"""Excuses for differing results: overflow and ill-conditioning.

A reference computes in float64. It can't judge an operator if the formula itself, computed in the operator's type,
overflows in an intermediate result, or if a change of the arguments in their last place changes the result by more than
the tolerance, as in a sum of which two large terms cancel each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from opwright.check.calls.cases import (
    Arguments,
    can_have_gradient,
    copy_arguments,
    copy_value,
    is_floating,
    largest_numel,
    most_frequent_index,
    most_repeated_values,
)
from opwright.check.calls.target_operator import BadReferenceError, TargetOperator
from opwright.check.values.ulp import ULP, ulp_distance

CallReference = Callable[[Arguments], Sequence[torch.Tensor]]

ROUNDINGS = 16.0
"""Rounding errors of an ill-conditioned result, as a multiple of the effect of the arguments' changes."""
_MAX_ULP = 8
"""Maximum change of an argument in units of the last place. Elements are changed by different amounts, because large
ones that cancel each other would otherwise still do so."""
DRAWS = 3
"""Draws of changed arguments: in a single one, two large numbers may get the same change."""
_FAR_STEP = 1024.0
"""Factor by which the second change of the arguments is larger."""
_MIN_GROWTH = 16.0
"""Minimum ratio of the second change's effect to the first's, unless the function jumps."""


def excuse_overflow(
    operator: TargetOperator, arguments: Arguments, got: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Replace `expected` by `got` for elements for which the reference overflows in the operator's compute type.

    Args:
        operator: the operator with the reference.
        arguments: the call's arguments, with their values before the call.
        got: the results, and the overwritten arguments.
        expected: the reference's results.
    """
    kind = compute_dtype(arguments)
    narrow = operator.reference_results(copy_arguments(arguments), kind) or ()
    expected = _excuse_overflowing_sums(operator, arguments, got, expected)
    huge = _may_overflow(arguments)
    itself = huge and kind == torch.float64  # then the reference itself may overflow
    return tuple(
        _excuse_overflow_of(*tensors, huge=huge, itself=itself) for tensors in zip(got, expected, narrow, strict=False)
    )


def excuse_ill_conditioned(
    refer: CallReference, arguments: Arguments, got: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Replace `expected` by `got` for elements that a change of the arguments in their last place moves as far.

    Args:
        refer: returns the expected results for other arguments, whose floating tensors are float64.
        arguments: the call's arguments, with their values before the call.
        got: the results, and the overwritten arguments.
        expected: the result of `refer` for `arguments`.

    An argument with many equal numbers, such as an expanded one, is changed by as many units as a term-by-term sum of
    them may be off: all terms are then rounded the same way, and x minus its mean consists of that error.
    """
    eps = torch.finfo(compute_dtype(arguments)).eps
    near, far = (_sensitivity(refer, arguments, expected, times * eps) for times in (1, _FAR_STEP))
    summed = _sum_perturbation(arguments, eps)
    near_sums = near if summed == eps else _sensitivity(refer, arguments, expected, summed)
    compared = zip(got, expected, near, far, near_sums, strict=False)
    return tuple(_excuse_ill_conditioned_of(one, other, *steps) for one, other, *steps in compared)


def _sum_perturbation(arguments: Arguments, eps: float) -> float:
    """Return the relative change of the terms of a sum: n / 2 units of the last place for n terms.

    A term that an index adds to an element of an overwritten tensor is rounded to the tensor's own type each time,
    which may be float16 or bfloat16. Other sums are computed in the compute type, whose unit is `eps`.
    """
    collected = most_frequent_index(arguments)
    kinds = [v.dtype for v in arguments.values() if is_floating(v)]
    own_eps = max((torch.finfo(kind).eps for kind in kinds), default=eps) if collected > 1 else eps
    return max(eps, most_repeated_values(arguments) / 2 / _MAX_ULP * eps, collected / 2 / _MAX_ULP * own_eps)


def compute_dtype(arguments: Arguments) -> torch.dtype:
    """Return the type in which a kernel computes: float32 for float16, bfloat16 and 8-bit floats."""
    dtypes = [v.dtype for v in arguments.values() if is_floating(v) and can_have_gradient(v)]
    return functools.reduce(torch.promote_types, dtypes, torch.float32)


def _excuse_overflow_of(
    got: torch.Tensor, expected: torch.Tensor, narrow: torch.Tensor, *, huge: bool, itself: bool
) -> torch.Tensor:
    """Excuse one result. For example, 3 x - y is minus infinity for huge x and infinite y, but NaN in the type of x.

    `narrow`: the reference's result in the operator's compute type. `huge`: whether an argument is so large that an
    intermediate overflow may change a result to another finite number, as a quotient by infinity is zero. `itself`:
    whether the reference may overflow in float64, so that its result is infinite (with either sign) or NaN.
    """
    expected, narrow = _computable(expected), _computable(narrow)
    if not _comparable(got, expected, narrow):
        return expected
    same = ulp_distance(got, narrow) <= ULP.get(got.dtype, 64.0)
    lost = torch.isfinite(expected) & ~torch.isfinite(narrow)  # the result can't be predicted then
    differs = (narrow.to(expected.dtype) - expected).abs() > ULP[torch.float32] * torch.finfo(
        narrow.dtype
    ).eps * expected.abs()
    lost |= huge & torch.isfinite(expected) & differs
    lost |= itself & ~torch.isfinite(expected)
    wide = got.to(expected.dtype)
    return torch.where((same | lost) & (wide != expected), wide, expected)


def _excuse_overflowing_sums(
    operator: TargetOperator, arguments: Arguments, got: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Replace `expected` by `got` for elements whose sum overflows in one order of its terms, and not in another.

    This is possible if the sum would overflow with the magnitudes of its finite terms. The reference may sum in
    float64, whatever the type of its arguments, and return the mean, so its result is multiplied by the number of
    terms.
    """
    kind = compute_dtype(arguments)
    most, itself = largest_numel(arguments), kind == torch.float64  # as in the reference's own sums
    lost = [
        ~torch.isfinite(one) & (itself | ~torch.isnan(other)) & (one.numel() < most)
        if _comparable(one, other)
        else torch.zeros_like(other, dtype=torch.bool)
        for one, other in zip(got, expected, strict=True)
    ]
    if not any(bool(mask.any()) for mask in lost):
        return tuple(expected)
    try:
        sizes = (
            operator.reference_results({name: _finite_magnitude(value) for name, value in arguments.items()}, kind)
            or ()
        )
    except BadReferenceError:  # it doesn't accept the magnitudes: nothing is excused
        return tuple(expected)
    return tuple(
        torch.where(mask & ~torch.isfinite((size * (most // one.numel())).to(kind)), one.to(other.dtype), other)
        if size.shape == one.shape and one.numel()
        else other
        for one, other, size, mask in zip(got, expected, sizes, lost, strict=True)
    )


def _finite_magnitude(value: Any) -> Any:
    """Return the magnitudes of the finite numbers, and 0 for others."""
    return torch.nan_to_num(value.abs(), nan=0.0, posinf=0.0) if is_floating(value) else copy_value(value)


def _sensitivity(
    refer: CallReference, arguments: Arguments, expected: Sequence[torch.Tensor], by: float
) -> list[torch.Tensor]:
    """Return the largest change of each expected element if the arguments change by a relative amount of `by`."""
    distances = [torch.zeros_like(one, dtype=torch.float64) for one in expected]
    for draw in range(DRAWS):
        results = refer(perturbed(arguments, by, draw))
        for k, (one, other) in enumerate(zip(results, expected, strict=False)):
            if is_floating(one) and one.shape == other.shape:
                distances[k] = torch.maximum(distances[k], (one.double() - other.double()).abs())  # NaN stays NaN
    return distances


def _excuse_ill_conditioned_of(
    got: torch.Tensor, expected: torch.Tensor, near: torch.Tensor, far: torch.Tensor, near_sums: torch.Tensor
) -> torch.Tensor:
    """Excuse one result by how much the reference's result changes if the arguments change in their last places.

    At a jump of the function, `near` and `far` are the same: the side of the jump isn't a matter of rounding.
    `near_sums`: like `near`, for equal numbers that are summed one by one, which are all rounded the same way.
    """
    expected = _computable(expected)
    if not _comparable(got, expected):
        return expected
    wide = got.to(expected.dtype)
    reach = torch.maximum(near, near_sums)
    excused = ((wide - expected).abs() <= ROUNDINGS * reach) & (far >= _MIN_GROWTH * near) & torch.isfinite(reach)
    return torch.where(excused & (wide != expected), wide, expected)  # equal zeros may have different signs


def _may_overflow(arguments: Arguments) -> bool:
    """Return whether a product or sum of the numbers may overflow."""
    tensors = [v for v in arguments.values() if is_floating(v) and can_have_gradient(v)]
    return any(bool((torch.isfinite(v) & (v.abs() > torch.finfo(v.dtype).max ** 0.5)).any()) for v in tensors)


def _comparable(got: torch.Tensor, *others: torch.Tensor) -> bool:
    return is_floating(got) and all(other.shape == got.shape for other in others)


def _computable(value: torch.Tensor) -> torch.Tensor:
    """Return 8-bit floats, which have no arithmetic, as float32; any other tensor as it is."""
    return value.float() if is_floating(value) and not can_have_gradient(value) else value


def perturbed(arguments: Arguments, by: float, draw: int) -> Arguments:
    """Change each floating number by a small multiple of `by`, relatively; 0 stays, and finite numbers stay finite."""
    generator = torch.Generator().manual_seed(draw)

    def moved(value: Any) -> Any:
        """Return a copy; of a floating tensor, with each element moved by its own number of steps."""
        if not is_floating(value):
            return copy_value(value)
        random_steps = torch.randint(0, 2 * _MAX_ULP, value.shape, generator=generator, dtype=torch.float64)
        steps = torch.where(random_steps < _MAX_ULP, random_steps - _MAX_ULP, random_steps - _MAX_ULP + 1).to(
            value.device
        )
        wide = value.to(torch.float64)
        there = wide * (1 + by * steps)
        return torch.where(torch.isinf(there), wide * (1 - by * steps.abs()), there)

    return {name: moved(value) for name, value in arguments.items()}
