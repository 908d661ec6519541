"""Promotion is PyTorch's: every pair and triple of element types, with and without axes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
import torch

from opwright.signature.dtypes import DType
from opwright.signature.promotion import promote, result_type

REAL = [dtype for dtype in DType if not dtype.is_complex]


def theirs(tensors: Sequence[tuple[DType, int]]) -> torch.dtype | None:
    """What PyTorch computes in; None where it refuses."""
    made = [torch.zeros([1] * rank, dtype=getattr(torch, dtype.torch_name)) for dtype, rank in tensors]
    found = made[0]
    try:
        if len(made) == 2:
            return torch.result_type(*made)
        for other in made[1:]:  # torch.where and torch.cat don't take 0-dim tensors as such; addcmul takes three
            found = torch.add(found, other)
    except RuntimeError:
        return None
    return found.dtype


@pytest.mark.parametrize(("first", "second"), list(itertools.product(REAL, REAL)), ids=str)
def test_pairs(first: DType, second: DType) -> None:
    try:
        expected = str(torch.promote_types(getattr(torch, first.torch_name), getattr(torch, second.torch_name)))
    except RuntimeError:
        expected = "None"
    found = promote(first, second)
    assert str(found and found.torch_name) == expected.removeprefix("torch.")
    for ranks in itertools.product((0, 1, 3), repeat=2):
        tensors = list(zip((first, second), ranks, strict=True))
        both = result_type(tensors)
        assert (both and getattr(torch, both.torch_name)) == theirs(tensors), tensors


def test_several_of_one_rank() -> None:
    types = [dtype for dtype in REAL if dtype not in (DType.U16, DType.U32, DType.U64)]
    rng = random.Random(0)
    for _ in range(300):
        tensors = [(rng.choice(types), 2) for _ in range(rng.randint(1, 4))]
        found = result_type(tensors)
        assert found is not None
        assert getattr(torch, found.torch_name) == theirs(tensors), tensors


def test_no_complex_type_has_a_rule() -> None:
    assert promote(DType.C64, DType.F32) is None
    assert result_type([(DType.F32, 1), (DType.C64, 0)]) is None
