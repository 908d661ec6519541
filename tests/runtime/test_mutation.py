"""Inputs that the kernel overwrites: values, versions, gradients, views, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from opwright import ArgumentError, Operators, UnsupportedError

Leaf = Callable[..., torch.Tensor]


def test_the_schema_says_so(notation: Operators) -> None:
    assert "Tensor(a!) y" in str(notation.add_scaled._schema)
    assert str(notation.add_scaled._schema).endswith("-> ()")
    assert notation.add_scaled(2.0, torch.ones(2), torch.ones(2)) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("layout", ["dense", "column", "slice", "empty"])
def test_values(notation: Operators, dtype: torch.dtype, layout: str) -> None:
    base = torch.arange(24, dtype=torch.float64).reshape(6, 4).to(dtype)
    view = {"dense": base[0], "column": base[:, 1], "slice": base[3, ::2], "empty": base[0, :0]}[layout]
    x = torch.linspace(-1, 1, view.numel(), dtype=torch.float64).to(dtype)
    expected, version = base.clone(), view._version
    {"dense": expected[0], "column": expected[:, 1], "slice": expected[3, ::2], "empty": expected[0, :0]}[layout].add_(
        x, alpha=0.5
    )
    notation.add_scaled(0.5, x, view)
    torch.testing.assert_close(base, expected)
    assert view._version == version + 1


def test_strided_kernels_write_in_place(notation: Operators) -> None:
    x = torch.arange(32.0).reshape(4, 8)
    expected = x.clone()
    expected[:, ::2] = expected[:, ::2].t().clone()
    notation.transpose_(x[:, ::2])
    assert torch.equal(x, expected)


def test_integers_and_absent_tensors(notation: Operators) -> None:
    steps, total = torch.arange(3), torch.tensor(0)
    notation.count_up(steps)
    assert steps.tolist() == [1, 2, 3]
    notation.count_up(steps, total)
    assert steps.tolist() == [2, 3, 4]
    assert total.item() == 9


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_versions_are_counted(notation: Operators, mode: Callable[[], Any]) -> None:
    y = torch.ones(3)
    with mode():
        notation.put(torch.tensor(2.0), y)
    assert y._version == 1
    assert y.tolist() == [2, 2, 2]


def test_inference_tensors(notation: Operators) -> None:
    with torch.inference_mode():
        y = torch.ones(3)
        notation.put(torch.tensor(2.0), y)
        assert y.tolist() == [2, 2, 2]


def scaled(notation: Operators, view: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = y * y
        notation.add_scaled(0.5, x, view(z))
        return z * z

    return f


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "itself": lambda z: z[:, 0],
    "row": lambda z: z[1],
    "part": lambda z: z.view(-1)[2:5],
    "diagonal": lambda z: z.diagonal(),
}


@pytest.mark.parametrize("view", VIEWS)
def test_gradients_through_views(notation: Operators, leaf: Leaf, view: str) -> None:
    assert gradcheck(scaled(notation, VIEWS[view]), (leaf(3), leaf(3, 3)))
    assert gradgradcheck(scaled(notation, VIEWS[view]), (leaf(3), leaf(3, 3)))


def test_gradient_of_what_is_overwritten_unread(notation: Operators, leaf: Leaf) -> None:
    def whole(v: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = y * y
        notation.put(v, z)
        return z * z

    def part(v: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = y * y
        notation.put(v, z[1:3])
        return z * z

    assert gradcheck(whole, (leaf(), leaf(4)))
    assert gradcheck(part, (leaf(), leaf(4)))


def test_results_besides(notation: Operators, leaf: Leaf) -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        w = y * y
        z = notation.exchange(x, w)
        return z, w * 2

    assert gradcheck(both, (leaf(3), leaf(3)))
    assert gradcheck(lambda x, y: both(x, y)[0], (leaf(3), leaf(3)))
    assert gradcheck(lambda x, y: both(x, y)[1], (leaf(3), leaf(3)))
    x, y = leaf(3), leaf(3).detach()
    y.requires_grad_(False)
    notation.exchange(x, y)
    assert y.requires_grad
    assert y.grad_fn is not None


def test_a_leaf_is_refused_as_pytorch_does(notation: Operators, leaf: Leaf) -> None:
    y = leaf(3)
    before = y.detach().clone()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        notation.add_scaled(1.0, leaf(3), y)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        notation.add_scaled(1.0, leaf(2), y[:2])
    assert torch.equal(y, before)
    with torch.no_grad():
        notation.add_scaled(1.0, torch.ones(3, dtype=torch.float64), y)
    torch.testing.assert_close(y.detach(), before + 1)


def test_a_saved_value_that_is_overwritten_is_noticed(notation: Operators, leaf: Leaf) -> None:
    y = leaf(3) * 1
    z = y * y
    notation.put(torch.zeros((), dtype=torch.float64), y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_several_results_and_a_view(notation: Operators, leaf: Leaf) -> None:
    def exchanged(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        w = y * 1
        return notation.exchange(x, w[1:]), w

    x, y = leaf(2), leaf(3)
    z, w = exchanged(x, y)
    torch.testing.assert_close((z, w), (x * y[1:], torch.cat([y[:1], x])))
    assert torch.autograd.gradcheck(exchanged, (leaf(2), leaf(3)))
    w = leaf(4) * 1
    with pytest.raises(ArgumentError, match="y is overwritten, but it shares memory with x"):
        notation.exchange(w[:2], w[1:3])


def test_overlaps_are_refused(notation: Operators) -> None:
    y = torch.ones(4)
    for x, z in [(y, y), (y[:3], y[1:]), (y[1:], y[:3])]:
        with pytest.raises(ArgumentError, match=r"add_scaled\(\): y is overwritten, but it shares memory with x"):
            notation.add_scaled(1.0, x, z)
    with pytest.raises(ArgumentError, match=r"y is overwritten, but several of its elements share one place"):
        notation.add_scaled(1.0, y, torch.ones(1).expand(4))
    assert y.tolist() == [1] * 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("view", [pytest.param("itself", marks=pytest.mark.exhaustive), "part"])
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.exhaustive)])
def test_compiled(notation: Operators, leaf: Leaf, view: str, backend: str) -> None:
    f = scaled(notation, VIEWS[view])
    x, y = leaf(3), leaf(3, 3)
    compiled = torch.compile(f, fullgraph=True, dynamic=True, backend=backend)
    torch.testing.assert_close(compiled(x, y), f(x, y))
    torch.testing.assert_close(
        torch.autograd.grad(compiled(x, y).sum(), (x, y)), torch.autograd.grad(f(x, y).sum(), (x, y))
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_compiled_mutation_of_an_argument(notation: Operators) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        notation.add_scaled(2.0, x, y)
        return y + 1

    x, y = torch.randn(4), torch.randn(4)
    expected = y + 2 * x
    torch.testing.assert_close(torch.compile(f, fullgraph=True)(x, y), expected + 1)
    torch.testing.assert_close(y, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("add_scaled", (2.0, torch.ones(3), torch.ones(3))),
        ("put", (torch.ones(()), torch.ones(3))),
        ("exchange", (torch.ones(3), torch.ones(3))),
        ("count_up", (torch.arange(3), torch.tensor(0))),
    ],
)
def test_opcheck(notation: Operators, name: str, args: tuple[Any, ...]) -> None:
    assert set(torch.library.opcheck(getattr(notation, name), args).values()) == {"SUCCESS"}


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # opcheck looks at it
def test_opcheck_with_gradients(notation: Operators, leaf: Leaf) -> None:
    assert set(torch.library.opcheck(notation.add_scaled, (2.0, leaf(3), leaf(3) * 1)).values()) == {"SUCCESS"}


def test_vmap(notation: Operators) -> None:
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    expected = y + 2 * x
    torch.vmap(lambda a, b: (notation.add_scaled(2.0, a, b), b)[1])(x, y)
    torch.testing.assert_close(y, expected)
    with pytest.raises(UnsupportedError, match="y is overwritten, but it isn't one of what vmap goes over"):
        torch.vmap(lambda a: notation.add_scaled(2.0, a, y[0]))(x)
