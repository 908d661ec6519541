"""Sources of alternatives: reloads, overloads beside them, several devices, signatures without marks, wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright import ArgumentError, Operators, OpwrightError, SignatureError, SourceError
from opwright.runtime.torch_internals import OpOverloadPacket
from tests.messages.raising import failing

Write = Callable[..., Path]
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning", "ignore:.isinstance:FutureWarning")

ROW = """
OPWRIGHT("halved(x: f64[N]) -> (y: f64[N])")
void halved(Tensor<const double, 1> x, Tensor<double, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] / 2;
}
"""
TABLE = ROW.replace("[N]", "[N, M]").replace(", 1>", ", 2>").replace("y[i] = x[i] / 2", "y.data()[i] = x.data()[i] / 4")
WHOLE = ROW.replace("f64", "i64").replace("double", "int64_t")


def test_alternatives_come_go_and_change(write: Write) -> None:
    row, table = torch.ones(2, dtype=torch.float64), torch.ones(2, 2, dtype=torch.float64)

    def load(*texts: str) -> Operators:
        return opwright.load(write("".join(texts), "alternatives_reloaded.cpp"))

    ops = load(ROW)
    packet, single = torch.ops.alternatives_reloaded.halved, ops.halved
    compiled = torch.compile(lambda x: packet(x) * 1, backend="eager", fullgraph=True)
    assert compiled(row).tolist() == [0.5, 0.5]
    assert load(ROW, TABLE) is ops
    both = ops.halved
    assert both(table).tolist() == compiled(table).tolist() == [[0.25, 0.25]] * 2
    assert both(row).tolist() == compiled(row).tolist() == packet(row).tolist() == [0.5, 0.5]
    assert "halved() was removed" in failing(lambda: single(row), OpwrightError)
    load(TABLE, ROW.replace("/ 2", "/ 8"))  # only code changes
    assert both(row).tolist() == compiled(row).tolist() == [0.125, 0.125]
    load(ROW, TABLE, WHOLE)
    assert ops.halved is not both
    assert ops.halved(torch.full((2,), 6)).tolist() == compiled(torch.full((2,), 6)).tolist() == [3, 3]
    assert failing(lambda: both(row), OpwrightError) == (
        "halved(): its source was loaded again since this callable was taken: its alternatives have changed\n"
        "  now:         halved(x: f64[N]) -> (y: f64[N])\n"
        "  now:         halved(x: f64[N, M]) -> (y: f64[N, M])\n"
        "  now:         halved(x: i64[N]) -> (y: i64[N])\n"
        "  likely fix:  take it again, from what load() returned or as torch.ops.alternatives_reloaded.halved.default"
    )
    load(ROW, TABLE)
    assert ops.halved is both
    assert both(table).tolist() == [[0.25, 0.25]] * 2
    load(ROW)
    assert ops.halved is single
    assert single(row).tolist() == compiled(row).tolist() == [0.5, 0.5]
    assert "it has no alternatives any more" in failing(lambda: both(row), OpwrightError)


def test_beside_overloads_with_names(write: Write) -> None:
    scaled = ROW.replace("halved(x: f64[N])", "halved.by(x: f64[N], by: float)").replace("void halved", "void scaled")
    scaled = scaled.replace("1> x,", "1> x, double by,").replace("x[i] / 2", "x[i] * by")
    ops = opwright.load(write(ROW + scaled + TABLE, "alternatives_overloaded.cpp"))
    assert isinstance(ops.halved, OpOverloadPacket)
    assert ops.halved.overloads() == ["default", "by"]
    x = torch.ones(2, dtype=torch.float64)
    assert ops.halved(x).tolist() == ops.halved.default(x).tolist() == ops.halved.rank1(x).tolist() == [0.5, 0.5]
    assert ops.halved(x, 3.0).tolist() == [3, 3]
    assert ops.halved(x[None]).tolist() == [[0.25, 0.25]]
    wrong = failing(lambda: ops.halved(x, "a"), ArgumentError)
    assert wrong.startswith("halved(): the arguments fit none of its 2 overloads\n")


def test_wrong_sources(write: Write) -> None:
    path = write(ROW + ROW.replace("[N]", "[M]"), "alternatives_same.cpp")
    text = failing(lambda: opwright.load(path), SignatureError)
    assert text.startswith(
        f"{path}:8: halved has two signatures that take the same arguments: x of type f64 with 1 axis"
    )
    twice = failing(lambda: opwright.load(write(ROW + ROW, "alternatives_twice.cpp")), SourceError)
    assert "halved was defined before, in line 3, with the same signature" in twice


def test_each_device_has_its_kernels(write: Write) -> None:
    """Of a C++ source and a CUDA one: equal signatures are kernels of one alternative."""
    cpu = write(ROW + TABLE, "alternatives_devices.cpp")
    launched = """
#include <opwright.h>
OPWRIGHT("halved(x: f64[N, M]) -> (y: f64[N, M]) launch over N*M, threads 64")
__global__ void halved(const double *x, double *y, int64_t N, int64_t M) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < N * M) y[i] = x[i] / 4;
}
"""
    cuda = write(launched, "alternatives_devices.cu")
    ops = opwright.load(cpu, cuda)
    kernels = {name: each.kernel.devices for name, each in ops.__loaded__.registered.items()}
    assert kernels == {"halved.rank1": {"cpu"}, "halved.rank2": {"cpu", "cuda"}}
    assert ops.halved(torch.ones(2, 2, dtype=torch.float64)).tolist() == [[0.25, 0.25]] * 2


def test_emulated_cuda_kernels(write: Write) -> None:
    kernel = """
OPWRIGHT("grown(x: TYPE[N]) -> (y: TYPE[N]) launch over N, threads 64")
__global__ void grown(const CTYPE *x, CTYPE *y, int64_t N) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < N) y[i] = x[i] + BY;
}
"""
    text = "#include <opwright.h>\n"
    for name, ctype, by in (("f32", "float", "0.5f"), ("i32", "int", "7")):
        text += kernel.replace("CTYPE", ctype).replace("TYPE", name).replace("BY", by)
    ops = opwright.load(write(text, "alternatives_emulated.cu"), backend="emulate")
    assert ops.grown(torch.zeros(3)).tolist() == [0.5] * 3
    assert ops.grown(torch.zeros(3, dtype=torch.int32)).tolist() == [7] * 3


def test_functions_without_marks(write: Write) -> None:
    body = "{ for (long i = 0; i < n; ++i) y[i] = x[i] * 3; }"
    text = f"void f(long n, const double *x, double *y) {body}\nvoid g(long n, const float *x, float *y) {body}"
    given = {"f": "three(x: f64[n]) -> (y: f64[n])", "g": "three(x: f32[n]) -> (y: f32[n])"}
    ops = opwright.load(write(text, "alternatives_in_c.c"), ops=given)
    for dtype in (torch.float32, torch.float64):
        x = torch.rand(3, dtype=dtype)
        torch.testing.assert_close(ops.three(x), 3 * x)
