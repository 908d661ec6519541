"""Sources with signatures, as `opwright.load` hands them to NVRTC: host and device code with Opwright's headers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opwright.codegen.source import KernelSource
from opwright.cuda.nvrtc import Nvrtc
from opwright.signature import DType
from opwright.toolchain import Options

Play = Callable[..., Any]

ROUND = """\
template <class T> __global__ void round_kernel(const int n, const T *in, T *out) {
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
    out[i] = in[i] >= T(0.5) ? T(1) : T(0);
}
OPWRIGHT("round(x: T[...]) -> (y: T[...])")
template <class T>
void round(Tensor<const T> x, Tensor<T> y, cudaStream_t stream) {
  round_kernel<<<(x.numel() + 255) / 256, 256, 0, stream>>>(x.numel(), x.data(), y.data());
  check_launch();
}
template <class T> __global__ void total_kernel(Tensor<const T, 2> x, Tensor<T, 1> y) {
  acc<T> sum = 0;
  for (int m = 0; m < x.size(1); ++m) sum += x[int(blockIdx.x)][m];
  y[int(blockIdx.x)] = sum;
}
OPWRIGHT("total(x: T[N, M]) -> (y: T[N])")
template <class T>
void total(Tensor<const T, 2> x, Tensor<T, 1> y, cudaStream_t stream) {
  total_kernel<<<x.size(0), 1, 0, stream>>>(x, y);
}
"""


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.usefixtures("needs_nvrtc")
@pytest.mark.parametrize("dtype", [DType.F32, DType.F64, DType.F16, DType.BF16])
def test_kernels_take_views(
    write: Callable[..., Path], play: Play, monkeypatch: pytest.MonkeyPatch, dtype: DType
) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    library = KernelSource(write(ROUND, "round.cu"), Options(), backend=Nvrtc()).library({"T": dtype}, device="cuda")
    assert play(Path(library), "said += [hasattr(kernels, 'opwright_library')]") == [True]
    held = Path(library).read_bytes()
    assert b"\x7fELF" in held[4:]  # the cubin within
    assert b"round_kernel" in held
    assert b"total_kernel" in held
