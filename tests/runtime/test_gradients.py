"""Gradients are right: against finite differences, and against what the kernels must have been given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import grad, gradcheck, gradgradcheck

import opwright
from opwright import Operators, UnsupportedError

Leaf = Callable[..., torch.Tensor]
_TWICE: dict[str, list[tuple[int, ...]]] = {
    "mul": [(2, 3), (2, 3)],
    "logistic": [(4,)],
    "rowsum": [(2, 3)],
    "total": [(2, 3, 4)],
    "gate": [(3,)],
}


@pytest.mark.parametrize("name", _TWICE)
def test_first_and_second_order(grads: Operators, leaf: Leaf, name: str) -> None:
    inputs = [leaf(*shape) for shape in _TWICE[name]]
    op = getattr(grads, name)
    assert gradcheck(op, inputs)
    assert gradgradcheck(op, inputs)


@pytest.mark.parametrize("name", ["mul", "rowsum", "total"])
def test_inputs_that_are_not_contiguous(grads: Operators, leaf: Leaf, name: str) -> None:
    inputs = [leaf(4, 3).t() for _ in _TWICE[name]]
    inputs = [leaf(8, 4).t()[::2, ::2] for _ in inputs] if name == "mul" else [leaf(4, 3).t()]
    assert gradcheck(getattr(grads, name), inputs)
    assert gradgradcheck(getattr(grads, name), inputs)


@pytest.mark.parametrize("name", ["mul", "rowsum", "total"])
def test_gradients_that_are_not_contiguous(grads: Operators, leaf: Leaf, name: str) -> None:
    inputs = [leaf(*shape) for shape in _TWICE[name]]
    out = getattr(grads, name)(*inputs)
    incoming = torch.rand((), dtype=out.dtype).expand(out.shape)
    dense = grad(out, inputs, incoming.contiguous(), retain_graph=True)
    assert all(map(torch.equal, grad(out, inputs, incoming), dense))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0)])
def test_size_zero(grads: Operators, leaf: Leaf, shape: tuple[int, ...]) -> None:
    x, y = leaf(*shape), leaf(*shape)
    grads.mul(x, y).sum().backward()
    assert x.grad is not None
    assert x.grad.shape == shape
    if len(shape) == 2:
        z = leaf(*shape)
        grads.rowsum(z).sum().backward()
        assert torch.equal(z.grad if z.grad is not None else torch.empty(()), torch.ones(shape, dtype=z.dtype))


def test_zero_dim(grads: Operators, leaf: Leaf) -> None:
    x, y = leaf(), leaf()
    assert grads.mul(x, y).shape == ()
    assert gradcheck(grads.mul, (x, y))


@pytest.mark.parametrize("w", [True, False])
@pytest.mark.parametrize("b", [True, False])
def test_optional_inputs_and_scalars(grads: Operators, leaf: Leaf, w: bool, b: bool) -> None:
    inputs: Any = (leaf(3), leaf(3) if w else None, leaf(3) if b else None, 1.5, -2, True)
    assert gradcheck(lambda *args: grads.affine(*args)[0], inputs)
    x, weight, bias = inputs[:3]
    y, _ = grads.affine(*inputs)
    expected = 3.0 * x * (1 if weight is None else weight) + (0 if bias is None else bias)
    torch.testing.assert_close(y, expected)


def test_scalars_are_those_of_their_own_call(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    outs = [grads.affine(x, alpha=float(a), k=a + 1)[0] for a in range(4)]
    for a in reversed(range(4)):
        assert grad(outs[a].sum(), x)[0].tolist() == [a * (a + 1)] * 3


def test_the_mask_says_which_gradients_are_wanted(grads: Operators, leaf: Leaf) -> None:
    x, y = leaf(2), leaf(2)
    _, b = grads.pair(x, y)
    (gx,) = grad(b.sum(), x, retain_graph=True)
    (gy,) = grad(b.sum(), y, retain_graph=True)
    both = grad(b.sum(), (x, y))
    assert gx.tolist() == [11003.0] * 2  # no grad_a, grad_y not needed
    assert gy.tolist() == [10001.0] * 2  # grad_x not needed
    assert [g.tolist() for g in both] == [[1003.0] * 2, [1.0] * 2]


def test_an_input_without_requires_grad_needs_no_gradient(grads: Operators, leaf: Leaf) -> None:
    x = leaf(2)
    a, b = grads.pair(x, torch.ones(2, dtype=x.dtype))
    assert grad(a.sum() + b.sum(), x)[0].tolist() == [10005.0] * 2


def test_a_gradient_nobody_gave_is_absent_or_zero(grads: Operators, leaf: Leaf) -> None:
    x, y = leaf(2), leaf(2)
    a, _ = grads.pair(x, y)
    gx, gy = grad(a.sum(), (x, y))  # grad_a: T[N]? is there, grad_b: T[N] isn't and has to be zeros
    assert (gx.tolist(), gy.tolist()) == ([2.0] * 2, [0.0] * 2)


@pytest.mark.parametrize("which", [torch.int64, torch.float64])
def test_a_type_variable_that_is_an_integer(grads: Operators, leaf: Leaf, which: torch.dtype) -> None:
    x, y = leaf(3), torch.arange(3).to(which)
    z, w = grads.mixed(x, y)
    assert z.requires_grad
    assert w.requires_grad == (which is torch.float64)
    assert w.dtype is which
    assert grad(z.sum(), x)[0].tolist() == [2.0] * 3


def test_only_integers_carry_no_gradient(grads: Operators, leaf: Leaf) -> None:
    y, index = grads.affine(leaf(3))
    assert y.requires_grad
    assert not index.requires_grad
    assert index.tolist() == [0, 1, 2]


def test_an_axis_multiplied_by_zero(grads: Operators) -> None:
    a = torch.zeros(4, requires_grad=True)
    s = grads.outer(torch.zeros(0), torch.zeros(0), a)
    assert grad(s, a)[0].tolist() == [7.0] * 4


def test_gradients_of_shared_inputs_add_up(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    torch.testing.assert_close(grad(grads.mul(x, x).sum(), x)[0], 2 * x.detach())


def test_third_order_through_first_and_second(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    first = grad(grads.mul(grads.mul(x, x), x).sum(), x, create_graph=True)[0]
    torch.testing.assert_close(grad(first.sum(), x)[0], 6 * x.detach())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_every_floating_type(grads: Operators, dtype: torch.dtype, leaf: Leaf) -> None:
    x, y = leaf(5, dtype=dtype), leaf(5, dtype=dtype)
    z = grads.mul(x, y)
    assert torch.equal(z, x * y)
    assert all(map(torch.equal, grad(z.sum(), (x, y)), (y, x)))


def test_no_second_derivative_is_an_error_also_through_a_residual(write: Callable[..., Any]) -> None:
    ops = opwright.load(
        write(
            """
OPWRIGHT("square(x: T[N]) -> (y: T[N]; h: T[N])")
template <class T> void square(Tensor<const T, 1> x, Tensor<T, 1> y, Tensor<T, 1> h) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] * x[i];
  for (int64_t i = 0; h && i < x.numel(); ++i) h[i] = 2 * x[i];
}
OPWRIGHT("square_backward(grad_y: T[N], h: T[N]) -> (grad_x: T[N])")
template <class T> void square_backward(Tensor<const T, 1> g, Tensor<const T, 1> h, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < g.numel(); ++i) grad_x[i] = g[i] * h[i];
}
OPWRIGHT("square_(y: T[N]!) -> (; h: T[N])")
template <class T> void square_(Tensor<T, 1> y, Tensor<T, 1> h) {
  for (int64_t i = 0; i < y.numel(); ++i) {
    if (h) h[i] = 2 * y[i];
    y[i] = y[i] * y[i];
  }
}
OPWRIGHT("square__backward(grad_y: T[N], h: T[N]) -> (grad_y: T[N])")
template <class T> void square__backward(Tensor<const T, 1> g, Tensor<const T, 1> h, Tensor<T, 1> grad_y) {
  for (int64_t i = 0; i < g.numel(); ++i) grad_y[i] = g[i] * h[i];
}
""",
            "constant_residual.cpp",
        )
    )

    def in_place(x: torch.Tensor) -> torch.Tensor:
        y = x * 1
        ops.square_(y[1:])
        return y

    for f, name in ((ops.square, "square_backward"), (in_place, "square__backward")):
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        (g,) = grad(f(x).sum(), x)
        torch.testing.assert_close(g, torch.tensor([1.0 if f is in_place else 2.0, 4.0, 6.0]))
        (g,) = grad(f(x).sum(), x, create_graph=True)  # grad_y is a constant: only the residual depends on x
        torch.testing.assert_close(g.detach(), torch.tensor([1.0 if f is in_place else 2.0, 4.0, 6.0]))
        with pytest.raises(UnsupportedError, match=rf"{name}\(\) has no second derivative"):
            g.sum().backward()
    x = torch.tensor([1.0, 2.0, 3.0])
    torch.testing.assert_close(torch.func.grad(lambda x: ops.square(x).sum())(x), 2 * x)
    with pytest.raises(UnsupportedError, match="no second derivative"):
        torch.func.grad(lambda x: torch.func.grad(lambda x: ops.square(x).sum())(x).sum())(x)


def test_an_axis_that_only_an_absent_tensor_binds(write: Callable[..., Any], leaf: Leaf) -> None:
    ops = opwright.load(
        write(
            """
OPWRIGHT("shifted(x: T[N], w: T[M]?) -> (y: T[N])")
template <class T> void shifted(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = 2 * x[i] + (w ? w[w.size(0) - 1] : T(0));
}
OPWRIGHT("shifted_backward(grad_y: T[N], w: T[M]?) -> (grad_x: T[N], grad_w: T[M])")
template <class T>
void shifted_backward(Tensor<const T, 1> g, Tensor<const T, 1> w, Tensor<T, 1> grad_x, Tensor<T, 1> grad_w) {
  for (int64_t i = 0; grad_x && i < g.size(0); ++i) grad_x[i] = 2 * g[i];
  for (int64_t i = 0; grad_w && i < grad_w.size(0); ++i) grad_w[i] = 0;
  for (int64_t i = 0; grad_w && i < g.size(0); ++i) grad_w[grad_w.size(0) - 1] += g[i];
}
""",
            "shifted.cpp",
        )
    )
    x, w = leaf(3), leaf(2)
    assert gradcheck(lambda x: ops.shifted(x, None), x)
    assert gradcheck(ops.shifted, (x, w))
    assert gradcheck(lambda w: ops.shifted(x.detach(), w), w)
    compiled = torch.compile(lambda x: ops.shifted(x, None).sum(), backend="aot_eager", fullgraph=True)
    assert grad(compiled(x), x)[0].tolist() == [2, 2, 2]
