"""What ``__CUDA_ARCH__`` decides: device code has it, host code hasn't, as with CUDA's two passes."""

from __future__ import annotations

from pathlib import Path

import pytest

import opwright
from opwright.cuda.emulation.architecture import merge_texts, uses_architecture
from opwright.cuda.emulation.regions import regions
from opwright.errors import CompileError

CHOOSING = """#include <opwright.h>
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 600
__device__ double add(double *a, double v) { return -1; }
#else
__device__ double add(double *a, double v) { return atomicAdd(a, v); }
#endif
#ifdef __CUDA_ARCH__
#define SIDE __device__
#include "device_only.h"
#else
#define SIDE
#endif
SIDE inline int where() {
#ifdef __CUDA_ARCH__
  return threadIdx.x + __CUDA_ARCH__ / 100 * 10;
#else
  return -7;
#endif
}
template <class T>
__host__ __device__ inline T side(T x) {
#if defined(__CUDA_ARCH__)
  return x + 1;
#else
  return x + 1000;
#endif
}
struct Number {
  int a;
  __host__ __device__ Number(int v) : a(v) {}
  __host__ __device__ int times() const {
#ifdef __CUDA_ARCH__
    return a * 2;
#else
    return a * 3;
#endif
  }
#ifdef __CUDA_ARCH__
  __device__ int block() const { return blockIdx.x + FROM_DEVICE; }
#endif
};
namespace inner {
#if __CUDA_ARCH__ >= 700
__global__ void k(int *y, double *sum) {
  y[threadIdx.x] = where() + side(100) + Number(1000).times() + Number(1).block();
  add(sum, 2);
}
#else
__global__ void k(int *y, double *sum) {}
#endif
}
OPWRIGHT("chosen(n: int) -> (there: i32[3], here: i32[2], sum: f64[])")
void chosen(int64_t n, Tensor<int32_t, 1> there, Tensor<int32_t, 1> here, Tensor<double, 0> sum, cudaStream_t stream) {
  *sum.data() = 0;
  inner::k<<<1, 3, 0, stream>>>(there.data(), sum.data());
  here[0] = side(int(n));
  here[1] = where() + Number(100).times();
}
"""


@pytest.mark.slow
def test_each_side_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "chosen.cu"
    path.write_text(CHOOSING)
    (tmp_path / "device_only.h").write_text("enum { FROM_DEVICE = 4000 };\n")
    ops = opwright.load(path, backend="emulate")
    device, host, total = ops.chosen(5)
    assert device.tolist() == [80 + 101 + 2000 + 4000 + i for i in range(3)]
    assert host.tolist() == [1005, 293]
    assert total.item() == 6
    (tmp_path / "device_only.h").write_text("enum { FROM_DEVICE = 5000 };\n")  # read in the device's pass alone
    assert opwright.load(path, backend="emulate", namespace="chosen_again").chosen(5)[0][0].item() == 7181


@pytest.mark.slow
def test_a_mistake_is_reported_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.cu"
    path.write_text(CHOOSING.replace("side(int(n))", "undefined_name"))
    (tmp_path / "device_only.h").write_text("enum { FROM_DEVICE };\n")
    with pytest.raises(CompileError, match=r"wrong\.cu:56:.*undefined_name"):
        opwright.load(path, backend="emulate").chosen(5)


def test_compute_capability_and_macro_agree(tmp_path: Path) -> None:
    path = tmp_path / "capability.cu"
    path.write_text("""#include <opwright.h>
    __global__ void asked(int *y) { *y = __CUDA_ARCH__; }
    OPWRIGHT("capability() -> (y: i32[2])")
    void capability(Tensor<int32_t, 1> y, cudaStream_t stream) {
      cudaDeviceProp p;
      OPWRIGHT_CUDA_CHECK(cudaGetDeviceProperties(&p, 0));
      asked<<<1, 1, 0, stream>>>(y.data());
      y[1] = p.major * 100 + p.minor * 10;
    }
    """)
    macro, capability = opwright.load(path, backend="emulate").capability().tolist()
    assert macro == capability >= 700


def test_only_sources_that_mention_it_are_preprocessed_twice(tmp_path: Path) -> None:
    (tmp_path / "with.cu").write_text("#ifdef __CUDA_ARCH__\n#endif\n")
    (tmp_path / "without.cu").write_text("int i;\n")
    assert uses_architecture(f'# 1 "{tmp_path}/with.cu"\n\n')
    assert not uses_architecture(f'# 1 "{tmp_path}/without.cu"\nint i;\n# 1 "/usr/include/x.h" 1 3\n')
    assert not uses_architecture(
        f'# 0 "<built-in>"\n# 1 "{tmp_path}/without.cu"\nint i;\n# 1 "{tmp_path}/with.cu" 1 3\n'
    )


def placed(text: str) -> str:
    return f'# 1 "/project/k.cu"\n{text}'


def test_lines_stay_where_they_were() -> None:
    host = "__device__ int a() {\n  return 1;\n}\n\nint b();\n"
    device = "__device__ int a() {\n  return\n 2; }\n\n\nint b();\n"
    found = merge_texts(placed(host), placed(device.replace("\n\n\nint", "\n\nint")))
    (region,) = regions(found)
    assert "return\n 2;" in found
    assert region.place(found.index("int b")).line == 5


@pytest.mark.parametrize(
    ("host", "device", "line", "name"),
    [
        ("using real = double;", "using real = float;", 1, "real"),
        ("struct S {\n  double a;\n};", "struct S {\n  float a;\n};", 2, "a"),
        ("struct S { int a; };\n", "\nstruct S { long a; };", 2, "a"),
        (
            "__host__ __device__ constexpr int f() { return 1; }",
            "__host__ __device__ constexpr int f() { return 2; }",
            1,
            "f",
        ),
        ("void f() { g([] __device__ () { return 1; }); }", "void f() { g([] __device__ () { return 2; }); }", 1, "f"),
        ("struct S { __host__ __device__ S() : a(1) {} };", "struct S { __host__ __device__ S() : a(2) {} };", 1, "S"),
    ],
)
def test_what_both_sides_would_see_differently(host: str, device: str, line: int, name: str) -> None:
    with pytest.raises(CompileError) as caught:
        merge_texts(placed(host), placed(device))
    head, fix = str(caught.value).split("\n")
    assert head.startswith(f"/project/k.cu:{line}: error: {name} depends on __CUDA_ARCH__, and under emulation")
    assert fix.startswith("  likely fix: use __CUDA_ARCH__ in function bodies or for __device__ functions")


@pytest.mark.parametrize(
    ("host", "device", "there", "gone"),
    [
        ("int f() { return 1; }", "int f() { return 2; }", "return 1", "return 2"),  # nvcc compiles the host's alone
        ("int x;", "int g() { return 2; } int x;", "int x", "return 2"),
        ("__device__ int f() { return 1; }", "", "", "return 1"),
        ("__constant__ int c[1];", "__constant__ int c[2];", "c[2]", "c[1]"),
        ("int x;", "int x;\nstatic_assert(A >= 700);", "static_assert(A >= 700);", "!"),
    ],
)
def test_whose_it_is_says_which_one_stays(host: str, device: str, there: str, gone: str) -> None:
    found = merge_texts(placed(host), placed(device))
    assert there in found
    assert gone not in found
