"""Gradients and residuals that nobody wants: a kernel that writes them without a test gets memory for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import Operators

Write = Callable[..., Path]
Leaf = Callable[..., torch.Tensor]

KERNELS = """
OPWRIGHT("product(x: T[M, N], y: T[M, N]) -> (z: T[M, N]) where T in (f32, f64)")
template <class T>
void product(Tensor<const T, 2> x, Tensor<const T, 2> y, Tensor<T, 2> z) {
  for (int64_t i = 0; i < z.numel(); ++i) z.flat(i) = x.flat(i) * y.flat(i);
}
OPWRIGHT("product_backward(grad_z: T[M, N], x: T[M, N], y: T[M, N]) -> (grad_x: T[M, N], grad_y: T[M, N])")
template <class T>
void product_backward(Tensor<const T, 2> g, Tensor<const T, 2> x, Tensor<const T, 2> y, Tensor<T, 2> gx,
                      Strided<T, 2> gy) {
  OPWRIGHT_CHECK(gy.size(1) == x.size(1), "sizes are there, too");
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) gx[i][j] = g[i][j] * y[i][j], gy(i, j) = g[i][j] * x[i][j];
}

OPWRIGHT("half_tested(x: T[N], y: T[N]) -> (z: T[N]) where T in (f64)")
template <class T>
void half_tested(Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 1> z) {
  for (int64_t i = 0; i < z.numel(); ++i) z[i] = x[i] * y[i];
}
OPWRIGHT("half_tested_backward(grad_z: T[N], x: T[N], y: T[N]) -> (grad_x: T[N], grad_y: T[N])")
template <class T>
void half_tested_backward(Tensor<const T, 1> g, Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 1> gx,
                          Tensor<T, 1> gy) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (gx) gx[i] = g[i] * y[i];
    gy[i] = gx.needed();
  }
}

OPWRIGHT("rows(x: T[N], y: T[N]) -> (z: T[N]) batched where T in (f64)")
template <class T>
void rows(Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 1> z) {
  for (int64_t i = 0; i < z.size(0); ++i) z[i] = x[i] * y[i];
}
OPWRIGHT("rows_backward(grad_z: T[N], x: T[N], y: T[N]) -> (grad_x: T[N], grad_y: T[N]) batched")
template <class T>
void rows_backward(Tensor<const T, 1> g, Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 1> gx, Tensor<T, 1> gy) {
  for (int64_t i = 0; i < x.size(0); ++i) gx[i] = g[i] * y[i], gy[i] = g[i] * x[i];
}

OPWRIGHT("square(x: T[N]) -> (y: T[N]; h: T[N]) where T in (f64)")
template <class T>
void square(Tensor<const T, 1> x, Tensor<T, 1> y, Tensor<T, 1> h) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] * x[i], h[i] = 2 * x[i];
}
OPWRIGHT("square_backward(grad_y: T[N], h: T[N]) -> (grad_x: T[N])")
template <class T>
void square_backward(Tensor<const T, 1> g, Tensor<const T, 1> h, Tensor<T, 1> gx) {
  for (int64_t i = 0; i < g.size(0); ++i) gx[i] = g[i] * h[i];
}

OPWRIGHT("positive(x: T[N]) -> (y: T[?K<=N]; at: i64[?K<=N]) where T in (f64)")
template <class T>
void positive(Tensor<const T, 1> x, Resizable<T, 1> y, Resizable<int64_t, 1> at) {
  int64_t k = 0;
  for (int64_t i = 0; i < x.size(0); ++i)
    if (x[i] > 0) y[k] = x[i], at[k++] = i;
  y.resize(k);
  at.resize(k);
}
OPWRIGHT("positive_backward(grad_y: T[K], at: i64[K]) -> (grad_x: T[N])")
template <class T>
void positive_backward(Tensor<const T, 1> g, Tensor<const int64_t, 1> at, Tensor<T, 1> gx) {
  for (int64_t i = 0; i < gx.size(0); ++i) gx[i] = 0;
  for (int64_t i = 0; i < g.size(0); ++i) gx[at[i]] = g[i];
}
OPWRIGHT("positive_unbounded(x: T[N]) -> (y: T[?K]; at: i64[?K]) where T in (f64)")
template <class T>
void positive_unbounded(Tensor<const T, 1> x, Resizable<T, 1> y, Resizable<int64_t, 1> at) {
  int64_t k = 0;
  for (int64_t i = 0; i < x.size(0); ++i) k += x[i] > 0;
  auto values = y.resize(k);
  auto places = at.resize(k);
  k = 0;
  for (int64_t i = 0; i < x.size(0); ++i)
    if (x[i] > 0) values[k] = x[i], places[k++] = i;
}
OPWRIGHT("positive_unbounded_backward(grad_y: T[K], at: i64[K]) -> (grad_x: T[N])")
template <class T>
void positive_unbounded_backward(Tensor<const T, 1> g, Tensor<const int64_t, 1> at, Tensor<T, 1> gx) {
  positive_backward(g, at, gx);
}
"""

IN_C = """
OPWRIGHT("multiply(x: f32[N], y: f32[N]) -> (z: f32[N]; kept: f32[N])")
void multiply(int N, const float *x, const float *y, float *z, float *kept) {
  for (int i = 0; i < N; ++i) z[i] = x[i] * y[i], kept[i] = y[i];
}
OPWRIGHT("multiply_backward(grad_z: f32[N], x: f32[N], kept: f32[N]) -> (grad_x: f32[N], grad_y: f32[N])")
void multiply_backward(int N, const float *grad_z, const float *x, const float *kept, float *grad_x, float *grad_y) {
  for (int i = 0; i < N; ++i) grad_x[i] = grad_z[i] * kept[i], grad_y[i] = grad_z[i] * x[i];
}
"""

IN_CUDA = """
OPWRIGHT("emulated(x: f32[N], y: f32[N]) -> (z: f32[N]) launch over N, threads 32")
__global__ void emulated(Tensor<const float, 1> x, Tensor<const float, 1> y, Tensor<float, 1> z) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < z.size(0)) z[i] = x[i] * y[i];
}
OPWRIGHT("emulated_backward(grad_z: f32[N], x: f32[N], y: f32[N]) -> (grad_x: f32[N], grad_y: f32[N]) "
         "launch over N, threads 32")
__global__ void emulated_backward(Tensor<const float, 1> g, Tensor<const float, 1> x, Tensor<const float, 1> y,
                                  Tensor<float, 1> gx, Tensor<float, 1> gy) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < gx.size(0)) gx[i] = g[i] * y[i], gy[i] = g[i] * x[i];
}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Operators:
    path = tmp_path_factory.mktemp("unwanted") / "unwanted.cpp"
    path.write_text(f"#include <opwright.h>\n{KERNELS}")
    return opwright.load(path)


def assert_each_gradient_alone(op: Any, x: torch.Tensor, y: torch.Tensor) -> None:
    """Of a product."""
    for wanted, other in ((0, y), (1, x)):
        inputs = [t.detach().requires_grad_(i == wanted) for i, t in enumerate((x, y))]
        result = op(*inputs)
        (gradient,) = torch.autograd.grad(result, inputs[wanted], torch.ones_like(result))
        torch.testing.assert_close(gradient, other.expand_as(gradient).detach())


@pytest.mark.parametrize("shape", [(3, 5), (0, 5), (300, 100)])
def test_a_gradient_that_is_written_unasked(ops: Operators, shape: tuple[int, ...]) -> None:
    assert_each_gradient_alone(ops.product, torch.rand(shape), torch.rand(shape))


def test_of_a_batched_kernel(ops: Operators) -> None:
    assert_each_gradient_alone(ops.rows, torch.rand(4, 3, 5).double(), torch.rand(4, 3, 5).double())


def test_what_is_tested_comes_as_before(ops: Operators, leaf: Leaf) -> None:
    three = [leaf(3).detach() for _ in range(3)]
    assert ops.half_tested_backward(*three, [False, True])[1].tolist() == [0] * 3
    assert ops.half_tested_backward(*three, [True, True])[1].tolist() == [1] * 3
    assert ops.half_tested_backward(*three, [True, False])[1] is None


def test_a_residual_that_is_written_unasked(ops: Operators, leaf: Leaf) -> None:
    x = leaf(4)
    with torch.no_grad():
        torch.testing.assert_close(ops.square(x), x * x)
    (gradient,) = torch.autograd.grad(ops.square(x).sum(), x)
    torch.testing.assert_close(gradient, 2 * x.detach())


@pytest.mark.parametrize("name", ["positive", "positive_unbounded"])
def test_a_residual_whose_length_the_kernel_decides(ops: Operators, name: str) -> None:
    x, op = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64), getattr(ops, name)
    assert op(x).tolist() == [1, 3]
    (gradient,) = torch.autograd.grad(op(x.requires_grad_()).sum(), x)
    assert gradient.tolist() == [1, 0, 1]


def test_pointers_of_c(write: Write) -> None:
    multiply = opwright.load(write(IN_C, "unwanted_in_c.c").with_suffix(".c")).multiply
    x, y = torch.rand(7), torch.rand(7)
    torch.testing.assert_close(multiply(x, y), x * y)
    assert_each_gradient_alone(multiply, x, y)


@pytest.mark.slow
def test_launched_kernels(write: Write) -> None:
    op = opwright.load(write(IN_CUDA, "unwanted_cuda.cu"), backend=opwright.emulate(check=True)).emulated
    assert_each_gradient_alone(op, torch.rand(100), torch.rand(100))


def test_more_memory_than_there_is(write: Write) -> None:
    text = """
OPWRIGHT("huge(x: f32[N], y: f32[N]) -> (z: f32[N]; h: f32[1 << 50])")
void huge(Tensor<const float, 1> x, Tensor<const float, 1>, Tensor<float, 1> z, Tensor<float, 1> h) {
  h[0] = z[0] = x[0];
}
""".replace("1 << 50", str(1 << 50))
    op = opwright.load(write(text, "unwanted_huge.cpp")).huge
    with pytest.raises(opwright.KernelError, match=r"no memory for a result that isn't wanted") as error:
        op(torch.zeros(1), torch.zeros(1))
    assert "likely fix: test it before it is written: if (grad_x) ..." in str(error.value)
