"""Right kernels: nothing is found in any order, checked or not, and the results are those of plain loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright.cuda import emulation
from tests.cuda.check.conftest import ORDERS, results

Arguments = Callable[..., list[Any]]
HERE = Path(__file__).parent
QUICK = ORDERS[:3]
_LOADED: dict[tuple[Path, bool], opwright.Operators] = {}


def operators(file: Path, *, check: bool) -> opwright.Operators:
    """The operators of a file, built once."""
    if (file, check) not in _LOADED:
        name = f"right_{file.stem}{'_checked' * check}"
        _LOADED[file, check] = opwright.load(file, namespace=name, backend=opwright.emulate(check=check))
    return _LOADED[file, check]


@pytest.fixture(scope="module")
def plain() -> opwright.Operators:
    return opwright.load(HERE / "right" / "plain.cpp", namespace="right_plain")


@pytest.fixture(
    params=[pytest.param(order, marks=[] if order in QUICK else pytest.mark.exhaustive) for order in ORDERS],
    ids=[f"{kind}-{seed}" for kind, seed in ORDERS],
)
def order(request: pytest.FixtureRequest) -> Iterator[None]:
    kind, seed = request.param
    with emulation.order(kind, seed=seed):
        yield


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("check", [False, True], ids=["plain", "checked"])
@pytest.mark.usefixtures("order")
def test_as_plain_loops(kernel: Any, arguments: Arguments, plain: opwright.Operators, check: bool) -> None:
    for seed, extra in ((0, 0), (1, 27)):
        given = arguments(kernel.text, seed=seed, extra=extra)
        expected = results(getattr(plain, kernel.name), given)
        got = results(getattr(operators(kernel.file, check=check), kernel.name), given)
        for mine, theirs in zip(got, expected, strict=True):
            torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-4)


KERNELS = """
OPWRIGHT("of_one_size(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void of_one_size(const float *x, float *y) {
  __shared__ float a[2000];
  __shared__ float b[2000];
  const int t = threadIdx.x;
  a[t] = x[t];
  ((unsigned char *)(a + t))[3] &= 0x7f;
  b[63 - t] = a[t];
  __syncthreads();
  y[t] = b[t];
}

OPWRIGHT("their_own(x: f32[N]) -> (y: f32[N]) launch over N threads 32")
__global__ void their_own(int64_t N, const float *x, float *y) {
  __shared__ float many[64];
  __shared__ float few[32];
  const int t = threadIdx.x, i = blockIdx.x * 32 + t;
  if (blockIdx.x % 3 == 0) {
    few[31 - t] = x[i];
    many[32 + t] = 0;
  } else if (blockIdx.x % 3 == 1) {
    many[t] = many[32 + t] = x[i];
    few[31 - t] = many[t];
  } else {
    few[31 - t] = x[i];
  }
  __syncthreads();
  y[i] = few[t];
}

__device__ __noinline__ float *few() { __shared__ float s[32]; return s; }
__device__ __noinline__ float *many() { __shared__ float s[64]; return s; }
__device__ __noinline__ float at(const float *s, int k) { return s[k]; }
OPWRIGHT("one_instruction(x: f32[N]) -> (y: f32[N]) launch over N threads 32")
__global__ void one_instruction(int64_t N, const float *x, float *y) {
  const int t = threadIdx.x, i = blockIdx.x * 32 + t;
  float *const s = blockIdx.x % 2 ? many() : few();
  s[t] = x[i];
  __syncthreads();
  y[i] = at(s, 31 - t);
}
"""


@pytest.fixture(scope="module")
def turned() -> opwright.Operators:
    return opwright.load_inline("turned", cuda=KERNELS, backend=opwright.emulate(check=True))


@pytest.mark.slow
def test_arrays_of_one_size(turned: opwright.Operators) -> None:
    """The shadow that the first had, until a byte of it was touched by itself, isn't that of the second."""
    for _ in range(2):
        x = torch.randn(64)
        assert torch.equal(turned.of_one_size(x), x.abs().flip(0))


@pytest.mark.slow
def test_blocks_with_variables_of_their_own(turned: opwright.Operators) -> None:
    """Blocks use them in different orders, so that they lie at each other's addresses."""
    x = torch.randn(7, 32)
    assert torch.equal(turned.their_own(x.flatten()), x.flip(1).flatten())


@pytest.mark.slow
def test_an_instruction_that_touches_different_variables(turned: opwright.Operators) -> None:
    """In another block another variable lies where it touched one before."""
    x = torch.randn(5, 32)
    assert torch.equal(turned.one_instruction(x.flatten()), x.flip(1).flatten())


def test_a_good_many() -> None:
    assert sum(file.read_text("utf-8").count("// kernel:") for file in (HERE / "right").glob("*.cu")) >= 30
