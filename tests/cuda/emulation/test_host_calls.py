"""Host code that comes to what only a kernel's threads can do: refused at its line, or an error when it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import opwright
from opwright.cuda.emulation.rewrite import Rewriter
from opwright.errors import CompileError

DEVICE = "__device__ int id() { return threadIdx.x; }\n"
RUN = """
#include <opwright.h>
struct Place {
  __device__ int x() const { return threadIdx.x; }
};
__device__ int sum_of(int mine) { return __syncthreads_count(__shfl_sync(~0u, mine, 0)); }
struct Group {
  __device__ int sum() const { return sum_of(1); }
};
__host__ __device__ inline int both(int way) { return way ? blockIdx.x : 5; }
template <class T> __global__ void fill(T *y) { y[threadIdx.x] = both(0) + Place().x() + Group().sum(); }
OPWRIGHT("go(way: int) -> (y: i32[4])")
void go(int64_t way, Tensor<int32_t, 1> y, cudaStream_t stream) {
  void (*kernel)(int32_t *) = fill<int32_t>;
  if (way == 0) kernel<<<1, 4, 0, stream>>>(y.data());
  if (way == 1) kernel(y.data());
  if (way == 2) y[0] = both(1);
  if (way == 3) y[0] = Place().x();
  if (way == 4) y[0] = Group().sum();
}
"""


def rewritten(text: str) -> str:
    return Rewriter()(f'# 1 "/project/k.cu"\n{text}', lambda words: "")


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (
            f"{DEVICE}int f() {{ return id(); }}",
            "calls id, a __device__ function\n  likely fix: mark that __host__ __dev",
        ),
        ("template <int n> __device__ int q();\nint f() { g(q<3>()); }", "calls q, a __device__ function"),
        (f"{DEVICE}struct S {{ int f() {{ return 1 + id(); }} }};", "calls id, a __device__ function"),
        (
            "\nvoid f() { __syncthreads(); }",
            "calls __syncthreads, which only a kernel's threads can\n  likely fix: mark it",
        ),
        ("\nint f(int n) { return n * blockDim.x; }", "asks for blockDim, which only a kernel's threads have"),
    ],
)
def test_what_nvcc_refuses(code: str, what: str) -> None:
    with pytest.raises(CompileError) as caught:
        rewritten(code)
    assert str(caught.value).startswith(
        f"/project/k.cu:2: error: host code {what.replace('mark it', 'mark its function')}"
    )


@pytest.mark.parametrize(
    "code",
    [
        f"{DEVICE}__global__ void k() {{ id(); }} __host__ __device__ int f() {{ return id(); }}",
        f"{DEVICE}int id(int); int f() {{ return id(3); }}",
        f"{DEVICE}int f() {{ return s.id() + std::id() + sizeof(id()); }} decltype(id()) g() {{ decltype(id()) x; }}",
        f"{DEVICE}void f() {{ each([=] __device__ (int i) {{ id(); __syncthreads(); }}); k<id><<<1, 1>>>(); }}",
        "struct S { __device__ int id(); }; int f() { return id(); }",
        "void __syncwarp(); void f() { __syncwarp(); dim3 blockDim(3); g(blockDim.x); }",
    ],
)
def test_what_host_code_may_do(code: str) -> None:
    rewritten(code)


def test_what_a_text_cannot_tell_is_an_error_when_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "asked.cu"
    path.write_text(RUN)
    go = opwright.load(path, backend="emulate").go
    for way, what, line in (
        (1, "the kernel fill", 11),
        (2, "blockIdx", 10),
        (3, "threadIdx", 4),
        (4, "__syncthreads_count", 6),
    ):
        with pytest.raises(opwright.KernelError) as caught:
            go(way)
        assert f"{what} outside of a kernel, in host code [{path}:{line}]" in str(caught.value)
        assert "likely fix: launch the kernel, kernel<<<grid, block>>>(...), and call __device__ functions from" in str(
            caught.value
        )
    assert torch.equal(go(0), torch.arange(9, 13, dtype=torch.int32))


def test_only_kernels_that_a_pointer_may_call_ask_where_they_are() -> None:
    kernel = "__global__ void k() {}\n"
    assert "only_in_kernel" in rewritten(f"{kernel}void f() {{ auto p = k; }}")
    for use in ("k<<<1, 1>>>()", "cudaLaunchKernel((void *)k, g, b)", "cudaFuncSetAttribute(&k, a, n)"):
        assert "only_in_kernel" not in rewritten(f"{kernel}void f() {{ {use}; }}")
