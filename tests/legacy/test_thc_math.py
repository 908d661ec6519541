"""Every mathematical function of THC, on the CPU's memory, against PyTorch: the cases of TH's."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from tests.legacy.case import Case
from tests.legacy.cases import CASES
from tests.legacy.th import Held, THError
from tests.legacy.thc import THC, on_the_cpu, thc
from tests.legacy.twins import check_call

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom")  # PyTorch's own, of one value
DTYPES = (torch.float32, torch.int64, torch.int32)
QUICK, WIDE = 1, 30


@pytest.fixture(scope="module")
def lib() -> Iterator[THC]:
    with on_the_cpu():
        yield thc()


def _check(lib: THC, case: Case, count: int) -> None:
    for dtype in DTYPES:
        for number in range(count if dtype in case.dtypes else 0):
            check_call(lib, case, dtype, zlib.crc32(f"THC {case.name} {dtype} {number}".encode()))


CASES_OF_CUDA = [case for case in CASES if not case.name.startswith("copy") or case.name == "copy"]


@pytest.mark.parametrize("case", CASES_OF_CUDA, ids=lambda case: case.name)
def test_as_pytorch_does_it(case: Case, lib: THC) -> None:
    _check(lib, case, QUICK)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES_OF_CUDA, ids=lambda case: case.name)
def test_as_pytorch_does_it_widely(case: Case, lib: THC) -> None:
    _check(lib, case, WIDE)


def test_shapes(lib: THC) -> None:
    t = lib.tensor(torch.arange(24.0).reshape(2, 3, 4))
    lib.call("THFloatTensor_select", t, None, 0, 1)
    lib.call("THFloatTensor_transpose", t, None, 0, 1)
    expected = torch.arange(24.0).reshape(2, 3, 4)[1].t()
    assert torch.equal(t.value(), expected)
    assert [lib.call("THFloatTensor_size", t, d) for d in (0, 1)] == [4, 3]
    assert [lib.call("THFloatTensor_stride", t, d) for d in (0, 1)] == list(expected.stride())
    assert not lib.call("THFloatTensor_isContiguous", t)
    assert lib.call("THFloatTensor_get2d", t, 3, 2) == 23
    lib.call("THFloatTensor_set2d", t, 3, 2, -1.5)
    lib.call("THFloatTensor_resize4d", t, 1, 2, 3, 5)
    assert t.value().shape == (1, 2, 3, 5)
    assert lib.ffi.string(lib.functions.THCudaTensor_sizeDesc(lib.ffi.NULL, t.pointer).str) == b"[1 x 2 x 3 x 5]"
    assert lib.call("THFloatTensor_getDevice", t) == -1
    with pytest.raises(THError, match="invalid argument 2: dimension 4 out of range of 4D tensor"):
        lib.call("THFloatTensor_size", t, 4)


@pytest.mark.parametrize("source", ["Byte", "Int", "Float"])
def test_copies_between_cpu_and_gpu(source: str, lib: THC) -> None:
    dtype = {"Byte": torch.uint8, "Int": torch.int32, "Float": torch.float32}[source]
    values = torch.arange(6).reshape(2, 3).to(dtype)
    for name in (f"copy{source}", f"copyCuda{source}"):
        to = lib.tensor(torch.zeros(3, 2))
        lib.call(f"THFloatTensor_{name}", to, lib.tensor(values))
        assert torch.equal(to.value(), values.reshape(3, 2).float())
    if source == "Float":
        for name in ("copyCPU", "copyAsyncCPU", "copyIgnoringOverlaps", "copyCuda"):
            to = lib.tensor(torch.zeros(6))
            lib.call(f"THFloatTensor_{name}", to, lib.tensor(values))
            assert to.value().tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["copyCuda", "copyAsyncCuda", "copyCudaInt"])
def test_copies_to_the_cpu(name: str, lib: THC) -> None:
    dtype = torch.int32 if name.endswith("Int") else torch.float32
    host, values = lib.tensor(torch.zeros(4)), torch.arange(4, dtype=dtype)
    function = getattr(lib.functions, f"THFloatTensor_{name}")
    lib.call_pointer(lib.ffi, function, None, host, lib.tensor(values))
    assert host.value().tolist() == [0, 1, 2, 3]


def test_indices_and_masks_on_the_cpu(lib: THC) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    r, t, index = Held(lib, None), lib.tensor(x), lib.tensor(torch.tensor([2, 0]))
    lib.call("THFloatTensor_indexSelect_long", r, t, 0, index)
    assert torch.equal(r.value(), x[[2, 0]])
    rows = lib.tensor(torch.ones(2, 4))
    for name, expected in (("indexCopy", x.index_copy(0, torch.tensor([2, 0]), torch.ones(2, 4))),
                           ("indexAdd", x.index_add(0, torch.tensor([2, 0]), torch.ones(2, 4)))):  # fmt: skip
        t = lib.tensor(x)
        lib.call(f"THFloatTensor_{name}_long", t, 0, index, rows)
        assert torch.equal(t.value(), expected)
    lib.call("THFloatTensor_indexFill_long", t, 1, lib.tensor(torch.tensor([1])), 7)
    assert t.value()[:, 1].tolist() == [7, 7, 7]
    mask = (x > 5).to(torch.uint8)
    t = lib.tensor(x)
    lib.call("THFloatTensor_maskedSelectByte", r, t, lib.tensor(mask))
    assert torch.equal(r.value(), x[x > 5])
    lib.call("THFloatTensor_maskedFillByte", t, lib.tensor(mask), -1)
    assert torch.equal(t.value(), x.masked_fill(x > 5, -1))
    lib.call("THFloatTensor_maskedCopyByte", t, lib.tensor(mask), lib.tensor(torch.arange(6.0)))
    assert torch.equal(t.value(), x.masked_scatter(x > 5, torch.arange(6.0)))


RANDOM: dict[str, tuple[tuple[float, ...], Callable[[torch.Tensor], Any]]] = {
    "uniform": ((-2.0, 3.0), lambda x: x.uniform_(-2, 3)),
    "normal": ((1.0, 2.0), lambda x: x.normal_(1, 2)),
    "exponential": ((1.5,), lambda x: x.exponential_(1.5)),
    "cauchy": ((0.5, 2.0), lambda x: x.cauchy_(0.5, 2)),
    "logNormal": ((0.5, 0.25), lambda x: x.log_normal_(0.5, 0.25)),
    "bernoulli": ((0.3,), lambda x: x.bernoulli_(0.3)),
    "geometric": ((0.3,), lambda x: x.geometric_(0.7)),
    "random": ((), lambda x: x.random_()),
    "clampedRandom": ((2, 9), lambda x: x.random_(2, 9)),
    "cappedRandom": ((9,), lambda x: x.random_(0, 9)),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_are_pytorchs(name: str, lib: THC) -> None:
    arguments, expected = RANDOM[name]
    t = lib.tensor(torch.zeros(50))
    torch.manual_seed(3)
    lib.call(f"THFloatTensor_{name}", t, *arguments)
    torch.manual_seed(3)
    assert torch.equal(t.value(), expected(torch.empty(50)))


def test_random_numbers_of_parameters(lib: THC) -> None:
    means, r = torch.tensor([-100.0, 0.0, 100.0]), Held(lib, None)
    lib.call("THFloatTensor_normal_means", r, lib.tensor(means), 0.5)
    assert (r.value() - means).abs().max() < 10
    lib.call("THFloatTensor_bernoulli_FloatTensor", r, lib.tensor(torch.tensor([0.0, 1.0, 0.0])))
    assert r.value().tolist() == [0, 1, 0]
    weights, chosen = lib.tensor(torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])), Held(lib, None, dtype=torch.int64)
    lib.call("THFloatTensor_multinomial", chosen, weights, 4, 1)
    assert chosen.value().tolist() == [[1] * 4, [0] * 4]
    aliases, kept = Held(lib, None, dtype=torch.int64), Held(lib, None)
    lib.call("THFloatTensor_multinomialAliasSetup", lib.tensor(torch.tensor([0.0, 3.0, 1.0])), aliases, kept)
    draws = lib.tensor(torch.zeros(4000, dtype=torch.int64))
    lib.call_pointer(lib.ffi, lib.functions.THCudaTensor_multinomialAliasDraw, None, draws, aliases, kept)
    counts = torch.bincount(draws.value(), minlength=3)
    assert counts[0] == 0
    assert abs(int(counts[1]) - 3000) < 200


def test_seeds(lib: THC) -> None:
    lib.call("THCRandom_manualSeed", 11)
    assert lib.call("THCRandom_initialSeed") == 11 == torch.initial_seed()
    state = Held(lib, None, dtype=torch.uint8)
    lib.call("THCRandom_getRNGState", state)
    first = torch.rand(3)
    lib.call("THCRandom_setRNGState", state)
    assert torch.equal(torch.rand(3), first)
    lib.call("THCRandom_manualSeedAll", 11)
    assert torch.equal(torch.rand(3), first)
    assert lib.call("THCRandom_seed") == torch.initial_seed()
    assert lib.call("THCRandom_seedAll") == torch.initial_seed()


def test_half_floats(lib: THC) -> None:
    ffi, functions = lib.ffi, lib.functions
    one, half = torch.tensor([1.5], dtype=torch.float16), ffi.new("half *")
    half.x = int(one.view(torch.int16))
    t = functions.THCudaHalfTensor_newWithSize1d(ffi.NULL, 4)
    functions.THCudaHalfTensor_fill(ffi.NULL, t, half[0])
    functions.THCudaHalfTensor_cadd(ffi.NULL, t, t, half[0], t)
    assert functions.THCudaHalfTensor_sumall(ffi.NULL, t) == 4 * (1.5 + 1.5 * 1.5)
    expected = torch.tensor([3.75], dtype=torch.float16).view(torch.int16)
    assert functions.THCudaHalfTensor_get1d(ffi.NULL, t, 3).x == int(expected)
    functions.THCudaHalfTensor_free(ffi.NULL, t)
