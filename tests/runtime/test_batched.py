"""Batched operators: leading axes broadcast, core axes never do; memory is copied only where the core needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from opwright import ArgumentError, Operators
from opwright.runtime.layouts import Layout, batched_strides

Calls = Callable[..., Iterator[Any]]
Leaf = Callable[..., torch.Tensor]


def affine(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None, alpha: float) -> torch.Tensor:
    y = alpha * (w @ x[..., None])[..., 0]
    return y if b is None else y + b


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(0, 1, 2, 3, 5), (1, 4, 40)], ids=str)
def test_random_calls(batched: Operators, random_calls: Calls, sizes: tuple[int, ...]) -> None:
    ranks = set()
    for drawn, arguments in random_calls(batched, "affine", 100, sizes=sizes, max_numel=20000):
        dtype = getattr(torch, drawn.binding.types["T"].torch_name)
        wide: dict[str, Any] = {n: v.double() if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
        got = batched.affine(**arguments)
        inputs = [
            (arguments[name], core) for name, core in (("x", 1), ("w", 2), ("b", 1)) if arguments[name] is not None
        ]
        given = [(Layout(tuple(t.shape), t.stride()), core) for t, core in inputs]
        expected = batched_strides(tuple(got.shape), 1, given) or torch.empty(got.shape, device="meta").stride()
        assert got.stride() == expected
        assert call_on_meta(batched.affine, arguments).stride() == expected
        torch.testing.assert_close(got, affine(**wide).to(dtype))
        ranks.add(len(drawn.binding.ellipsis))
    assert ranks == {0, 1, 2, 3}


def call_on_meta(op: Callable[..., torch.Tensor], arguments: dict[str, Any]) -> torch.Tensor:
    def on_meta(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")

    return op(**{name: on_meta(value) for name, value in arguments.items()})


@pytest.mark.parametrize(
    ("shape", "order", "kept"),
    [
        ((2, 3, 4, 5), (0, 1, 2, 3), (60, 20, 5, 1)),
        ((2, 3, 4, 5), (0, 2, 3, 1), (60, 5, 15, 1)),  # channels_last, the core being its W: C is before H
        ((2, 3, 4, 5), (2, 0, 1, 3), (15, 5, 30, 1)),
        ((2, 3, 5), (1, 0, 2), (5, 10, 1)),
    ],
)
def test_the_leading_axes_keep_their_order(
    batched: Operators, shape: tuple[int, ...], order: tuple[int, ...], kept: tuple[int, ...]
) -> None:
    """Independence along them is what `batched` says; the core is row-major."""
    x = torch.randn([shape[axis] for axis in order]).permute(*map(order.index, range(len(shape))))
    w = torch.randn(5, 5)
    y = batched.affine(x, w)
    assert y.stride() == kept
    assert y.shape == shape
    torch.testing.assert_close(y, x @ w.T)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated")  # torch's own, imported by inductor
def test_the_order_of_leading_axes_is_traced(batched: Operators, leaf: Leaf) -> None:
    x, w = leaf(3, 2, 4, 5).detach().transpose(0, 1), leaf(5, 5).detach()

    def run(x: torch.Tensor) -> torch.Tensor:
        return batched.affine(batched.affine(x, w).sin(), w)  # type: ignore[no-any-return]

    compiled = torch.compile(run, fullgraph=True)
    assert compiled(x).stride() == run(x).stride() == (20, 40, 5, 1)
    torch.testing.assert_close(compiled(x), run(x))


def test_cores_of_any_strides(batched: Operators, random_calls: Calls) -> None:
    for _, arguments in random_calls(batched, "trace", 60, sizes=(0, 1, 2, 3, 5)):
        x = arguments["x"]
        torch.testing.assert_close(batched.trace(x), x.double().diagonal(dim1=-2, dim2=-1).sum(-1).to(x.dtype))


def test_overwriting(batched: Operators, random_calls: Calls) -> None:
    for _, arguments in random_calls(batched, "normalize", 80, sizes=(0, 1, 2, 3, 5)):
        x, s = arguments["x"], arguments["s"]
        x.copy_(x.abs() + 1)
        total = x.double().sum(-1)
        expected = x.double() * (s.double() / total)[..., None]
        torch.testing.assert_close(batched.normalize(x, s), total.to(x.dtype))
        torch.testing.assert_close(x, expected.to(x.dtype))


def test_what_does_not_fit(batched: Operators) -> None:
    x, w = torch.ones(2, 3), torch.ones(5, 4, 3)
    with pytest.raises(ArgumentError, match=r"w has shape \(5, 4, 3\), which doesn't broadcast with \(2,\)"):
        batched.affine(x, w)
    with pytest.raises(ArgumentError, match=r"w has shape \(5, 4, 3\), expected \[M, N\] = \(..., 4, 1\)"):
        batched.affine(x[:1, :1], w)  # a core axis of size 1
    with pytest.raises(ArgumentError, match=r"w has element type float64, expected T = float32"):
        batched.affine(x[0], w.double())
    with pytest.raises(ArgumentError, match=r"w has shape \(3,\), expected \[M, N\] batched: at least 2 axes, not 1"):
        batched.affine(x, w[0, 0])
    with pytest.raises(
        ArgumentError, match=r"x has shape \(3,\) and is overwritten, but the arguments broadcast to \(5,\)"
    ):
        batched.normalize(x[0], torch.ones(5))
    with pytest.raises(ArgumentError, match="x is overwritten, but it shares memory with s"):
        batched.normalize(x, x[0, 0])


def test_gradients_are_summed_over_what_was_broadcast(batched: Operators, leaf: Leaf) -> None:
    x, w, b = leaf(5, 1, 3), leaf(2, 4, 3), leaf(4)
    assert torch.autograd.gradcheck(lambda *tensors: batched.affine(*tensors, 0.5), (x, w, b))
    weights = torch.rand(5, 2, 4, dtype=torch.float64)
    torch.testing.assert_close(
        torch.autograd.grad(batched.affine(x, w, b, 0.5), (x, w, b), weights),
        torch.autograd.grad(affine(x, w, b, 0.5), (x, w, b), weights),
    )
    assert torch.autograd.gradcheck(batched.trace, (leaf(2, 3, 3).mT,))
