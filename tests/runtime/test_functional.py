"""torch.func: gradients of gradients, and vmap by calling once for each element."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch.func import grad, hessian, jacrev, vjp, vmap

from opwright import Operators

Leaf = Callable[..., torch.Tensor]


@pytest.fixture
def x() -> torch.Tensor:
    return torch.linspace(0.5, 1.5, 12, dtype=torch.float64).reshape(3, 4)


def test_grad(grads: Operators, x: torch.Tensor) -> None:
    torch.testing.assert_close(grad(lambda x: grads.logistic(x).sum())(x), x.sigmoid() * (1 - x.sigmoid()))
    torch.testing.assert_close(grad(lambda x: grads.mul(x, 2 * x).sum())(x), 4 * x)
    y, wired = grad(grads.mul, argnums=(0, 1))(x[0, 0], x[0, 1])
    assert (y, wired) == (x[0, 1], x[0, 0])


def test_grad_of_grad(grads: Operators, x: torch.Tensor) -> None:
    inner = grad(lambda x: grads.gate(x).sum())
    torch.testing.assert_close(grad(lambda x: inner(x).sum())(x[0]), 6 * x[0])


def test_vjp(grads: Operators, x: torch.Tensor) -> None:
    out, pull = vjp(grads.mul, x, x + 1)[:2]
    torch.testing.assert_close(out, x * (x + 1))
    v = torch.arange(12, dtype=x.dtype).reshape(3, 4)
    assert all(map(torch.equal, pull(v), (v * (x + 1), v * x)))


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch's own decompositions for jvp
def test_jacobian_and_hessian_by_reverse_mode(grads: Operators, x: torch.Tensor) -> None:
    row = x[0]
    torch.testing.assert_close(jacrev(grads.gate)(row), torch.diag(3 * row**2))
    expected = torch.autograd.functional.hessian(lambda x: (x**3).sum(), row)
    torch.testing.assert_close(jacrev(jacrev(lambda x: grads.gate(x).sum()))(row), expected)
    with pytest.raises(NotImplementedError, match=r"gate.*forward-mode derivative \(jvp\)"):
        hessian(lambda x: grads.gate(x).sum())(row)  # forward over reverse


def test_vmap_over_each_dim(grads: Operators, x: torch.Tensor) -> None:
    for dim in (0, 1, -1):
        torch.testing.assert_close(vmap(grads.logistic, in_dims=dim)(x), x.sigmoid().movedim(dim, 0))
    torch.testing.assert_close(vmap(grads.mul, in_dims=(0, None))(x, x[0]), x * x[0])
    torch.testing.assert_close(vmap(grads.mul, in_dims=(None, 1), out_dims=1)(x[:, 0], x), x[:, :1] * x)
    torch.testing.assert_close(vmap(grads.mul, in_dims=(0, 1))(x, x.t()), x * x)


def test_vmap_nested(grads: Operators, x: torch.Tensor) -> None:
    pairs = vmap(vmap(grads.mul, in_dims=(None, 0)), in_dims=(0, None))(x, x)
    torch.testing.assert_close(pairs, x[:, None] * x[None])


def test_vmap_of_size_zero(grads: Operators, x: torch.Tensor) -> None:
    empty = x[:0]
    assert vmap(grads.logistic)(empty).shape == (0, 4)
    y, index = vmap(grads.affine, in_dims=(0, None, None))(empty, None, x[0])
    assert (y.shape, index.shape, index.dtype) == ((0, 4), (0, 4), torch.int64)
    assert vmap(grads.rowsum)(x[:0, None]).shape == (0, 1)


def test_vmap_with_optional_and_scalar_arguments(grads: Operators, x: torch.Tensor) -> None:
    y, index = vmap(lambda x, b: grads.affine(x, b=b, alpha=2.0, k=3))(x, x + 1)
    torch.testing.assert_close(y, 6 * x + x + 1)
    assert index.tolist() == [[0, 1, 2, 3]] * 3


def test_gradients_through_vmap(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3, 4)
    vmap(grads.gate)(x).sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, 3 * x.detach() ** 2)


def test_vmap_of_gradients(grads: Operators, x: torch.Tensor) -> None:
    per_sample = vmap(grad(lambda x: grads.gate(x).sum()))(x)
    torch.testing.assert_close(per_sample, 3 * x**2)
    one, other = vmap(grad(lambda a, b: grads.mul(a, b).sum(), argnums=(0, 1)), in_dims=(0, None))(x, x[0])
    torch.testing.assert_close(one, x[0].expand(3, 4))
    torch.testing.assert_close(other, x)


def test_vmap_of_gradients_with_the_forwards_axes(grads: Operators, x: torch.Tensor) -> None:
    assert vmap(grad(lambda x: grads.rowsum(x[None]).sum()))(x).tolist() == [[1.0] * 4] * 3
    assert vmap(grad(grads.total))(x).tolist() == [[1.0] * 4] * 3
    (only_y,) = vjp(vmap(partial(grads.mul, y=x[0])), x)[1](torch.ones_like(x))
    torch.testing.assert_close(only_y, x[0].expand(3, 4))


def test_vmap_of_a_second_derivative(grads: Operators, x: torch.Tensor) -> None:
    second = vmap(jacrev(jacrev(lambda x: grads.gate(x).sum())))(x)
    torch.testing.assert_close(second, torch.diag_embed(6 * x))


def test_functional_call_over_an_ensemble(grads: Operators, x: torch.Tensor) -> None:
    class Scale(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.full((4,), 2.0, dtype=torch.float64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = grads.mul(x, self.w)
            return out

    stacked = {"w": torch.stack([torch.full((4,), float(i), dtype=torch.float64) for i in range(3)])}
    out = vmap(lambda params, x: torch.func.functional_call(Scale(), params, x), in_dims=(0, None))(stacked, x[0])
    torch.testing.assert_close(out, x[0] * torch.arange(3.0, dtype=torch.float64)[:, None])
