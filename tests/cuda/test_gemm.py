"""gemm is the CPU's: given memory of a GPU it would end the process, so CUDA sources can't call it, emulated or not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright

SQUARE = """
OPWRIGHT("square(x: f32[N, N]) -> (y: f32[N, N])")
void square(Tensor<const float, 2> x, Tensor<float, 2> y%s) {
  const int64_t n = x.size(0);
  gemm<float>(false, false, n, n, n, 1, x.data(), n, x.data(), n, 0, y.data(), n);
}
"""


def test_gemm_is_refused_in_a_cuda_source_and_stays_in_its_cpu_twin(write: Callable[..., Path]) -> None:
    twin = write(SQUARE % "", "squares.cpp"), write(SQUARE % ", cudaStream_t", "squares.cu")
    x = torch.rand(3, 3)
    torch.testing.assert_close(opwright.load(*twin).square(x), x @ x)
    with pytest.raises(opwright.KernelError) as caught:
        opwright.load(*twin, backend="emulate").square(x)
    assert str(caught.value) == (
        "square(): gemm multiplies on the CPU, and this is an operator of a CUDA source\n"
        "  likely fix: multiply with PyTorch, around the operator (torch.addmm), or call cuBLAS"
    )
