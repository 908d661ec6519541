"""What TH refuses ends in an error, with the argument's number and both sizes; nothing ends in a crash."""

from __future__ import annotations

import contextlib
import itertools
import zlib
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.legacy.case import Case
from tests.legacy.cases import CASES
from tests.legacy.drawing import Array, Draw, InOut, Out, Sizes
from tests.legacy.th import DTYPES, TH, Held, THError, th

ones = torch.ones
LONG = torch.int64
BAD: list[tuple[str, tuple[Any, ...], str]] = [
    ("reshape", (Out(), ones(0), Sizes((2**40, 2**40))), "a tensor of these sizes doesn't fit in memory"),
    ("sum", (Out(), ones(2, 3), 2, 0), "invalid argument 3: dimension 2 out of range of 2D tensor"),
    ("sum", (Out(), ones(2, 3), -1, 0), "invalid argument 3: dimension -1 out of range of 2D tensor"),
    ("sum", (Out(), ones(0), 0, 0), "invalid argument 3: dimension 0 out of range of 0D tensor"),
    ("max", (Out(), Out(LONG), ones(2, 3), 5, 0), "invalid argument 4: dimension 5 out of range"),
    ("max", (Out(), Out(LONG), ones(2, 0), 1, 0), "non-zero size"),
    ("cadd", (Out(), ones(2, 3), 1, ones(4)),
     "invalid argument 4: inconsistent tensor size: expected 6 elements, got 4"),
    ("cmul", (Out(), ones(2, 3), ones(2, 4)),
     "invalid argument 3: inconsistent tensor size: expected 6 elements, got 8"),
    ("copy", (InOut(ones(2, 3)), ones(5)), "invalid argument 2: sizes do not match: 6 elements, got 5"),
    ("addmm", (Out(), 1, ones(2, 2), 1, ones(2, 3), ones(2, 2)), "inner dimensions are 3 and 2"),
    ("addmm", (Out(), 1, ones(2, 3), 1, ones(2, 3), ones(3, 2)), "invalid argument 3: size mismatch"),
    ("addmm", (Out(), 1, ones(2, 2), 1, ones(2), ones(2, 2)), "invalid argument 5: expected 2D tensor, got 1D"),
    ("addmv", (Out(), 1, ones(2), 1, ones(2, 3), ones(2, 2)), "invalid argument 6: expected 1D tensor, got 2D"),
    ("baddbmm", (Out(), 1, ones(1, 2, 2), 1, ones(1, 2, 3), ones(2, 3, 2)), "batches of one length, got 1 and 2"),
    ("indexSelect", (Out(), ones(2, 3), 1, torch.tensor([0, 3])),
     "invalid argument 4: index 3 is out of range: the dimension has 3 elements"),
    ("indexSelect", (Out(), ones(2, 3), 1, torch.tensor([-1])), "invalid argument 4: index -1 is out of range"),
    ("indexSelect", (Out(), ones(2, 3), 1, torch.tensor([[0]])),
     "invalid argument 4: expected an index of one dimension, got 2"),
    ("indexCopy", (InOut(ones(2, 3)), 0, torch.tensor([0, 1]), ones(1, 3)), "invalid argument 4: expected 2 slices"),
    ("indexAdd", (InOut(ones(2, 3)), 0, torch.tensor([2]), ones(1, 3)), "invalid argument 3: index 2 is out of range"),
    ("indexFill", (InOut(ones(2, 3)), 0, torch.tensor([-1]), 1), "invalid argument 3: index -1 is out of range"),
    ("gather", (Out(), ones(2, 3), 1, torch.tensor([[3]])), "invalid argument 4: index 3 is out of range"),
    ("gather", (Out(), ones(2, 3), 1, torch.tensor([1])),
     "invalid argument 4: expected an index of 2 dimensions, got 1"),
    ("scatter", (InOut(ones(2, 3)), 1, torch.tensor([[3]]), ones(1, 1)), "invalid argument 3: index 3 is out of range"),
    ("scatterFill", (InOut(ones(2, 3)), 1, torch.tensor([[-1]]), 1), "invalid argument 3: index -1 is out of range"),
    ("take", (Out(), ones(2, 3), torch.tensor([6])), "out of range"),
    ("put", (InOut(ones(2, 3)), torch.tensor([6]), ones(1), 0), "out of range"),
    ("put", (InOut(ones(2, 3)), torch.tensor([1, 2]), ones(1), 0), "invalid argument 3: inconsistent tensor size"),
    ("maskedFill", (InOut(ones(3)), torch.tensor([0, 2, 1], dtype=torch.uint8), 1), "a mask can only hold 0 and 1"),
    ("maskedCopy", (InOut(ones(3)), ones(3, dtype=torch.uint8), ones(2)), "the mask has 3 ones, the source only 2"),
    ("maskedSelect", (Out(), ones(3), ones(4, dtype=torch.uint8)), "invalid argument 3: inconsistent tensor size"),
    ("minall", (ones(0),), "invalid argument 1: expected at least one element"),
    ("trace", (ones(3),), "invalid argument 1: expected a matrix, got 1D tensor"),
    ("diag", (Out(), ones(2, 2, 2), 0), "invalid argument 2: expected a matrix or a vector, got 3D tensor"),
    ("tril", (Out(), ones(3), 0), "invalid argument 2: expected a matrix, got 1D tensor"),
    ("reshape", (Out(), ones(2, 3), Sizes((5,))), "sizes do not match: 5 elements can't be had from 6"),
    ("cat", (Out(), ones(2, 3), ones(2, 3), 2), "invalid argument 4: dimension 2 out of range of 2D tensor"),
    ("cat", (Out(), ones(2, 3), ones(3, 3), 1), "Sizes of tensors must match"),
    ("catArray", (Out(), Array([ones(2)]), 0, 0), "expected at least one tensor to join, got 0"),
    ("topk", (Out(), Out(LONG), ones(2, 3), 4, 1, 1, 1), "invalid argument 4: k is 4, the dimension has 3 elements"),
    ("kthvalue", (Out(), Out(LONG), ones(2, 3), 4, 1, 1), "out of range"),
    ("cross", (Out(), ones(3, 2), ones(3, 2), 1), "invalid argument 4: dimension 1 does not have size 3, but 2"),
    ("cross", (Out(), ones(2, 2), ones(2, 2), -1), "no dimension of size 3"),
    ("eye", (Out(), 0, 0), "invalid argument 2: expected at least one row, got 0"),
    ("arange", (Out(), 0, 5, -1), "step"),
    ("arange", (Out(), 0, 5, 0), "step"),
    ("match", (Out(), ones(2, 3), ones(2, 2), 1), "inner dimensions are 3 and 2"),
    ("zeros", (Out(), Sizes((-1, 2))), "a tensor can't have a negative size: -1"),
]  # fmt: skip


@pytest.fixture(scope="module")
def lib() -> TH:
    return th()


class Given:
    """Arguments in C, kept alive."""

    def __init__(self, lib: TH, dtype: torch.dtype, values: tuple[Any, ...]) -> None:
        self.lib, self.dtype = lib, dtype
        self.kept = [self._made(value) for value in values]

    def _made(self, value: Any) -> Any:
        if isinstance(value, Out):
            return Held(self.lib, None, dtype=value.dtype or self.dtype)
        if isinstance(value, InOut):
            return self._made(value.value)
        if isinstance(value, Sizes):
            return self.lib.sizes(value.sizes)
        if isinstance(value, Array):
            self.parts = [self._made(each) for each in value.tensors]
            return self.lib.ffi.new("void *[]", [each.pointer for each in self.parts])
        if isinstance(value, Tensor):
            return self.lib.tensor(value.to(self.dtype) if value.dtype == torch.float32 else value)
        return value

    def call(self, name: str) -> Any:
        return self.lib.call(f"TH{DTYPES[self.dtype]}Tensor_{name}", *self.kept)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32], ids=str)
@pytest.mark.parametrize(("name", "values", "text"), BAD, ids=[f"{n}-{i}" for i, (n, _v, _t) in enumerate(BAD)])
def test_bad_arguments(lib: TH, dtype: torch.dtype, name: str, values: tuple[Any, ...], text: str) -> None:
    with pytest.raises(THError, match=text):
        Given(lib, dtype, values).call(name)


FLOATING_BAD: list[tuple[str, tuple[Any, ...], str]] = [
    ("bitand", (Out(), ones(2), 1), "bitand is only supported for integer type tensors"),
    ("cbitxor", (Out(), ones(2), ones(2)), "cbitxor is only supported for integer type tensors"),
    ("meanall", (ones(0),), "invalid argument 1: expected at least one element"),
    ("histc", (Out(), ones(2), 0, 0, 1), "invalid argument 3: expected at least one bin, got 0"),
    ("bhistc", (Out(), ones(2, 2, 2), 2, 0, 1), "invalid argument 2: expected one or two dimensions, got 3"),
    ("linspace", (Out(), 0, 1, 1), "invalid argument 3: expected at least 2 points, got 1"),
    ("polygamma", (Out(), -1, ones(2)), "does not support negative n"),
]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize(("name", "values", "text"), FLOATING_BAD, ids=[n for n, _v, _t in FLOATING_BAD])
def test_bad_arguments_of_floating_types(
    lib: TH, dtype: torch.dtype, name: str, values: tuple[Any, ...], text: str
) -> None:
    with pytest.raises(THError, match=text):
        Given(lib, dtype, values).call(name)


INTEGERS = [dtype for dtype in DTYPES if not dtype.is_floating_point]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", ["div", "fmod", "remainder", "cdiv", "cfmod", "cremainder", "cinv", "addcdiv"])
def test_division_by_zero(lib: TH, dtype: torch.dtype, name: str) -> None:
    x, zeros = torch.ones(9, dtype=dtype), torch.zeros(9, dtype=dtype)
    values = {"cinv": (Out(), zeros), "addcdiv": (Out(), x, 1, x, zeros)}.get(
        name, (Out(), x, zeros if name[0] == "c" else 0)
    )
    with pytest.raises(THError, match="ZeroDivisionError"):
        Given(lib, dtype, values).call(name)


@pytest.mark.parametrize("dtype", [dtype for dtype in INTEGERS if dtype.is_signed], ids=str)
@pytest.mark.parametrize("name", ["div", "cdiv", "fmod", "cremainder", "addcdiv", "mul", "neg"])
def test_the_least_integer(lib: TH, dtype: torch.dtype, name: str) -> None:
    """Its quotient with -1 doesn't fit; the processor would trap."""
    least, minus = torch.full((9,), torch.iinfo(dtype).min, dtype=dtype), torch.full((9,), -1, dtype=dtype)
    second: tuple[Any, ...] = {"addcdiv": (1, least, minus), "neg": ()}.get(name, (minus if name[0] == "c" else -1,))
    given = Given(lib, dtype, (Out(), torch.zeros_like(least) if name == "addcdiv" else least, *second))
    given.call(name)
    expected: float = 0 if name in {"fmod", "cremainder"} else torch.iinfo(dtype).min
    if name == "addcdiv" and dtype.itemsize < 4:
        expected = torch.tensor(-torch.iinfo(dtype).min).to(dtype).item()
    assert given.kept[0].value().tolist() == [expected] * 9


def _spoilt(draw: Draw, given: list[Any]) -> list[Any]:
    """One argument that doesn't fit the others."""
    place = draw.random.randrange(len(given))
    value = given[place]
    if isinstance(value, InOut):
        value = InOut(_other(draw, value.value))
    elif isinstance(value, Tensor):
        value = _other(draw, value)
    elif isinstance(value, Sizes):
        value = Sizes(draw.random.choice(((-1,), (0, 3), (2**62, 4), (2**40, 2**40), (3, -2))))
    elif isinstance(value, int):
        value = draw.random.choice((-1, -(2**31), 100, 7))
    elif isinstance(value, float):
        value = draw.random.choice((float("nan"), float("inf"), -1e300, 0.0))
    return [*given[:place], value, *given[place + 1 :]]


def _other(draw: Draw, value: Tensor) -> Tensor:
    if value.dtype == torch.int64 and value.numel() and draw.flag():
        return value + draw.random.choice((-(2**62), -100, -1, 1, 100, 2**62))
    return draw.tensor(dtype=value.dtype)


def _fits(case: Case, dtype: torch.dtype, values: list[Any]) -> bool:
    """Whether C could pass such numbers at all, and a result isn't larger than a test's should be."""
    if dtype == torch.uint8 and any(isinstance(v, int) and v < 0 for v in values):
        return False
    if case.name == "catArray" and values[2] > len(values[1].tensors):
        return False
    many = case.name in {"eye", "linspace", "logspace", "arange", "range", "histc", "bhistc"}
    return not (many and any(isinstance(v, (int, float)) and not -1e6 < v < 1e6 for v in values))


def _number(dtype: torch.dtype, value: Any) -> Any:
    """What a C compiler would make of a number."""
    if isinstance(value, int) and not dtype.is_floating_point and abs(value) > 1000:
        return 77
    return value


def _check_spoilt(lib: TH, case: Case, count: int) -> None:
    for dtype, number in itertools.product(case.dtypes, range(count)):
        draw = Draw(zlib.crc32(f"spoilt {case.name} {dtype} {number}".encode()), dtype)
        values = [_number(dtype, value) for value in _spoilt(draw, case.make(draw))]
        if _fits(case, dtype, values):
            with contextlib.suppress(THError, OverflowError):
                Given(lib, dtype, tuple(values)).call(case.name)


@pytest.mark.sampled(5)
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_crashes(case: Case, lib: TH) -> None:
    """Each call has one argument that doesn't fit: an error, or a result where TH is generous."""
    _check_spoilt(lib, case, 4)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_crashes_widely(case: Case, lib: TH) -> None:
    _check_spoilt(lib, case, 150)
