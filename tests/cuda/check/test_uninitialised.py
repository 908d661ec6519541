"""Local variables that are read before they are written: the compiler's warnings, and what arrays leave in results."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from tests.cuda.programs.conftest import command, files  # noqa: F401 - fixtures

PROGRAM = """
__global__ void k(float *y) {
  float SUM;
  for (int i = 0; i < 4; ++i) sum += i;
  float each[4];
  FILL;
  float of_one;
  if (threadIdx.x == 0) of_one = 5;
  of_one = __shfl_sync(~0u, of_one, 0);  // lanes that have none send none
  y[threadIdx.x] = sum + each[threadIdx.x % 4] + of_one;
}
int main() {
  float *y, host;
  cudaMalloc(&y, 128);
  k<<<1, 32>>>(y);
  cudaMemcpy(&host, y, 4, cudaMemcpyDeviceToHost);
  printf("%g\\n", host);
}
"""
WRITTEN = {"SUM": "sum = 0", "FILL": "for (int i = 0; i < 4; ++i) each[i] = i"}
FIX = "likely fix: give it a value where it is declared"


def program(**others: str) -> str:
    text = PROGRAM
    for name, value in {**WRITTEN, **others}.items():
        text = text.replace(name, value)
    return text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("others", "line", "name"),
    [({"SUM": "sum"}, 4, "sum"), ({"FILL": ""}, 10, "each"), ({}, 0, "")],
    ids=["a number", "an array", "all are written"],
)
def test_a_program(
    files: Callable[..., None],  # noqa: F811
    command: Callable[..., tuple[int, str, str]],  # noqa: F811
    tmp_path: Path,
    others: dict[str, str],
    line: int,
    name: str,
) -> None:
    files(**{"locals.cu": program(**others)})
    status, out, err = command("emulate", "--check", "locals.cu")
    assert status == 0
    if not name:
        assert (out, err) == ("11\n", "")
        return
    assert err.startswith(f"opwright: warning: {tmp_path}/locals.cu:{line}:")
    assert f"'{name}' is " in err.splitlines()[0]
    assert err.splitlines()[1].strip() == FIX
    assert len(err.splitlines()) == 2
    assert command("emulate", "locals.cu")[2] == ""


@pytest.mark.slow
def test_what_a_program_copies_to_the_host(
    files: Callable[..., None],  # noqa: F811
    command: Callable[..., tuple[int, str, str]],  # noqa: F811
    tmp_path: Path,
) -> None:
    memory = f"byte 0 of the memory of cudaMalloc at {tmp_path}/locals.cu:14"
    left_out = "for (int i = 1; i < 4; ++i) each[i] = i"
    files(**{"locals.cu": program(FILL=left_out)})
    status, out, err = command("emulate", "--check", "locals.cu")
    assert (status, out) == (70, "")
    first, line, got, fix = err.splitlines()
    assert first == f"opwright: error: {tmp_path}/locals.cu:5: read of a local array's element that nothing has written"
    assert line.strip() == "float each[4];"
    assert got.startswith(
        f"  got: {memory}, which block (0, 0, 0), thread (0, 0, 0) writes at {tmp_path}/locals.cu:10: "
    )
    assert got.endswith(": it is computed from an element of each that has no value")
    assert fix == "  likely fix: give each a value where it is declared, each[...] = {}"
    assert command("emulate", "locals.cu")[0] == 0
    files(**{"locals.cu": program(FILL=left_out).replace("each[4];", "each[4];  // opwright: benign uninitialised")})
    assert command("emulate", "--check", "locals.cu")[0] == 0


OPERATOR = """
OPWRIGHT("sums(x: f32[N]) -> (y: f32[N]) launch over N threads 32")
__global__ void sums(int N, const float *x, float *y) {
  float sum{value};
  for (int i = 0; i < N; ++i) sum += x[i];
  if (threadIdx.x < N) y[threadIdx.x] = sum;
}
"""


@pytest.mark.slow
def test_an_operator(write: Callable[..., Path], caplog: pytest.LogCaptureFixture) -> None:
    x = torch.ones(8)
    right = write(OPERATOR.replace("{value}", " = 0"), "right_sums.cu")
    assert torch.equal(opwright.load(right, backend=opwright.emulate(check=True)).sums(x), 8 * x)
    assert not caplog.messages
    wrong = write(OPERATOR.replace("{value}", ""), "wrong_sums.cu")
    opwright.load(wrong, backend=opwright.emulate(check=True)).sums(x)
    (said,) = caplog.messages
    assert re.match(rf"warning: {re.escape(str(wrong))}:[67]: (?:variable )?'sum' .*uninitialized", said)
    assert said.endswith(FIX)


LEFT = """
OPWRIGHT("spoil(x: f32[N], y: f32[N]!) launch over N threads 32")
__global__ void spoil(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  float acc[2];
  for (int k = 0; k < 2; ++k) acc[k] += x[i];
  y[i] = acc[0] + acc[1];
}
OPWRIGHT("first(y: f32[N]!) launch over N threads 32")
__global__ void first(int64_t N, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) y[i] = 1;
}
"""


@pytest.mark.slow
def test_what_another_launch_has_left_is_not_this_ones(write: Callable[..., Path]) -> None:
    ops = opwright.load(write(LEFT, "left.cu"), backend=opwright.emulate(check=True))
    y = torch.zeros(40)
    with pytest.raises(opwright.KernelError, match="read of a local array's element that nothing has written"):
        ops.spoil(torch.ones(40), y)
    assert y[1:].isnan().all()
    ops.first(y)
    assert y[0] == 1
