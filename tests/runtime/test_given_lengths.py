"""Axes that an optional int decides, or the kernel where that is None (`?S = size`); on both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import gradcheck
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import opwright
from opwright import ArgumentError, KernelError, Operators
from opwright.signature import Sample

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(HERE / "kernels/given_ops.cpp")


def scattered(x: torch.Tensor, at: torch.Tensor, dim: int, size: int | None) -> torch.Tensor:
    """PyTorch's own answer."""
    shape = [*x.shape]
    if shape:
        shape[dim] = size if size is not None else int(at.max()) + 1 if at.numel() else 0
    else:
        shape, x, dim = [size if size is not None else int(at.max()) + 1], x[None], 0
    return x.new_zeros(shape).index_add(dim, at, x)


@pytest.mark.parametrize("size", [None, 4, 9])
@pytest.mark.parametrize(("shape", "dim"), [((5,), 0), ((2, 5), 1), ((5, 3), -2), ((2, 5, 3, 2), 1), ((), 0)])
def test_values(ops: Operators, shape: tuple[int, ...], dim: int, size: int | None) -> None:
    x, at = torch.randn(shape, dtype=torch.float64), torch.randint(4, (shape[dim] if shape else 1,))
    y, n = ops.scatter(x, at, dim, size)
    torch.testing.assert_close(y, scattered(x, at, dim, size))
    assert torch.equal(n, torch.bincount(at, minlength=size or 0))
    assert y.is_contiguous()
    torch.testing.assert_close(ops.count(at, size), n)


def test_the_edges(ops: Operators) -> None:
    none = torch.zeros(0, dtype=torch.int64)
    assert ops.count(none).shape == ops.count(none, 0).shape == (0,)
    assert ops.count(none, size=3).tolist() == [0, 0, 0]
    assert ops.count(torch.tensor([1]), None).tolist() == [0, 1]
    assert str(ops.count._schema).endswith("(Tensor at, SymInt? size=None) -> Tensor")
    assert "size is the length of S; where it is None, the call decides it." in (ops.count.__doc__ or "")


def test_calls_at_random(ops: Operators, random_calls: Callable[..., Iterator[tuple[Sample, dict[str, Any]]]]) -> None:
    given = set[bool]()
    for drawn, arguments in random_calls(ops, "scatter", 60):
        size = arguments["dim_size"]
        if size is not None:
            assert drawn.binding.axes["S"] == size
        given.add(size is None)
        if arguments["x"].numel() == 0 or (arguments["x"].ndim == 0 and arguments["at"].numel() != 1):
            continue
        y, _ = ops.scatter(**arguments)
        x, dim = arguments["x"], arguments["dim"]
        torch.testing.assert_close(y, scattered(x, arguments["at"], dim, size), rtol=1e-2, atol=1e-2)
    assert given == {True, False}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ops: ops.count(torch.tensor([3]), 3), r"at\[0\] is 3, expected an index in \[0, S\) = \[0, 3\)"),
        (lambda ops: ops.count(torch.tensor([0, -1])), r"at\[1\] is -1, expected an index in \[0, S\) = \[0, inf\)"),
        (lambda ops: ops.count(torch.tensor([0]), 100), r"size is 100, expected an int or None in \[0, 99\]"),
        (lambda ops: ops.fills(torch.ones(1), -1, 2), "size is -1, expected a size, at least 0, or None"),
        (
            lambda ops: ops.scatter(torch.ones(2), torch.zeros(3).long()),
            r"at has shape \(3,\), expected \[E\] = \(2,\)",
        ),
    ],
)
def test_wrong_calls(ops: Operators, call: Callable[[Operators], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call(ops)


def test_what_a_kernel_may_ask(ops: Operators) -> None:
    x = torch.ones(1)
    assert ops.fills(x, 3, -1).tolist() == ops.fills(x, 3, 3).tolist() == ops.fills(x, None, 3).tolist() == [1] * 3
    with pytest.raises(KernelError, match=r"y\.resize\(4\): another length was decided for this axis before"):
        ops.fills(x, 3, 4)
    with pytest.raises(KernelError, match=r"ended without calling .resize\(...\) on its result number 1"):
        ops.fills(x, None, -1)


def test_lengths_beside_groups(ops: Operators) -> None:
    x, at = torch.randn(2, 3, 7), torch.tensor([0, 3, 4, 6])
    y, z = ops.positive(x, at)
    assert torch.equal(y, x[..., [0, 4, 6]])
    assert torch.equal(z, torch.arange(3.0)[:, None, None].expand(3, 2, 3))
    y, z = ops.positive(x[0, 0], at)
    assert torch.equal(y, x[0, 0, [0, 4, 6]])
    assert z.tolist() == [0, 1, 2]


@pytest.mark.parametrize("size", [None, 6])
def test_gradients(ops: Operators, leaf: Callable[..., torch.Tensor], size: int | None) -> None:
    at = torch.tensor([0, 2, 2, 5])
    assert gradcheck(lambda x: ops.scatter(x, at, 1, size)[0], leaf(2, 4, 3))
    assert gradcheck(lambda x: ops.scatter(x, at, -1, size)[0], leaf(4))


def test_sizes_of_fake_tensors(ops: Operators) -> None:
    with FakeTensorMode(shape_env=ShapeEnv()):
        x, at = torch.empty(2, 5), torch.empty(5, dtype=torch.int64)
        y, n = ops.scatter(x, at, 1, 7)
        assert (y.shape, n.shape) == ((2, 7), (7,))
        assert all(type(size) is int for size in (*y.shape, *n.shape))
        y, n = ops.scatter(x, at, 1, None)
        assert y.shape[0] == 2
        assert isinstance(y.shape[1], torch.SymInt)
        assert y.shape[1].node.expr == n.shape[0].node.expr
        with pytest.raises(ArgumentError, match="size is -2, expected a size"):
            ops.fills(x[0], -2, 0)


@pytest.mark.slow
def test_compiled(ops: Operators, leaf: Callable[..., torch.Tensor]) -> None:
    def given(x: torch.Tensor, at: torch.Tensor, size: int) -> torch.Tensor:
        y, _ = ops.scatter(x * 2, at, 0, size)
        return torch.as_tensor(y.reshape(size, -1) + 1)  # not possible with an unbacked size

    def decided(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(ops.scatter(x * 2, at, 0)[0] + 1)

    for dynamic in (False, True):
        for function, rest in ((given, (6,)), (given, (9,)), (decided, ())):
            compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, backend="aot_eager")
            x, at = leaf(4, 3), torch.tensor([0, 2, 2, 5])
            torch.testing.assert_close(compiled(x, at, *rest), function(x, at, *rest))
            ours, expected = (torch.autograd.grad(f(x, at, *rest).sum(), x) for f in (compiled, function))
            torch.testing.assert_close(ours, expected)


@pytest.mark.slow
def test_opcheck_and_export(ops: Operators, leaf: Callable[..., torch.Tensor]) -> None:
    x, at = leaf(4, 3), torch.tensor([0, 2, 2, 5])
    for size in (None, 6):
        assert set(torch.library.opcheck(ops.scatter, (x, at, 0, size)).values()) == {"SUCCESS"}

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
            return torch.as_tensor(ops.scatter(x, at, 0, x.shape[0] + 2)[0])

    program = torch.export.export(Module(), (x.detach(), at), dynamic_shapes=({0: torch.export.Dim("n")},) * 2)
    bigger, more = torch.randn(7, 3, dtype=torch.float64), torch.arange(7)
    torch.testing.assert_close(program.module()(bigger, more), scattered(bigger, more, 0, 9))


def test_vmap(ops: Operators) -> None:
    at = torch.tensor([[0, 2], [1, 1]])
    assert torch.vmap(lambda at: ops.count(at, 4))(at).tolist() == [[1, 0, 1, 0], [0, 2, 0, 0]]
    with pytest.raises(opwright.UnsupportedError, match="vmap can't stack results of different lengths"):
        torch.vmap(ops.count)(at)
