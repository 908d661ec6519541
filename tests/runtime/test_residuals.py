"""Residuals whose gradient nobody takes: saved at every level of torch.func, and never taken for constants unasked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.func import grad, jacrev

import opwright
from opwright import Operators, UnsupportedError

Leaf = Callable[..., torch.Tensor]

# y = x^2, h = 2 x; z = 3 y, h = 3, for which there is a second backward; the positive ones, and where they were.
KERNELS = """
OPWRIGHT("square(x: T[N]) -> (y: T[N]; h: T[N])")
template <class T>
void square(Tensor<const T, 1> x, Tensor<T, 1> y, Tensor<T, 1> h) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    y[i] = x[i] * x[i];
    if (h) h[i] = 2 * x[i];
  }
}
OPWRIGHT("square_backward(grad_y: T[N], h: T[N]) -> (grad_x: T[N])")
template <class T>
void square_backward(Tensor<const T, 1> g, Tensor<const T, 1> h, Tensor<T, 1> gx) {
  for (int64_t i = 0; i < g.size(0); ++i) gx[i] = g[i] * h[i];
}

OPWRIGHT("triple(x: T[N]) -> (y: T[N]; h: T[N])")
template <class T>
void triple(Tensor<const T, 1> x, Tensor<T, 1> y, Tensor<T, 1> h) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    y[i] = 3 * x[i];
    if (h) h[i] = 3;
  }
}
OPWRIGHT("triple_backward(grad_y: T[N], x: T[N], h: T[N]) -> (grad_x: T[N])")
template <class T>
void triple_backward(Tensor<const T, 1> g, Tensor<const T, 1>, Tensor<const T, 1> h, Tensor<T, 1> gx) {
  for (int64_t i = 0; i < g.size(0); ++i) gx[i] = g[i] * h[i];
}
OPWRIGHT("triple_backward_backward(grad_grad_x: T[N], x: T[N], h: T[N]) -> (grad_grad_y: T[N], grad_x: T[N])")
template <class T>
void triple_backward_backward(Tensor<const T, 1> g, Tensor<const T, 1>, Tensor<const T, 1> h, Tensor<T, 1> ggy,
                              Tensor<T, 1> gx) {
  for (int64_t i = 0; i < g.size(0); ++i) {
    if (ggy) ggy[i] = g[i] * h[i];
    if (gx) gx[i] = 0;
  }
}

OPWRIGHT("positive(x: T[N]) -> (y: T[?K<=N+1]; at: i64[?K<=N+1])")
template <class T>
void positive(Tensor<const T, 1> x, Resizable<T, 1> y, Resizable<int64_t, 1> at) {
  int64_t k = 0;
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (!(x[i] > 0)) continue;
    y[k] = x[i];
    if (at) at[k] = i;
    ++k;
  }
  y.resize(k);
  at.resize(k);
}
OPWRIGHT("positive_backward(grad_y: T[K], at: i64[K]) -> (grad_x: T[N])")
template <class T>
void positive_backward(Tensor<const T, 1> g, Tensor<const int64_t, 1> at, Tensor<T, 1> gx) {
  for (int64_t i = 0; i < gx.size(0); ++i) gx[i] = 0;
  for (int64_t i = 0; i < g.size(0); ++i) gx[at[i]] = g[i];
}

OPWRIGHT("square_(y: T[N]!) -> (; old: T[N])")
template <class T>
void square_(Tensor<T, 1> y, Tensor<T, 1> old) {
  for (int64_t i = 0; i < y.size(0); ++i) {
    if (old) old[i] = y[i];
    y[i] *= y[i];
  }
}
OPWRIGHT("square__backward(grad_y: T[N], old: T[N]) -> (grad_y: T[N])")
template <class T>
void square__backward(Tensor<const T, 1> g, Tensor<const T, 1> old, Tensor<T, 1> gy) {
  for (int64_t i = 0; i < g.size(0); ++i) gy[i] = 2 * old[i] * g[i];
}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Operators:
    path = tmp_path_factory.mktemp("residuals") / "residuals.cpp"
    path.write_text(f"#include <opwright.h>\n{KERNELS}")
    return opwright.load(path)


@pytest.mark.slow
def test_torch_func_inside_of_itself(ops: Operators, leaf: Leaf) -> None:
    x = leaf(3).detach()

    def f(x: torch.Tensor) -> Any:
        return ops.triple(x).pow(2).sum()

    assert torch.equal(grad(f)(x), 18 * x)
    torch.testing.assert_close(grad(lambda x: grad(f)(x).sum())(x), torch.full_like(x, 18))
    torch.testing.assert_close(jacrev(jacrev(f))(x), 18 * torch.eye(3, dtype=x.dtype))
    torch.testing.assert_close(torch.vmap(grad(f))(torch.stack([x, -x])), torch.stack([18 * x, -18 * x]))


def test_a_length_that_the_kernel_decides(ops: Operators) -> None:
    x = torch.tensor([1.0, -2.0, 3.0])

    def f(x: torch.Tensor) -> Any:
        return ops.positive(x).pow(2).sum()

    assert grad(f)(x).tolist() == [2, 0, 6]
    with pytest.raises(UnsupportedError, match=r"positive_backward\(\) has no second derivative"):
        grad(lambda x: grad(f)(x).sum())(x)


@pytest.mark.slow
def test_compiled(ops: Operators, leaf: Leaf) -> None:
    x = leaf(3).detach()
    run = torch.compile(grad(lambda x: ops.square(x).pow(2).sum()), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(run(x), 4 * x**3)


@pytest.mark.parametrize("view", [False, True])
def test_a_second_derivative_through_what_was_overwritten(ops: Operators, leaf: Leaf, view: bool) -> None:
    x = leaf(6)
    y = x * 1
    ops.square_(y[::2] if view else y)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    expected = 2 * x.detach()
    if view:
        expected[1::2] = 1
    torch.testing.assert_close(first.detach(), expected)
    with pytest.raises(UnsupportedError, match=r"square__backward\(\) has no second derivative"):
        first.sum().backward()


def test_the_recorded_form_returns_them_all(ops: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    y, h = ops.triple.overloadpacket.recorded(x)
    assert (y.tolist(), h.tolist()) == ((3 * x).tolist(), [3.0] * 3)
    assert (y.requires_grad, h.requires_grad) == (True, False)
    old = ops.square_.overloadpacket.recorded(base := x * 1)
    assert (old.tolist(), base.tolist()) == (x.tolist(), (x * x).tolist())


def test_the_recorded_form_may_overwrite_a_view_as_the_public_one_may(ops: Operators, leaf: Leaf) -> None:
    x = leaf(6)
    base = x * 1
    old = ops.square_.overloadpacket.recorded(base[::2])
    assert (old.tolist(), base[::2].tolist()) == (x[::2].tolist(), (x[::2] * x[::2]).tolist())
    (slope,) = torch.autograd.grad(base.sum(), x)
    expected = torch.ones_like(x)
    expected[::2] = 2 * x.detach()[::2]
    torch.testing.assert_close(slope, expected)
