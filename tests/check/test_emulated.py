"""CUDA kernels are checked under emulation: what is wrong only there is found."""

from __future__ import annotations

from pathlib import Path

import pytest

import opwright

KERNEL = """
#include <opwright.h>
OPWRIGHT("{name}(x: f32[N]) -> (y: f32[N]) launch over N, threads 64")
__global__ void {name}(Tensor<const float, 1> x, Tensor<float, 1> y) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if ({bound}) y[i] = 2 * x[i];
}}
"""


@pytest.mark.parametrize(
    ("name", "bound", "kind"), [("cuda_right", "i < x.size(0)", ""), ("cuda_wrong", "i <= x.size(0)", "out-of-bounds")]
)
def test_cuda_kernels(name: str, bound: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.cu"
    path.write_text(KERNEL.format(name=name, bound=bound))
    report = opwright.check(
        path, level="quick", device="emulated", only=("agreement", "CUDA kernels"), reference=lambda x: 2 * x
    )
    assert report.kinds == ({kind} if kind else set()), report
    assert [outcome.status for outcome in report] == ["passed", "failed" if kind else "passed"], report


def test_what_a_host_function_refuses_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "cuda_picky.cu"
    path.write_text(
        "#include <opwright.h>\n"
        "__global__ void doubled(int64_t n, const float* x, float* y) {\n"
        "  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) y[i] = 2 * x[i];\n}\n"
        'OPWRIGHT("cuda_picky(x: f32[N]) -> (y: f32[N])")\n'
        "void cuda_picky(Tensor<const float, 1> x, Tensor<float, 1> y) {\n"
        '  OPWRIGHT_CHECK(x.size(0) != 1, "a single number");\n'
        "  doubled<<<1, 64>>>(x.size(0), x.data(), y.data());\n}\n"
    )
    report = opwright.check(path, level="quick", device="emulated", only=("CUDA kernels",))
    assert report.ok, str(report)
    assert "the kernel refused" in next(iter(report)).detail


def test_a_device_that_there_is_not() -> None:
    with pytest.raises(ValueError, match=r"device='gpu', expected 'cpu', 'emulated', or a device"):
        opwright.check("x.cu", device="gpu")
