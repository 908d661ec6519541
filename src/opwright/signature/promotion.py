"""Type promotion by PyTorch's rules, for tensors of one type variable (``torch.result_type`` of any number of them).

Source of the rules: PyTorch's documentation, "Tensor Attributes", section on type promotion. Unlike NumPy's, they
look at a tensor's rank: a 0-dim tensor decides only where its kind (bool, integer, floating, complex) is above those of
all others.
"""

from __future__ import annotations

from collections.abc import Iterable

from opwright.signature.dtypes import DType

_SIGNED = {1: DType.I8, 2: DType.I16, 4: DType.I32, 8: DType.I64}
_UNSIGNED_WITHOUT_RULES = (DType.U16, DType.U32, DType.U64)  # PyTorch promotes them to floating types only


def kind(dtype: DType) -> int:
    """0 for bool, 1 for integers, 2 for floating point, 3 for complex."""
    if dtype.is_complex:
        return 3
    return 2 if dtype.is_floating else int(dtype.is_integer)


def promote(first: DType, second: DType) -> DType | None:
    """``torch.promote_types``; None where PyTorch refuses, and for complex types, which no operator takes."""
    if first is second:
        return first
    low, high = sorted((first, second), key=kind)
    if high.is_complex:
        return None
    if high.is_floating:
        return _promote_floating(low, high) if low.is_floating else high
    if low in _UNSIGNED_WITHOUT_RULES or high in _UNSIGNED_WITHOUT_RULES:
        return None
    return _promote_integers(low, high) if low.is_integer else high


def _promote_floating(first: DType, second: DType) -> DType:
    if {first, second} == {DType.F16, DType.BF16}:
        return DType.F32
    return max(first, second, key=lambda dtype: dtype.itemsize)


def _promote_integers(first: DType, second: DType) -> DType:
    if DType.U8 in (first, second):  # what holds both
        other = second if first is DType.U8 else first
        return _SIGNED[max(2, other.itemsize)]
    return max(first, second, key=lambda dtype: dtype.itemsize)


def result_type(tensors: Iterable[tuple[DType, int]]) -> DType | None:
    """What tensors of these element types and ranks are computed in; None where PyTorch refuses."""
    by_rank: tuple[list[DType], list[DType]] = ([], [])
    for dtype, rank in tensors:
        by_rank[rank > 0].append(dtype)
    scalars, others = map(_common, by_rank)
    if None in (scalars, others) and all(by_rank):
        return None
    if others is None or scalars is None:
        return others or scalars
    return promote(others, scalars) if kind(scalars) > kind(others) else others


def _common(types: list[DType]) -> DType | None:
    found: DType | None = None
    for index, dtype in enumerate(types):
        found = dtype if index == 0 else found and promote(found, dtype)
        if found is None:
            break
    return found
