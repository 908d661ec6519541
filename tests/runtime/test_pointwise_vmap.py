"""vmap over pointwise and batched operators: one call, the same as a loop; under torch.func's other transforms, too."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from torch.func import grad, jacrev, vjp, vmap
from torch.utils._python_dispatch import TorchDispatchMode

from opwright import ArgumentError, Operators, UnsupportedError

Leaf = Callable[..., torch.Tensor]


class Counter(TorchDispatchMode):
    """Counts the calls of these operators."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, op: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += op.namespace in ("pointwise_ops", "batched_ops")
        return op(*args, **(kwargs or {}))


def batch(rng: random.Random, size: int, shape: Sequence[int], dtype: torch.dtype) -> tuple[torch.Tensor, int | None]:
    """A tensor that a call sees with the shape, and where its batch axis is, if it has one."""
    dim = rng.choice([None, *range(len(shape) + 1)])
    whole = [*shape] if dim is None else [*shape[:dim], size, *shape[dim:]]
    return torch.rand(whole, dtype=torch.float64).add(0.5).to(dtype), dim


def shapes(rng: random.Random, count: int) -> Iterator[list[int]]:
    whole = [rng.choice([1, 2, 3]) for _ in range(rng.randint(0, 3))]
    for _ in range(count):
        yield [rng.choice([1, n, n]) for n in whole[rng.choice([0, 0, rng.randint(0, len(whole))]) :]]


def looped(f: Callable[..., Any], size: int, args: Sequence[torch.Tensor], dims: Sequence[int | None]) -> torch.Tensor:
    return torch.stack(
        [f(*(a if d is None else a.select(d, i) for a, d in zip(args, dims, strict=True))) for i in range(size)]
    )


def test_one_call_is_the_same_as_a_loop(pointwise: Operators) -> None:
    """Values and element types: a number that has a batch axis still promotes as a number."""
    rng, types = random.Random(1), [torch.float32, torch.float64, torch.float16, torch.int64]
    for _ in range(150):
        size = rng.choice([1, 2, 4])
        pairs = [batch(rng, size, shape, rng.choice(types)) for shape in shapes(rng, 3)]
        args, dims = [tensor for tensor, _ in pairs], tuple(dim for _, dim in pairs)
        if set(dims) == {None}:
            continue
        expected = looped(pointwise.blend, size, args, dims)
        with Counter() as calls:
            got = vmap(pointwise.blend, dims)(*args)
        assert calls.count == 1
        assert got.dtype == expected.dtype
        torch.testing.assert_close(got, expected)


def test_batched_operators(batched: Operators) -> None:
    rng = random.Random(2)
    for _ in range(100):
        size = rng.choice([1, 2, 4])
        leads = list(shapes(rng, 3))
        cores = ([3], [2, 3], [2])
        pairs = [batch(rng, size, lead + core, torch.float64) for lead, core in zip(leads, cores, strict=True)]
        args, dims = [tensor for tensor, _ in pairs], tuple(dim for _, dim in pairs)
        if set(dims) == {None}:
            continue
        expected = looped(batched.affine, size, args, dims)
        with Counter() as calls:
            got = vmap(batched.affine, dims)(*args)
        assert calls.count == 1
        torch.testing.assert_close(got, expected)


def test_several_results_and_absent_tensors(pointwise: Operators) -> None:
    x, y = torch.randn(4, 3), torch.randn(3, 4)
    for got, expected in zip(vmap(pointwise.polar, (0, 1))(x, y), pointwise.polar(x, y.t()), strict=True):
        torch.testing.assert_close(got, expected)
    torch.testing.assert_close(vmap(lambda x: pointwise.blend(x, x, None, alpha=3.0))(x), x * x)
    torch.testing.assert_close(vmap(pointwise.blend, (0, None, None))(x, x[0], None), x * x[0])


def test_an_empty_batch(pointwise: Operators, batched: Operators) -> None:
    assert vmap(pointwise.blend, (0, None))(torch.ones(0, 3), torch.ones(2, 1)).shape == (0, 2, 3)
    assert vmap(batched.trace)(torch.ones(0, 2, 3, 3)).shape == (0, 2)


def test_nested(pointwise: Operators) -> None:
    x, y = torch.randn(3, 4), torch.randn(5, 4)
    pairs = vmap(vmap(pointwise.blend, (None, 0)), (0, None))(x, y)
    torch.testing.assert_close(pairs, x[:, None] * y)
    every = vmap(vmap(vmap(pointwise.blend, (None, 0)), (0, None)), (1, 1))(x, y)
    torch.testing.assert_close(every, (x[:, None] * y).permute(2, 0, 1))


def test_what_is_overwritten(pointwise: Operators, batched: Operators) -> None:
    for dim, other in itertools.product((0, 1), (0, 1, None)):
        y, x = torch.randn(3, 3), torch.randn(3, 3) if other is not None else torch.randn(3)
        expected = y + (0.5 * (x if other is None or other == dim else x.t()) if dim == 0 else 0)
        if dim == 1:
            expected = (y.t() + 0.5 * (x if other in (None, 0) else x.t())).t()
        vmap(lambda y, x: (pointwise.accumulate(y, x, 0.5), y)[1], (dim, other))(y, x)
        torch.testing.assert_close(y, expected)
    y, x = torch.zeros(4, 2), torch.randn(4, dtype=torch.float64)  # a number each, of a wider type
    vmap(lambda y, x: (pointwise.accumulate(y, x), y)[1])(y, x)
    torch.testing.assert_close(y, x.float()[:, None].expand(4, 2))
    with pytest.raises(UnsupportedError, match="y is overwritten, but it isn't one of what vmap goes over"):
        vmap(lambda x: (pointwise.accumulate(y[0], x), x)[1])(torch.ones(4, 2))
    with pytest.raises(
        ArgumentError, match=r"y has shape \(2,\) and is overwritten, but the arguments broadcast to \(3, 2"
    ):
        vmap(lambda y: (pointwise.accumulate(y, torch.ones(3, 2)), y)[1])(y)
    z, s = torch.rand(4, 2, 3) + 1, torch.tensor([1.0, 2.0])
    total = vmap(batched.normalize, (1, 0))(z, s)
    assert total.shape == (2, 4)
    torch.testing.assert_close(z.sum(-1), s.expand(4, 2))


def test_errors_are_about_what_one_call_sees(pointwise: Operators) -> None:
    with pytest.raises(ArgumentError, match=r"y has shape \(4,\), which doesn't broadcast with \(3,\)"):
        vmap(pointwise.blend)(torch.ones(2, 3), torch.ones(2, 4))


def test_gradients(pointwise: Operators, batched: Operators, leaf: Leaf) -> None:
    x, y = leaf(3, 4).detach(), leaf(3).detach()
    both = vmap(grad(lambda x, y: pointwise.blend(x, y).sum(), argnums=(0, 1)))(x, y)
    torch.testing.assert_close(both, (y[:, None].expand(3, 4), x.sum(1)))
    ours, theirs = (
        jacrev(jacrev(f))(y) for f in (lambda y: pointwise.polar(y, x[:, 0])[0], lambda y: y.hypot(x[:, 0]))
    )
    torch.testing.assert_close(ours, theirs)
    per_row = vmap(jacrev(lambda y, x: pointwise.polar(y, x)[0]), (None, 1))(y, x)
    torch.testing.assert_close(per_row, vmap(jacrev(torch.hypot), (None, 1))(y, x))
    pull = vjp(vmap(pointwise.blend, (0, None)), x, x[0])[1]
    torch.testing.assert_close(pull(torch.ones_like(x)), (x[0].expand(3, 4), x.sum(0)))
    w = leaf(2, 4).detach()
    rows = vmap(grad(lambda x, w: batched.affine(x, w).sum(), argnums=(0, 1)), (0, None))(x, w)
    torch.testing.assert_close(rows, (w.sum(0).expand(3, 4), x[:, None].expand(3, 2, 4)))
    traces = vmap(grad(lambda x: batched.trace(x).sum()))(leaf(5, 2, 3, 3).detach())
    torch.testing.assert_close(traces, torch.eye(3, dtype=torch.float64).expand(5, 2, 3, 3))


def test_gradients_through_vmap(pointwise: Operators, leaf: Leaf) -> None:
    x, y = leaf(3, 4), leaf(3)
    vmap(pointwise.blend)(x, y).sum().backward()
    torch.testing.assert_close((x.grad, y.grad), (y.detach()[:, None].expand(3, 4), x.detach().sum(1)))
