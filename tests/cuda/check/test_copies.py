"""Copies of structs whose padding, or a member of which, nobody has written: no fault until it is used."""

from __future__ import annotations

import pytest
import torch

import opwright
from opwright.cuda import emulation
from tests.cuda.check.conftest import ORDERS

# By name: the members, what writes those of `s` that are written, and what reads one of them.
STRUCTS = {
    "byte_after_short": ("short a; char b;", "s.a = short(x), s.b = 1", "s.a + s.b"),
    "gap": ("char a; int b;", "s.a = char(x), s.b = 1", "s.a + s.b"),
    "two_words": ("double a; int b;", "s.a = int(x), s.b = 1", "s.a + s.b"),
    "aligned": ("__align__(8) float a; short b;", "s.a = int(x), s.b = 1", "s.a + s.b"),
    "almost_empty": ("__align__(16) float a;", "s.a = int(x) + 1", "s.a"),
    "three_bytes": ("int a; char b[3];", "s.a = x, s.b[0] = s.b[1] = 0, s.b[2] = 1", "s.a + s.b[2]"),
    "bits": ("unsigned a : 7, b : 3; int c;", "s.a = unsigned(x), s.b = 3, s.c = 1", "s.a + s.c"),
    "either": ("int a; union { char b; double c; };", "s.a = x; if (s.a < 9) s.b = 1; else s.c = 1",
               "s.a + (s.a < 9 ? s.b : s.c)"),
    "nested": ("struct { short a; char b; } a; double b; struct { char a; int b; } c[3];",
               "s.a.a = x, s.a.b = 1, s.b = 2; for (auto &each : s.c) each.a = 1, each.b = 2", "s.a.a + s.c[2].a"),
    "at_eight": ("double a; struct { double a; int b; } b;", "s.a = x, s.b.a = int(x), s.b.b = 1", "s.b.a + s.b.b"),
    "without_one": ("double a, unused; float b;", "s.a = int(x), s.b = 1", "s.a + s.b"),
    "without_the_last": ("float a, b, c, unused;", "s.a = int(x), s.b = s.c = 1", "s.a + s.c"),
}  # fmt: skip
KERNEL = """
struct {name}_t {{ {members} }};
__device__ void set({name}_t &s, float x) {{ {set}; }}
__device__ float get(const {name}_t &s) {{ return float({get}); }}
OPWRIGHT("{name}(x: f32[32]) -> (y: f32[32], z: f32[1])")
void {name}(Tensor<const float, 1> x, Tensor<float, 1> y, Tensor<float, 1> z, cudaStream_t stream) {{
  Workspace<{name}_t> all(65, stream);
  copied<<<1, 32, 0, stream>>>(x.data(), all.data(), all.data() + 32);
  read<<<1, 32, 0, stream>>>(all.data(), y.data(), z.data());
}}
"""
TEMPLATES = """
template <class T> __global__ void copied(const float *x, T *p, T *q) {
  __shared__ T s[32];
  const int t = threadIdx.x;
  set(p[t], x[t]);
  __syncthreads();
  if (t % 2) q[t] = p[31 - t];
  else memcpy(&q[t], &p[31 - t], sizeof(T));
  s[t] = q[t];
  __syncthreads();
  for (int half = 16; half; half /= 2) {
    if (t < half && get(s[t + half]) > get(s[t])) s[t] = s[t + half];
    __syncthreads();
  }
  if (t == 0) q[32] = s[0];
}
template <class T> __global__ void read(const T *p, float *y, float *z) {
  y[threadIdx.x] = get(p[32 + threadIdx.x]);
  if (threadIdx.x == 0) *z = get(p[64]);
}
"""
ITS_OWN = """
#include <curand_kernel.h>
#include <cub/cub.cuh>

// The generators' states are copied to a local variable and back.
__global__ void begin(curandState *all) { curand_init(7, threadIdx.x, 0, &all[threadIdx.x]); }
__global__ void draw(curandState *all, float *y) {
  curandState mine = all[threadIdx.x];
  y[threadIdx.x] = curand_uniform(&mine) + curand_normal(&mine);
  all[threadIdx.x] = mine;
}
OPWRIGHT("drawn(x: f32[32]) -> (y: f32[32], z: f32[32])")
void drawn(Tensor<const float, 1>, Tensor<float, 1> y, Tensor<float, 1> z, cudaStream_t stream) {
  Workspace<curandState> all(32, stream);
  begin<<<1, 32, 0, stream>>>(all.data());
  draw<<<1, 32, 0, stream>>>(all.data(), y.data());
  draw<<<1, 32, 0, stream>>>(all.data(), z.data());
}

struct Best { int at; double value; };
struct Better { __device__ Best operator()(const Best &a, const Best &b) const { return a.value > b.value ? a : b; } };
OPWRIGHT("best(x: f32[96]) -> (y: i32[1]) launch over 96 threads 96")
__global__ void best(const float *x, int *y) {
  using Reduce = cub::BlockReduce<Best, 96>;
  __shared__ typename Reduce::TempStorage storage;
  const Best found = Reduce(storage).Reduce(Best{int(threadIdx.x), x[threadIdx.x]}, Better());
  if (threadIdx.x == 0) *y = found.at;
}
"""


def text() -> str:
    """All of them: structs, then the templates that need them, then operators."""
    kernels = [KERNEL.format(name=name, members=m, set=s, get=g) for name, (m, s, g) in STRUCTS.items()]
    parts = [each.split("OPWRIGHT(") for each in kernels]
    operators = [f"OPWRIGHT({operator}" for _, operator in parts]
    return "".join(["#include <opwright.h>", ITS_OWN, *(struct for struct, _ in parts), TEMPLATES, *operators])


@pytest.fixture(scope="module")
def ops() -> opwright.Operators:
    return opwright.load_inline("copies", cuda=text(), backend=opwright.emulate(check=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", STRUCTS)
def test_a_struct(ops: opwright.Operators, name: str) -> None:
    x = torch.randperm(32, generator=torch.Generator().manual_seed(3)).float()
    for kind, seed in ORDERS:
        with emulation.order(kind, seed=seed):
            y, largest = getattr(ops, name)(x)
        assert torch.equal(y, x.flip(0) + 1)
        assert largest == 32


@pytest.mark.slow
def test_states_of_a_generator(ops: opwright.Operators) -> None:
    y, z = ops.drawn(torch.zeros(32))
    assert len({*y.tolist(), *z.tolist()}) == 64


@pytest.mark.slow
def test_a_collective_of_structs(ops: opwright.Operators) -> None:
    x = torch.randperm(96, generator=torch.Generator().manual_seed(3)).float()
    assert ops.best(x) == x.argmax()
