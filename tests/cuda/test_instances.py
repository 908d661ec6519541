"""`ops=` names instances of kernel templates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright

Write = Callable[..., Path]

INSTANCES = """
typedef double number;
template <class T, class U = T, int TIMES = 3> __global__ void times(T *p, int n);
template <class T, class U, int TIMES>
__global__ void times(T *p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= U(TIMES);
}
template <class T, class G = T, int BLOCK = 64>
__global__ void __launch_bounds__(BLOCK) step(T *p, const G *g, int n, float lr) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) p[i] -= lr * g[i];
}
template <int TIMES>
__global__ void scaled(number *p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= TIMES;
}
__global__ void plain(float *p, int n) {}
"""
STEP = "step(p: f32[n]!, g: f64[n], lr: float) launch over n, threads 64"


def test_ops_name_an_instance_of_a_template(write: Write) -> None:
    ops = {"step<float, double, 64>": STEP, "scaled< 3 >": "scaled(p: f64[n]!) launch over n, threads 32"}
    loaded = opwright.load(write(INSTANCES, "instances.cu"), ops=ops, backend="emulate")
    p, g = torch.ones(100), torch.arange(100.0).double()
    loaded.step(p, g, 0.5)
    torch.testing.assert_close(p, (1 - 0.5 * g).float())
    q = torch.arange(70.0).double()
    loaded.scaled(q)
    assert torch.equal(q, 3 * torch.arange(70.0).double())


@pytest.mark.parametrize(("instance", "element"), [("step<double>", "f64"), ("step<float, double>", "f32")])
def test_arguments_with_defaults_may_be_left_out(write: Write, instance: str, element: str) -> None:
    signature = f"step(p: {element}[n]!, g: f64[n], lr: float) launch over n, threads 64"
    loaded = opwright.load(write(INSTANCES, f"defaults_{element}.cu"), ops={instance: signature}, backend="emulate")
    p, g = torch.ones(100, dtype=torch.float64 if element == "f64" else torch.float32), torch.arange(100.0).double()
    loaded.step(p, g, 0.5)
    torch.testing.assert_close(p, (1 - 0.5 * g).to(p.dtype))


def test_a_default_may_be_in_a_declaration_before(write: Write) -> None:
    ops = {"times<float>": "times(p: f32[n]!) launch over n, threads 32"}
    loaded = opwright.load(write(INSTANCES, "declared.cu"), ops=ops, backend="emulate")
    p = torch.arange(70.0)
    loaded.times(p)
    assert torch.equal(p, 3 * torch.arange(70.0))


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("step<>", "step is a template of <T, G, int BLOCK = 64>, and ops gives it 0 arguments: <>"),
        ("step<float, double, 64, 1>", "ops gives it 4 arguments: <float, double, 64, 1>"),
        ("plain<float>", "plain is no template, and ops names its instance <float>"),
        ("step<float, float, 64>", "parameter 2 is `const float *g`, expected `const double *g`: its elements are f64"),
        ("step<float", "can't be read as a function; expected its name, as in saxpy, a call, as in crc32"),
        ("missing<float>", "no function missing is declared in it"),
    ],
)
def test_instances_that_are_none(write: Write, function: str, says: str) -> None:
    with pytest.raises(opwright.OpwrightError) as caught:
        opwright.load(write(INSTANCES, "no_instances.cu"), ops={function: STEP}, backend="emulate")
    assert says in str(caught.value)
    assert "likely fix" in str(caught.value) or "expected" in str(caught.value)


TWICE = """
#include <cuda_runtime.h>
__global__ void doubled(int n, const float *x, float *y) {
  const int i = threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
void enqueue(const float *x, cudaStream_t s, float *y, int N) { doubled<<<1, 32, 0, s>>>(N, x, y); }
"""


@pytest.mark.parametrize(
    ("stem", "call"),
    [("by_name", "enqueue"), ("as_stream", "enqueue(x, stream, y, N)"), ("as_s", "enqueue(x, s, y, N)")],
)
def test_a_function_of_ops_gets_the_stream(write: Write, stem: str, call: str) -> None:
    ops = {call: "twice(x: f32[N]) -> (y: f32[N])"}
    loaded = opwright.load(write(TWICE, f"{stem}.cu"), ops=ops, backend="emulate")
    assert torch.equal(loaded.twice(torch.arange(5.0)), 2 * torch.arange(5.0))


def test_the_likely_call_names_the_stream(write: Write) -> None:
    with pytest.raises(opwright.SourceError) as caught:
        opwright.load(write(TWICE, "twice_m.cu"), ops={"enqueue": "twice(x: f32[M]) -> (y: f32[M])"}, backend="emulate")
    assert '"enqueue(x, stream, y, ?)"' in str(caught.value)
