"""Jagged nested tensors: pointwise and batched operators take them, in one call; others refuse them with words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import opwright
from opwright import ArgumentError, Operators, UnsupportedError

Formula = Callable[..., torch.Tensor]
LENGTHS = (2, 0, 3, 1)

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(Path(__file__).parent / "kernels" / "jagged_ops.cpp")


def jagged(*sizes: int, seed: int = 0, like: Any = None, requires_grad: bool = True) -> Any:
    """A jagged tensor of random numbers, ragged along its axis 1, with the structure of another one if given."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.rand((sum(LENGTHS), *sizes), generator=generator, dtype=torch.float64) + 0.5
    offsets = torch.tensor((0, *LENGTHS)).cumsum(0) if like is None else like.offsets()
    return torch.nested.nested_tensor_from_jagged(values, offsets).detach().requires_grad_(requires_grad)


def dense(*sizes: int, seed: int = 5) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(sizes, generator=generator, dtype=torch.float64) + 0.5).requires_grad_()


def gate(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return 2 * x * w.tanh()


def weigh(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x * w).sum(-1) ** 2


def assert_as_in_a_loop(op: Formula, formula: Formula, *arguments: Any) -> None:
    """Compare results and gradients with those of a formula in PyTorch, row by row."""
    result: Any = op(*arguments)
    assert result.is_nested
    assert result.layout is torch.jagged
    first = next(a for a in arguments if a.is_nested)
    assert result.offsets() is first.offsets()
    rows = [a.detach().unbind() if a.is_nested else [a.detach()] * len(LENGTHS) for a in arguments]
    rows = [[t.clone().requires_grad_() for t in row] for row in rows]
    expected = [formula(*row) for row in zip(*rows, strict=True)]
    for got, wanted in zip(result.unbind(), expected, strict=True):
        torch.testing.assert_close(got, wanted)
    gradients = torch.autograd.grad((result.values() ** 2).sum(), arguments)
    torch.autograd.backward([(e**2).sum() for e in expected])
    for argument, gradient, row in zip(arguments, gradients, rows, strict=True):
        each = [t.grad if t.grad is not None else torch.zeros_like(t) for t in row]
        if argument.is_nested:
            torch.testing.assert_close(gradient.values(), torch.cat(each))
        else:
            torch.testing.assert_close(gradient, torch.stack(each).sum(0))


def test_pointwise(ops: Operators) -> None:
    x = jagged(3)
    assert_as_in_a_loop(ops.gate, gate, x, jagged(3, seed=1, like=x))
    assert_as_in_a_loop(ops.gate, gate, x, jagged(1, seed=1, like=x))
    assert_as_in_a_loop(ops.gate, gate, jagged(), dense())


@pytest.mark.parametrize("sizes", [(), (1,), (3,), (1, 3), (1, 1, 3), (1, 1, 1)], ids=str)
def test_a_dense_argument_broadcasts(ops: Operators, sizes: tuple[int, ...]) -> None:
    def row_gate(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return gate(x, w.squeeze(0) if w.ndim == 3 else w)

    assert_as_in_a_loop(ops.gate, row_gate, jagged(3), dense(*sizes))
    assert_as_in_a_loop(
        lambda x, w: ops.gate(w, x),
        lambda x, w: row_gate(w.squeeze(0) if w.ndim == 3 else w, x),
        jagged(3),
        dense(*sizes),
    )


def test_batched_with_residuals(ops: Operators) -> None:
    x = jagged(3)
    assert_as_in_a_loop(ops.weigh, weigh, x, jagged(3, seed=1, like=x))
    assert_as_in_a_loop(ops.weigh, weigh, x, dense(3))
    assert_as_in_a_loop(ops.weigh, weigh, jagged(2, 3), dense(2, 3))
    assert_as_in_a_loop(ops.weigh, weigh, dense(3), x)
    y, scaled = torch.ops.jagged_ops.weigh.recorded(x, dense(3))
    assert y.shape == scaled.shape == x.shape[:2]


def test_a_ragged_axis_elsewhere(ops: Operators) -> None:
    x = jagged(3).transpose(1, 2)
    w = dense(3, 1)
    result = ops.gate(x, w)
    assert result.shape == x.shape
    for got, row in zip(result.unbind(), x.unbind(), strict=True):
        torch.testing.assert_close(got, gate(row, w))


def test_the_gradient_of_a_backward_called_by_name(ops: Operators) -> None:
    x, w = jagged(3, requires_grad=False), dense(3).detach()
    y, scaled = torch.ops.jagged_ops.weigh.recorded(x, w)
    gradient, none = ops.weigh_backward(y, x, w, scaled, [True, False])
    assert none is None
    torch.testing.assert_close(gradient.values(), (y.values() * scaled.values())[:, None] * w)


def test_gradcheck(ops: Operators) -> None:
    values, w, offsets = dense(6, 3), dense(3), torch.tensor([0, 2, 2, 6])

    def function(values: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return ops.gate(torch.nested.nested_tensor_from_jagged(values, offsets), w).values()  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(function, (values, w))


def test_without_gradients(ops: Operators) -> None:
    x = jagged(3)
    with torch.no_grad():
        torch.testing.assert_close(ops.gate(x, x).values(), gate(x.values(), x.values()))
    with torch.inference_mode():
        torch.testing.assert_close(ops.gate(x, x).values(), gate(x.values(), x.values()))
        new = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
        torch.testing.assert_close(ops.gate(new, new).values(), gate(new.values(), new.values()))


def test_lengths_are_kept(ops: Operators) -> None:
    x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    result = ops.gate(x, x)
    assert (result._maybe_min_seqlen, result._maybe_max_seqlen) == (2, 4)
    narrow: Any = torch.nested.narrow(
        torch.rand(2, 5, 3), 1, torch.tensor([0, 2]), torch.tensor([2, 3]), layout=torch.jagged
    )
    assert narrow.lengths() is not None
    for got, row in zip(ops.gate(narrow, torch.ones(3)).unbind(), narrow.unbind(), strict=True):
        torch.testing.assert_close(got, gate(row, torch.ones(3)))


def test_overwriting(ops: Operators) -> None:
    x = jagged(3, requires_grad=False)
    before, version = x.values().clone(), x._version
    ops.twice(x)
    torch.testing.assert_close(x.values(), 2 * before)
    assert x._version > version
    y = jagged(3)
    with pytest.raises(
        UnsupportedError, match=r"^twice\(\): x is overwritten, which PyTorch can't record for a jagged nes"
    ):
        ops.twice(y * 1)
    with torch.no_grad():
        ops.twice(y)


def test_checkpoint_and_autocast(ops: Operators) -> None:
    x, w = jagged(3), dense(3)
    (expected,) = torch.autograd.grad(ops.weigh(x, w).values().sum(), x)
    y = checkpoint(lambda x: ops.weigh(x, w), x, use_reentrant=False)
    torch.testing.assert_close(torch.autograd.grad(y.values().sum(), x)[0].values(), expected.values())
    with torch.autocast("cpu", torch.bfloat16):
        assert ops.gate(x.float(), w.bfloat16()).dtype == torch.float32


@pytest.mark.slow
def test_compiled(ops: Operators) -> None:
    def function(x: Any, w: torch.Tensor) -> Any:
        return 2 * ops.weigh(ops.gate(x.sin(), w), w), ops.gate(x, w)  # PyTorch can't return views with two axes

    x, w = jagged(3), dense(3)

    def gradients_of(results: Any) -> Any:
        return torch.autograd.grad(sum((result.values() ** 2).sum() for result in results), (x, w))

    expected = gradients_of(function(x, w))
    results = torch.compile(function, fullgraph=True, backend="aot_eager")(x, w)
    for result, wanted in zip(results, function(x, w), strict=True):
        torch.testing.assert_close(result.values(), wanted.values())
    gradients = gradients_of(results)
    torch.testing.assert_close(gradients[0].values(), expected[0].values())
    torch.testing.assert_close(gradients[1], expected[1])


@pytest.mark.parametrize(
    ("name", "others", "error", "text"),
    [
        (
            "copied",
            (),
            UnsupportedError,
            r"copied\(\): x is a jagged nested tensor, which only pointwise and batched ope",
        ),
        (
            "pick",
            (),
            UnsupportedError,
            r"pick\(\): x has shape \(4, j\d+, 3\): its ragged axis is in \[M, N\], which the",
        ),
        (
            "gate",
            (jagged(3),),
            ArgumentError,
            r"gate\(\): x has .* w has shape \(4, j\d+, 3\): they aren't ragged alike",
        ),
        (
            "gate",
            (dense(4, 1, 3),),
            ArgumentError,
            r"w has shape \(4, 1, 3\), but x has shape .* the batch and the ragged",
        ),
        (
            "gate",
            (dense(2, 3),),
            ArgumentError,
            r"w has shape \(2, 3\), but x has shape .* a dense tensor has size 1 along",
        ),
        ("gate", (dense(1, 1, 1, 3),), ArgumentError, r"w has shape \(1, 1, 1, 3\), but x has shape"),
        (
            "gate",
            (dense(2),),
            ArgumentError,
            r"w has shape \(2\), which doesn't broadcast|w has shape \(2,\), which doesn't",
        ),
    ],
)
def test_what_is_refused(ops: Operators, name: str, others: tuple[Any, ...], error: type[Exception], text: str) -> None:
    for x in (jagged(3), jagged(3, requires_grad=False)):
        with pytest.raises(error, match=text):
            getattr(ops, name)(x, *others)
    with torch.inference_mode(), pytest.raises(error, match=text):
        getattr(ops, name)(jagged(3), *others)


def test_nested_tensors_of_the_strided_layout_are_refused(ops: Operators) -> None:
    x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)])
    with pytest.raises(
        ArgumentError, match=r"gate\(\): x is a nested .*\n  likely fix: make it with layout=torch.jagged$"
    ):
        ops.gate(x, torch.ones(3))
    with pytest.raises(ArgumentError, match=r"gate\(\): x is a nested tensor"):
        ops.gate(x.requires_grad_(), jagged(3))


def test_wrong_sizes_are_refused_as_elsewhere(ops: Operators) -> None:
    x = jagged(3)
    with pytest.raises(ArgumentError, match=r"weigh\(\): w has shape \(2,\), expected \[N\] = \(..., 3\)"):
        ops.weigh(x, dense(2))


@pytest.mark.parametrize("source", ["to_sparse", "embedding"])
def test_sparse_gradients_are_made_dense(ops: Operators, source: str) -> None:
    class AsSparse(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient.to_sparse()

    x, index = dense(4, 3), torch.tensor([1, 3, 1])

    def loss(y: torch.Tensor, *, sparse: bool) -> torch.Tensor:
        if sparse and source == "to_sparse":
            y = AsSparse.apply(y)  # type: ignore[no-untyped-call]
        return (torch.nn.functional.embedding(index, y, sparse=sparse and source == "embedding") ** 2).sum()

    def copied(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        return ops.copied(x)  # type: ignore[no-any-return]

    for op, formula in ((ops.gate, gate), (copied, lambda x, _: x)):
        (expected,) = torch.autograd.grad(loss(formula(x, dense(3)), sparse=False), x)
        (gradient,) = torch.autograd.grad(loss(op(x, dense(3)), sparse=True), x)
        assert gradient.layout is torch.strided
        torch.testing.assert_close(gradient, expected)
