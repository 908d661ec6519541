from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
import torch

from opwright.signature import DEFAULT_TYPES, TypeRef
from opwright.signature.dtypes import BY_ANY_NAME, DType, promote, result_type


def test_torch_agrees() -> None:
    torch = pytest.importorskip("torch")
    assert len(DType) == 21
    for dtype in DType:
        theirs = getattr(torch, dtype.torch_name)
        assert theirs.itemsize == dtype.itemsize
        assert theirs.is_floating_point == dtype.is_floating
        assert theirs.is_complex == dtype.is_complex
        assert dtype.only_converts == (theirs.is_floating_point and theirs.itemsize == 1)
        assert dtype.is_differentiable == ((theirs.is_floating_point or theirs.is_complex) and not dtype.only_converts)
        if dtype.is_integer:
            assert theirs.is_signed != dtype.is_unsigned
        assert BY_ANY_NAME[dtype.torch_name] is BY_ANY_NAME[dtype.value] is dtype


def test_codes() -> None:
    codes = {
        "u8": 0,
        "i8": 1,
        "i16": 2,
        "i32": 3,
        "i64": 4,
        "f16": 5,
        "f32": 6,
        "f64": 7,
        "c64": 9,
        "c128": 10,
        "bool": 11,
        "bf16": 15,
        "f8e5m2": 23,
        "f8e4m3fn": 24,
        "f8e5m2fnuz": 25,
        "f8e4m3fnuz": 26,
        "f8e8m0": 44,
        "f4x2": 45,
        "u16": 27,
        "u32": 28,
        "u64": 29,
    }
    assert {dtype.value: dtype.code for dtype in DType} == codes
    assert [dtype.ctype for dtype in (DType.F32, DType.BF16, DType.I64, DType.BOOL, DType.C64)] == [
        "float",
        "opwright::bfloat16",
        "int64_t",
        "bool",
        "opwright::complex64",
    ]


def test_kinds() -> None:
    assert DEFAULT_TYPES == (DType.F32, DType.F64, DType.F16, DType.BF16)
    short = {dtype for dtype in DType if dtype.accumulate is not dtype}
    assert short == {DType.F16, DType.BF16, *(dtype for dtype in DType if dtype.only_converts)}
    assert {dtype.accumulate for dtype in short} == {DType.F32}
    assert [str(dtype) for dtype in DType if dtype.is_integer] == ["u8", "i8", "i16", "i32", "i64", "u16", "u32", "u64"]


def test_references() -> None:
    types = {"T": DType.F16}
    assert TypeRef("var", "T").resolve(types) is DType.F16
    assert TypeRef("acc", "T").resolve(types) is DType.F32
    assert TypeRef("dtype", "i64").resolve({}) is DType.I64
    with pytest.raises(KeyError):
        TypeRef("var", "U").resolve(types)


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


@pytest.mark.sampled(7)
@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), list(itertools.product(DType, DType)), ids=str)
def test_pairs(first: DType, second: DType) -> None:
    try:
        expected = str(torch.promote_types(getattr(torch, first.torch_name), getattr(torch, second.torch_name)))
    except RuntimeError:
        expected = "None"
    if first is not second and DType.F4X2 in (first, second):  # PyTorch names a type that it can't convert to
        assert promote(first, second) is None
        return
    found = promote(first, second)
    assert str(found and found.torch_name) == expected.removeprefix("torch.")
    for ranks in itertools.product((0, 1, 3), repeat=2):
        tensors = list(zip((first, second), ranks, strict=True))
        both = result_type(tensors)
        promoted = theirs(tensors)
        if promoted is torch.complex32:  # which no kernel has
            promoted = None
        assert (both and getattr(torch, both.torch_name)) == promoted, tensors


def test_several_of_one_rank() -> None:
    types = [d for d in DType if d not in (DType.U16, DType.U32, DType.U64) and not d.only_converts]
    rng = random.Random(0)
    for _ in range(300):
        tensors = [(rng.choice(types), 2) for _ in range(rng.randint(1, 4))]
        found = result_type(tensors)
        assert found is not None
        assert getattr(torch, found.torch_name) == theirs(tensors), tensors
