"""Every planted fault is found, with file, line and name; nothing else is; the process lives on."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright.cuda import emulation

Arguments = Callable[..., list[Any]]
HERE = Path(__file__).parent
SAYS = {
    "race": r"data race in (shared|global) memory",
    "bounds": r"out of bounds (read|write)|index (out of bounds|beyond its axis)",
    "memory": r"(read|write) (of freed memory|of memory that isn't the device's|through a null pointer|to an input)",
    "uninitialised": r"read of (uninitialised shared memory|memory that nobody has written|a local array's element)",
    "barrier": "divergent barrier",
    "lanes": "absent lanes",
    "alignment": "misaligned access",
    "overflow": "signed integer overflow",
    "division": "integer division by zero",
    "shift": "bad shift",
    "texture": r"(tex|surf)[12]D\w*\(\) (gets|doesn't read|touches)",
}
_CHECKED: dict[Path, opwright.Operators] = {}


def checked(file: Path) -> opwright.Operators:
    """The operators of a file, built once."""
    if file not in _CHECKED:
        _CHECKED[file] = opwright.load(
            file, namespace=f"checked_{file.parent.name}_{file.stem}", backend=opwright.emulate(check=True)
        )
    return _CHECKED[file]


def reported(planted: Any, arguments: Arguments) -> str:
    with pytest.raises(opwright.KernelError) as caught:
        getattr(checked(planted.file), planted.name)(*arguments(planted.text))
    return str(caught.value)


def found(planted: Any, arguments: Arguments) -> str:
    """What the report's first line says is wrong, in one of the marked lines."""
    text = reported(planted, arguments)
    place = re.search(re.escape(str(planted.file)) + r":(\d+): (.*)", text)
    assert place, text
    assert int(place[1]) in planted.marked, text
    assert re.match(SAYS[planted.kind], place[2]), text
    assert planted.says in text, text
    assert re.search(r"block \(\d+, \d+, \d+\), thread \(\d+, \d+, \d+\)", text), text
    assert "likely fix:" in text
    return place[2]


@pytest.mark.slow
def test_found_with_file_line_and_name_and_the_process_lives_on(planted: Any, arguments: Arguments) -> None:
    first = found(planted, arguments)
    right = checked(HERE / "right" / "shared.cu")
    x = torch.randn(200)
    torch.testing.assert_close(right.block_sum(x).sum(), x.sum(), atol=1e-3, rtol=1e-4)
    assert found(planted, arguments) == first


KERNELS = """
OPWRIGHT("last(x: f32[N]) -> (y: f32[1]) launch over N threads 32")
__global__ void last(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[0] = x[i];
}

OPWRIGHT("any(x: f32[N]) -> (y: f32[1]) launch over N threads 32")
__global__ void any(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[0] = x[i];  // opwright: benign race, any of them will do
}

OPWRIGHT("another(x: f32[N]) -> (y: f32[1]) launch over N threads 32")
__global__ void another(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[0] = x[i];  // opwright: benign bounds
}

OPWRIGHT("sums(N: int, x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void sums(int N, const float *x, float *y) {
  __shared__ float row[64];
  const float *from = row;
  const int t = threadIdx.x;
  float sum = 0;
  row[t] = x[t];
  __syncthreads();
  for (int k = 0; k < N; ++k) sum += from[t == 0 && k == 0 ? 64 : t];  // opwright: benign bounds
  y[t] = sum;
  if (t == 1) row[0] = sum;
}

OPWRIGHT("votes(x: f32[N]) -> (y: i32[N]) launch over N threads 32")
__global__ void votes(int64_t N, const float *x, int *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  y[i] = __any_sync(0xffffffffu, x[i] > 0);
}

OPWRIGHT("meets(x: f32[N]) -> (y: f32[N]) launch over N threads 64")
__global__ void meets(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  y[i] = x[i];
  __syncthreads();
}
"""


@pytest.fixture(scope="module")
def commented() -> opwright.Operators:
    return opwright.load_inline("commented", cuda=KERNELS, backend=opwright.emulate(check=True))


@pytest.mark.slow
def test_a_comment_silences_its_line(commented: opwright.Operators) -> None:
    x = torch.randn(100)
    assert commented.any(x).item() in x
    for wrong in (commented.last, commented.another):
        with pytest.raises(opwright.KernelError, match="data race in global memory"):
            wrong(x)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_the_thread_that_wrote_another_value_is_named(commented: opwright.Operators, order: str) -> None:
    x = torch.ones(64)
    with emulation.order(order):
        assert commented.last(x) == 1
        x[37] = 2
        with pytest.raises(opwright.KernelError, match="data race in global memory") as caught:
            commented.last(x)
    assert "block (1, 0, 0), thread (5, 0, 0)" in str(caught.value)


@pytest.mark.slow
def test_both_places_after_a_fault_that_a_comment_silences(commented: opwright.Operators) -> None:
    with pytest.raises(opwright.KernelError, match="data race in shared memory") as caught:
        commented.sums(3, torch.randn(64))
    found = re.search(
        r"(\d+): data race.*thread \(0, 0, 0\) of the same block read it at \S+:(\d+)\n", str(caught.value), re.DOTALL
    )
    assert found, str(caught.value)
    assert int(found[1]) - int(found[2]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_the_thread_of_a_collective_is_one_that_is_there(commented: opwright.Operators, order: str) -> None:
    x = torch.randn(35)
    with emulation.order(order), pytest.raises(opwright.KernelError, match="absent lanes") as caught:
        commented.votes(x)
    text = str(caught.value)
    assert "names lanes that have returned: the mask is 0xffffffff, and lanes 0xfffffff8 don't take part" in text
    assert re.search(r"block \(1, 0, 0\), thread \([012], 0, 0\)", text), text


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_the_thread_at_a_barrier_is_one_that_waits(commented: opwright.Operators, order: str) -> None:
    with emulation.order(order), pytest.raises(opwright.KernelError, match="59 threads have returned") as caught:
        commented.meets(torch.randn(69))
    assert re.search(r"block \(1, 0, 0\), thread \([0-4], 0, 0\)", str(caught.value)), str(caught.value)
