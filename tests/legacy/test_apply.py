"""TH_TENSOR_APPLY and TH_TENSOR_DIM_APPLY in generic code, compiled as C and as C++."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import cffi
import pytest
import torch
from torch import Tensor

from opwright.legacy.th_library import header_dirs
from tests.legacy.drawing import Draw
from tests.legacy.th import DTYPES, Held, THError, th

SOURCE = Path(__file__).parent / "apply" / "apply.c"
_PROTOTYPES = """
void apply_{t}_count(void *, void *);
void apply_{t}_scale(void *, void *, int);
void apply_{t}_plus_product(void *, void *, void *);
void apply_{t}_first_zero(void *, void *);
void apply_{t}_leave(void *, void *, int);
void apply_{t}_largest(void *, void *, void *, int);
void apply_{t}_running_sum(void *, void *, int);
void apply_{t}_scatter_add(void *, void *, void *, int);
void apply_{t}_until_zero(void *, void *, int);
"""
DTYPE = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPES.values())
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter")
LANGUAGES = {
    "c99": ("cc", "-std=c99", "-x", "c"),
    "gnu89": ("cc", "-std=gnu89", "-x", "c"),
    "c++11": ("c++", "-std=c++11", "-x", "c++"),
    "c++20": ("c++", "-std=c++20", "-x", "c++"),
}


def compile_as(language: str, *words: str) -> None:
    compiler, *dialect = LANGUAGES[language]
    includes = [f"-I{folder}" for folder in (*header_dirs(), SOURCE.parent)]
    command = [shutil.which(compiler) or compiler, *dialect, *STRICT, "-fexceptions", *includes, *words, str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def library(language: str, to: Path) -> Path:
    sanitizers = [f"-fsanitize={each}" for each in [os.environ.get("OPWRIGHT_SANITIZE")] if each]
    compile_as(language, *sanitizers, "-fPIC", "-shared", "-o", str(to))
    return to


class Applied:
    """The compiled functions, for one element type after another."""

    def __init__(self, path: Path) -> None:
        self.th = th()
        ffi = cffi.FFI()
        ffi.cdef("".join(_PROTOTYPES.format(t=name) for name in DTYPES.values()))
        self.ffi, self.functions = ffi, ffi.dlopen(str(path))

    def __call__(self, name: str, *arguments: Any) -> None:
        self.th.call_pointer(self.ffi, getattr(self.functions, f"apply_{name}"), *arguments)

    def tensor(self, value: Tensor) -> Held:
        return self.th.tensor(value)


@pytest.fixture(scope="module", params=["c99", "c++20"])
def applied(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Applied:
    th()  # its functions are global from here on
    return Applied(library(request.param, tmp_path_factory.mktemp("apply") / "apply.so"))


@pytest.mark.parametrize("language", ["gnu89", "c++11"])
def test_other_dialects(language: str) -> None:
    compile_as(language, "-fsyntax-only")


def draws(dtype: torch.dtype, count: int = 25) -> list[Draw]:
    return [Draw(seed, dtype) for seed in range(count)]


@pytest.mark.slow
@DTYPE
def test_apply(applied: Applied, dtype: torch.dtype) -> None:
    for draw in draws(dtype):
        x = draw.tensor(draw.shape())
        t = applied.tensor(x)
        applied(f"{DTYPES[dtype]}_count", t, None)
        assert torch.equal(t.value(), (torch.arange(x.numel()) % 100).to(dtype).reshape(x.shape))


@pytest.mark.slow
@DTYPE
def test_apply_2(applied: Applied, dtype: torch.dtype) -> None:
    for draw in draws(dtype):
        x = draw.tensor(draw.shape())
        y = draw.like(x)
        r = applied.tensor(y)
        applied(f"{DTYPES[dtype]}_scale", r, applied.tensor(x), 3)
        assert torch.equal(r.value(), (x * 3).reshape(y.shape))


@DTYPE
def test_apply_3(applied: Applied, dtype: torch.dtype) -> None:
    for draw in draws(dtype):
        x = draw.tensor(draw.shape())
        y, z = draw.like(x), draw.like(x)
        r = applied.tensor(x)
        applied(f"{DTYPES[dtype]}_plus_product", r, applied.tensor(y), applied.tensor(z))
        torch.testing.assert_close(r.value(), x + y.reshape(x.shape) * z.reshape(x.shape))


@DTYPE
def test_apply_can_be_left(applied: Applied, dtype: torch.dtype) -> None:
    for draw in draws(dtype):
        x = draw.laid_out(draw.values(draw.shape()).round())
        r = Held(applied.th, None, dtype=torch.int64)
        applied(f"{DTYPES[dtype]}_first_zero", r, applied.tensor(x))
        zeros = (x.flatten() == 0).nonzero().flatten().tolist()
        assert r.value().tolist() == [[zeros[0] if zeros else -1, zeros[0] if zeros else x.numel()]]


@DTYPE
def test_apply_can_be_left_by_return_and_error(applied: Applied, dtype: torch.dtype) -> None:
    t = applied.tensor(torch.tensor([[0, 0], [7, 0]], dtype=dtype).t())
    applied(f"{DTYPES[dtype]}_leave", t, None, 0)
    with pytest.raises(THError, match=r"^not zero: 7 at .*apply\.c:\d+$"):
        applied(f"{DTYPES[dtype]}_leave", t, None, 1)
    with pytest.raises(THError, match=r"^all zeros at"):
        applied(f"{DTYPES[dtype]}_leave", applied.tensor(torch.zeros(0, dtype=dtype)), None, 1)


@pytest.mark.slow
@DTYPE
def test_apply_knows_the_position_in_a_dimension(applied: Applied, dtype: torch.dtype) -> None:
    for draw in draws(dtype):
        x = draw.distinct(draw.shape(1, empty=False))
        for dim in range(x.dim()):
            values, indices = Held(applied.th, None, dtype=dtype), Held(applied.th, None, dtype=torch.int64)
            applied(f"{DTYPES[dtype]}_largest", values, indices, applied.tensor(x), dim)
            expected = x.max(dim, keepdim=True)
            assert torch.equal(values.value(), expected.values)
            assert torch.equal(indices.value(), expected.indices)


@pytest.mark.slow
@DTYPE
def test_dim_apply_2(applied: Applied, dtype: torch.dtype) -> None:
    for draw in draws(dtype):
        x = draw.tensor(draw.shape(1))
        for dim in range(x.dim()):
            r = applied.tensor(draw.tensor(x.shape))
            applied(f"{DTYPES[dtype]}_running_sum", r, applied.tensor(x), dim)
            torch.testing.assert_close(r.value(), x.cumsum(dim, dtype=dtype))


@DTYPE
def test_dim_apply_3(applied: Applied, dtype: torch.dtype) -> None:
    for draw in draws(dtype):
        x = draw.tensor(draw.shape(1, empty=False))
        dim = draw.dim(x)
        shape = list(x.shape)
        shape[dim] = draw.random.randint(1, 4)
        index = draw.index(x.shape[dim], shape)
        source = draw.tensor(shape)
        r = applied.tensor(x)
        applied(f"{DTYPES[dtype]}_scatter_add", r, applied.tensor(index), applied.tensor(source), dim)
        torch.testing.assert_close(r.value(), x.scatter_add(dim, index, source))


@DTYPE
def test_dim_apply_can_be_finished(applied: Applied, dtype: torch.dtype) -> None:
    x = torch.tensor([[1, 2], [3, 4], [0, 5], [6, 7]], dtype=dtype)
    r = Held(applied.th, None, dtype=dtype)
    applied(f"{DTYPES[dtype]}_until_zero", r, applied.tensor(x), 1)
    assert torch.equal(r.value(), torch.cat([x[:2], torch.zeros(2, 2, dtype=dtype)]))


@DTYPE
def test_sizes_that_do_not_fit(applied: Applied, dtype: torch.dtype) -> None:
    name = DTYPES[dtype]
    a, b = applied.tensor(torch.zeros(2, 3, dtype=dtype)), applied.tensor(torch.zeros(2, 2, dtype=dtype))
    same = r"expected result \[2 x 3\] and t \[2 x 2\] to have the same number of elements, but got 6 and 4 elements"
    with pytest.raises(THError, match=same):
        applied(f"{name}_scale", a, b, 1)
    with pytest.raises(THError, match=r"expected result .* but got 6, 6 and 4 elements respectively"):
        applied(f"{name}_plus_product", a, a, b)
    for dim in (-1, 2):
        with pytest.raises(THError, match=rf"invalid dimension {dim} \(expected to be 0 <= dim < 2\)"):
            applied(f"{name}_running_sum", Held(applied.th, None, dtype=dtype), a, dim)
    index = applied.tensor(torch.zeros(3, 2, dtype=torch.int64))
    with pytest.raises(
        THError,
        match=r"index \[3 x 2\] and t \[2 x 2\] to have the same size apart from dimension 1",
    ):
        applied(f"{name}_scatter_add", b, index, b, 1)
    row = applied.tensor(torch.zeros(4, dtype=torch.int64))
    with pytest.raises(THError, match="to have the same number of dimensions"):
        applied(f"{name}_scatter_add", b, row, b, 1)
    beyond = applied.tensor(torch.tensor([[0, 0], [1, 2]]))
    with pytest.raises(THError, match=r"^index 2 at row 1 at"):
        applied(f"{name}_scatter_add", b, beyond, b, 1)
