"""What is overwritten through a view where gradients are recorded: right, or refused before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright import Operators

Write = Callable[..., Path]
# y = x * y, its old value kept for x's gradient.
TIMES = """
OPWRIGHT("times(x: T[N], y: T[N]!) -> (; old: T[N])")
template <class T>
void times(Tensor<const T, 1> x, Tensor<T, 1> y, Tensor<T, 1> old) {
  for (int64_t i = 0; i < y.numel(); ++i) {
    if (old) old[i] = y[i];
    y[i] *= x[i];
  }
}
OPWRIGHT("times_backward(grad_y: T[N], x: T[N], old: T[N]) -> (grad_x: T[N], grad_y: T[N])")
template <class T>
void times_backward(Tensor<const T, 1> g, Tensor<const T, 1> x, Tensor<const T, 1> old, Tensor<T, 1> gx,
                    Tensor<T, 1> gy) {
  for (int64_t i = 0; i < g.numel(); ++i) {
    if (gx) gx[i] = g[i] * old[i];
    if (gy) gy[i] = g[i] * x[i];
  }
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("by_backward", [True, False])
def test_a_view_and_a_residual(write: Write, by_backward: bool) -> None:
    ops = opwright.load(write(TIMES, f"times_view_{by_backward}.cpp"))
    x, base = (torch.rand(n, dtype=torch.float64, requires_grad=True) for n in (3, 6))
    weights = torch.arange(1.0, 7.0, dtype=torch.float64)

    def run(own: bool) -> tuple[torch.Tensor, ...]:
        y = base * 1
        if own:
            ops.times(x, y[::2])
        else:
            y[::2].mul_(x)
        out = (y * weights).sum()
        if not by_backward:
            return (y.detach(), *torch.autograd.grad(out, (x, base)))
        for t in (x, base):
            t.grad = None
        out.backward()
        return (y.detach(), *(t.grad for t in (x, base) if t.grad is not None))

    for got, expected in zip(run(own=True), run(own=False), strict=True):
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("asked", ["x", "base"])
def test_one_of_the_gradients_of_a_view(notation: Operators, asked: str) -> None:
    x, base = torch.ones(2, requires_grad=True), torch.ones(4, requires_grad=True)
    y = base * 1
    notation.add_scaled(3.0, x, y[1:3])
    (gradient,) = torch.autograd.grad(y.sum(), x if asked == "x" else base)
    assert gradient.tolist() == ([3.0, 3.0] if asked == "x" else [1.0] * 4)


def test_views_that_may_not_be_overwritten(notation: Operators) -> None:
    x, y = torch.ones(2, requires_grad=True), torch.zeros(2, 2)
    with torch.no_grad():
        view = y[0]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        notation.add_scaled(1.0, x, view)
    leaf = torch.zeros(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        notation.add_scaled(1.0, x, leaf[0])
    with pytest.raises(RuntimeError, match="returns multiple views"):
        notation.add_scaled(1.0, x, (leaf * 1).unbind()[0])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"):
        notation.add_scaled(1.0, x, torch.zeros(2, requires_grad=True))
    assert y.eq(0).all()
    assert leaf.eq(0).all()
