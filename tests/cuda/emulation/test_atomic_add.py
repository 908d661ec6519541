"""``atomic_add`` in CUDA code: emulated, and compiled by what there is. ``atomicAdd`` of two halves: emulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright.codegen import KernelSource
from opwright.cuda.nvcc import Nvcc
from opwright.cuda.nvrtc import Nvrtc
from opwright.toolchain import Options

SOURCE = """#include <opwright.h>

OPWRIGHT("counted(x: T[N], at: i64[N], zeros: T[M]!) where T in (f32, f64, f16, bf16, i8, i16, i32, i64)"
         " launch over N, threads 64")
template <class T>
__global__ void counted(Tensor<const T, 1> x, Tensor<const int64_t, 1> at, Tensor<T, 1> zeros) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= x.size(0)) return;
  if (i % 2) atomic_add(&zeros[at[i]], x[i]);
  else atomic_add(zeros(at[i]), x[i]);
}
"""
TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64)

# H: the type of one, H2: of two, E: the element type's short name.
PAIRS = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
OPWRIGHT("crowd_E(x: E[640], sums: E[4]!) launch over 640 threads 64")
__global__ void crowd_E(const H *x, H *sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  H2 *pairs = reinterpret_cast<H2 *>(sums), value;
  value.x = x[i];
  value.y = H(1.0f);
  if (i % 4 == 0) atomicAdd(pairs, value);
  if (i % 4 == 1) atomicAdd(sums + 1, value.x);
  if (i % 4 == 2) atomicAdd_system(pairs + 1, value);
  if (i % 4 == 3) atomicAdd(pairs + 1, H2(H(0.0f), H(0.0f)));
}
OPWRIGHT("single_E(pair: E[2]!) -> (before: E[2]) launch over 1 threads 1")
__global__ void single_E(H *pair, H *before) {
  *reinterpret_cast<H2 *>(before) = atomicAdd(reinterpret_cast<H2 *>(pair), H2(H(5.0f), H(-7.0f)));
}
OPWRIGHT("beside_E(at: int, pair: E[3]!) launch over 64 threads 64")
__global__ void beside_E(int at, H *pair) {
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<H2 *>(pair), H2(H(1.0f), H(0.0f)));
  if (threadIdx.x == 40) pair[at] = H(3.0f);
}
"""
HALVES = {"f16": ("__half", torch.float16), "bf16": ("__nv_bfloat16", torch.bfloat16)}


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["plain", "checked"])
def pairs(request: pytest.FixtureRequest) -> opwright.Operators:
    """Operators that add pairs of halves, of both types."""
    texts = [
        PAIRS.replace("_E", f"_{name}").replace("E[", f"{name}[").replace("H2", f"{h}2").replace("H(", f"{h}(")
        .replace("H *", f"{h} *")
        for name, (h, _) in HALVES.items()
    ]  # fmt: skip
    name = f"atomic_pairs{'_checked' * request.param}"
    return opwright.load_inline(name, cuda="".join(texts), backend=opwright.emulate(check=request.param))


@pytest.mark.parametrize("name", HALVES)
def test_two_halves_are_added_each(pairs: opwright.Operators, name: str) -> None:
    dtype = HALVES[name][1]
    x = (torch.arange(640) % 3 - 1).to(dtype)
    sums = torch.tensor([10, 20, 30, 40], dtype=dtype)
    getattr(pairs, f"crowd_{name}")(x, sums)
    of = [x[k::4].double().sum().item() for k in range(4)]
    assert sums.tolist() == [10 + of[0], 180 + of[1], 30 + of[2], 200]


@pytest.mark.parametrize("name", HALVES)
def test_two_halves_are_returned(pairs: opwright.Operators, name: str) -> None:
    pair = torch.tensor([2, 3], dtype=HALVES[name][1])
    before = getattr(pairs, f"single_{name}")(pair)
    assert (before.tolist(), pair.tolist()) == ([2, 3], [7, -4])


@pytest.mark.slow
@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("pairs", [True], ids=["checked"], indirect=True)
def test_a_neighbour_of_a_half_is_written_too(pairs: opwright.Operators, name: str) -> None:
    pair = torch.zeros(3, dtype=HALVES[name][1])
    beside = getattr(pairs, f"beside_{name}")
    beside(2, pair)
    assert pair.tolist() == [1, 0, 3]
    with pytest.raises(opwright.KernelError, match="data race"):
        beside(1, pair)


@pytest.mark.slow
@pytest.mark.parametrize("check", [pytest.param(False, marks=pytest.mark.exhaustive), True])
def test_emulated(tmp_path: Path, check: bool) -> None:
    (tmp_path / "emulated_atomic.cu").write_text(SOURCE.replace("", ""))
    ops = opwright.load(tmp_path / "emulated_atomic.cu", backend=opwright.emulate(check=check))
    at = torch.arange(300) % 3
    for dtype in TYPES[:5] if check else TYPES:
        zeros = torch.zeros(3).to(dtype)
        ops.counted(torch.ones(300).to(dtype), at, zeros)
        assert zeros.tolist() == [100] * 3, dtype


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", [Nvrtc(), Nvcc()], ids=["nvrtc", "nvcc"])
def test_compilers_take_it(backend: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if problem := backend.missing():
        pytest.skip(problem)
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    path = tmp_path / "compiled_atomic.cu"
    path.write_text(SOURCE.replace("", ""))
    source = KernelSource(path, Options(), backend=backend)
    for types in source.assignments("cuda", {str(dtype).removeprefix("torch.") for dtype in TYPES}):
        source.library(types, device="cuda")
