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
    assert planted.says in text or planted.kind == "race", text
    assert re.search(r"block \(\d+, \d+, \d+\), thread \(\d+, \d+, \d+\)", text), text
    assert "likely fix:" in text
    return place[2]


@pytest.mark.slow
def test_found_with_file_line_and_name(planted: Any, arguments: Arguments) -> None:
    assert found(planted, arguments) == found(planted, arguments)


@pytest.mark.slow
def test_the_process_lives_on(planted: Any, arguments: Arguments) -> None:
    found(planted, arguments)
    right = checked(HERE / "right" / "shared.cu")
    x = torch.randn(200)
    torch.testing.assert_close(right.block_sum(x).sum(), x.sum(), atol=1e-3, rtol=1e-4)


@pytest.mark.slow
def test_a_comment_silences_its_line(write: Callable[..., Path]) -> None:
    kernel = """
OPWRIGHT("last(x: f32[N]) -> (y: f32[1]) launch over N threads 32")
__global__ void last(int64_t N, const float *x, float *y) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[0] = x[i];{comment}
}}
"""
    silent = write(kernel.format(comment="  // opwright: benign race, any of them will do"), "silent.cu")
    x = torch.randn(100)
    assert opwright.load(silent, backend=opwright.emulate(check=True)).last(x).item() in x
    other = write(kernel.format(comment="  // opwright: benign bounds"), "other.cu")
    with pytest.raises(opwright.KernelError, match="data race in global memory"):
        opwright.load(other, backend=opwright.emulate(check=True)).last(x)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_the_thread_that_wrote_another_value_is_named(write: Callable[..., Path], order: str) -> None:
    kernel = """
OPWRIGHT("same(x: f32[N]) -> (y: f32[1]) launch over N threads 32")
__global__ void same(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[0] = x[i];
}
"""
    same = opwright.load(write(kernel, f"same_value_{order}.cu"), backend=opwright.emulate(check=True)).same
    x = torch.ones(64)
    with emulation.order(order):
        assert same(x) == 1
        x[37] = 2
        with pytest.raises(opwright.KernelError, match="data race in global memory") as caught:
            same(x)
    assert "block (1, 0, 0), thread (5, 0, 0)" in str(caught.value)


@pytest.mark.slow
def test_both_places_after_a_fault_that_a_comment_silences(write: Callable[..., Path]) -> None:
    kernel = """
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
"""
    file = write(kernel, "silenced_before.cu")
    sums = opwright.load(file, backend=opwright.emulate(check=True)).sums
    with pytest.raises(opwright.KernelError, match="data race in shared memory") as caught:
        sums(3, torch.randn(64))
    name = re.escape(str(file))
    found = rf"{name}:13: data race.*thread \(0, 0, 0\) of the same block read it at {name}:11\n"
    assert re.search(found, str(caught.value), re.DOTALL), str(caught.value)


def test_thirty_are_planted() -> None:
    assert sum(file.read_text("utf-8").count("// fault:") for file in (HERE / "faults").glob("*.cu")) >= 30
