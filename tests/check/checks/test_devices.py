"""Kernels for two devices, compared; devices that there aren't; CUDA kernels under emulation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright

_HALVED = """
#include <opwright.h>
OPWRIGHT("halved(x: T) -> (y: T) where T in (f32)")
template <class T>
T halved(T x) {
#ifdef __CUDA_ARCH__
  return x * T(%s);
#else
  return x / 2;
#endif
}
"""
_SHIFTED = """
#include <opwright.h>
template <class T>
__global__ void shift(int64_t n, const T *x, T *y) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}
OPWRIGHT("shifted(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void shifted(Tensor<const T> x, Tensor<T> y, cudaStream_t stream) {
  if (x.numel()) shift<<<(x.numel() + 63) / 64, 64, 0, stream>>>(x.numel(), x.data(), y.data());
}
"""
_ON_THE_CPU = """
#include <opwright.h>
OPWRIGHT("shifted(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void shifted(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] + T(%s);
}
"""
_ONLY: dict[str, Any] = {"device": "emulated", "level": "quick"}


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str, str], str]:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(("factor", "kinds"), [("0.5", set()), ("0.25", {"differs-between-devices"})])
def test_an_emulated_kernel_against_the_one_for_the_cpu(
    factor: str, kinds: set[str], written: Callable[[str, str], str]
) -> None:
    report = opwright.check(written("halved.cpp", _HALVED % factor), only=("devices",), **_ONLY)
    assert report.outcomes[0].status == ("failed" if kinds else "passed")
    assert report.kinds == kinds


@pytest.mark.slow
def test_what_has_kernels_for_one_device_isnt_compared(written: Callable[[str, str], str]) -> None:
    alone = opwright.check(written("shifted.cu", _SHIFTED), only=("devices",), **_ONLY)
    assert "no kernel for the CPU" in alone.outcomes[0].detail
    plain = opwright.check(torch.neg, signature="n(x: T[N]) -> (y: T[N])", only=("devices",))
    assert "compares CUDA kernels with that" in plain.outcomes[0].detail


@pytest.mark.slow
@pytest.mark.parametrize(("added", "ok"), [("1", True), ("2", False)])
def test_another_files_operator_is_a_reference(added: str, ok: bool, written: Callable[[str, str], str]) -> None:
    reference = written("shifted.cpp", _ON_THE_CPU % added) + ":shifted"
    report = opwright.check(written("shifted.cu", _SHIFTED), reference, only=("agreement",), **_ONLY)
    assert report.outcomes[0].status == ("passed" if ok else "failed")


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("gpu", "device='gpu', expected 'cpu', 'emulated', or a device of PyTorch's, as 'cuda'"),
        ("meta", "device='meta', expected 'cpu', 'emulated', or a GPU"),
        pytest.param(
            "cuda",
            "device='cuda', but PyTorch finds no such device here",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
    ],
)
def test_devices_that_arent_there(device: str, said: str) -> None:
    with pytest.raises(ValueError) as error:
        opwright.check(torch.neg, signature="n(x: T[N]) -> (y: T[N])", device=device)
    assert said in str(error.value)


KERNEL = """
#include <opwright.h>
OPWRIGHT("{name}(x: f32[N]) -> (y: f32[N]) launch over N, threads 64")
__global__ void {name}(Tensor<const float, 1> x, Tensor<float, 1> y) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if ({bound}) y[i] = 2 * x[i];
}}
"""


@pytest.mark.sampled(2)
@pytest.mark.slow
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
    statuses = {outcome.check: outcome.status for outcome in report}
    assert statuses == {"agreement": "passed", "CUDA kernels": "failed" if kind else "passed"}, report


@pytest.mark.slow
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
