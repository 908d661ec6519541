"""The examples' CUDA kernels, compiled for every generation of GPUs by both compilers: what they take of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright.codegen.source import KernelSource
from opwright.cuda.nvcc import Nvcc
from opwright.cuda.nvrtc import Nvrtc
from opwright.signature import DType
from opwright.toolchain import Options
from opwright.toolchain.messages import ptxas

FOLDER = Path(__file__).parent.parent.parent / "examples"
OURS = re.compile(r"^OPWRIGHT\(", re.MULTILINE)
# Those with marks, not those that are extensions of PyTorch; of C++, those whose pointwise operators have CUDA kernels.
CUDA = sorted(path.relative_to(FOLDER) for path in FOLDER.glob("*/*.cu") if OURS.search(path.read_text()))
POINTWISE = [Path("quantize/quantize.cpp"), pytest.param(Path("lltm/lltm_derived.cpp"), marks=pytest.mark.exhaustive)]
BACKENDS: dict[str, Nvcc | Nvrtc] = {"nvcc": Nvcc(), "nvrtc": Nvrtc(("--ptxas-options=-v",))}
# Two tiles of 16 rows of 17 numbers; a number of each of 8 warps, in softmax for each of two reductions; two tables of
# 8 rows of 32.
NUMBERS_SHARED = {
    "matmul_kernel": 2 * 16 * 17,
    "softmax_kernel": 2 * 8,
    "softmax_backward_kernel": 8,
    "layer_norm_kernel": 8,
    "layer_norm_backward_kernel": 8,
    "layer_norm_sums_kernel": 2 * 8 * 32,
}
MOST_REGISTERS = 64
"""Of a thread, where half of a multiprocessor's 2048 threads share its 65536."""


def compiled(path: Path, backend: str, dtype: DType) -> list[ptxas.Usage]:
    """What the compiler says of each kernel of a source."""
    made = BACKENDS[backend]
    if problem := made.missing():
        pytest.skip(problem)
    options = Options(extra_cuda_cflags=("-Xptxas=-v",))
    source = KernelSource(FOLDER / path, options)
    if not any(dtype in signature.allowed("T") for signature in source.signatures.values()):
        dtype = DType.F64  # the widest: the file leaves the halves out
    built = made.built(source.cuda_text({"T": dtype}), options)
    return list(ptxas.usage((built.path.parent / "build.log").read_text()))


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("backend", [pytest.param("nvrtc", marks=pytest.mark.exhaustive), "nvcc"])
@pytest.mark.parametrize(
    ("architectures", "dtype"),
    [
        pytest.param("9.0", DType.F32, id="sm_90-f32"),
        pytest.param("7.5;8.0;8.6;8.9;9.0;10.0;12.0", DType.BF16, id="every-bf16", marks=pytest.mark.exhaustive),
    ],
)
@pytest.mark.parametrize("path", [*CUDA, *POINTWISE], ids=str)
def test_kernels_stay_in_registers(
    path: Path, architectures: str, dtype: DType, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", architectures)
    found = compiled(path, backend, dtype)
    expected = {f"sm_{each.replace('.', '')}" for each in architectures.split(";")}
    kernels = {use.kernel for use in found}
    assert kernels
    assert {(use.kernel, use.architecture) for use in found} == {
        (kernel, gpu) for kernel in kernels for gpu in expected
    }
    for use in found:
        assert (use.spilled, use.stack) == (0, 0), use
        assert 4 < use.registers <= MOST_REGISTERS, use
        numbers = NUMBERS_SHARED.get(use.kernel.partition("<")[0], 0)
        assert use.shared == numbers * 4, use  # in float, for halves too
