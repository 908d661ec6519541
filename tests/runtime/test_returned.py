"""Results that are returned in a list, and arguments that are overwritten and returned; on both runtimes."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck

import opwright
from opwright import ArgumentError, Operators, UnsupportedError

HERE = Path(__file__).parent
Leaf = Callable[..., torch.Tensor]


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(HERE / "kernels/returned_ops.cpp")


def sums(x: torch.Tensor, scale: float = 1.0) -> list[torch.Tensor]:
    wide = torch.float32 if x.dtype.itemsize < 4 else x.dtype
    return [scale * x.sum(1), (x.to(wide) * x.to(wide)).sum(0)]


def assert_listed(ours: Any, expected: list[torch.Tensor]) -> None:
    assert type(ours) is list
    torch.testing.assert_close(ours, expected)


def test_schemas(ops: Operators) -> None:
    schemas = {name: str(getattr(ops, name)._schema).partition("(")[2] for name in ("sums", "scale_", "exchange")}
    assert schemas == {
        "sums": "Tensor x, float scale=1.) -> Tensor[]",
        "scale_": "Tensor(a!) x, float by) -> Tensor(a!)",
        "exchange": "Tensor(a!) x, Tensor(b!) y) -> (Tensor(b!), Tensor(a!))",
    }
    assert inspect.signature(ops.sums).return_annotation == list[torch.Tensor]
    assert inspect.signature(ops.scale_).return_annotation is torch.Tensor
    assert "Returns a list:\n    rows: T[N]\n    columns: acc(T)[M]" in (ops.sums.__doc__ or "")
    assert "Returns:\n    y: the argument\n    x: the argument" in (ops.exchange.__doc__ or "")
    assert [p.name for p in ops.__loaded__.registered["scale_"].kernel.signature.inputs] == ["x", "by"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("shape", [(3, 4), (0, 2), (2, 0)])
def test_lists(ops: Operators, dtype: torch.dtype, shape: tuple[int, int]) -> None:
    x = torch.randint(-3, 4, shape).to(dtype)
    assert_listed(ops.sums(x, 2.0), sums(x, 2.0))
    assert_listed(ops.sums(x=x), sums(x))
    assert_listed(ops.split(x, x.flip(0)), [x.maximum(x.flip(0)), x.minimum(x.flip(0))])
    assert_listed(ops.one(x), [-x.flip(-1)])


def test_lists_without_arguments_and_beside_what_is_overwritten(ops: Operators) -> None:
    assert_listed(ops.made(2, 3.0), [torch.full((2,), 3.0), torch.full((2,), 3.0, dtype=torch.float64)])
    x = torch.tensor([1.0, 2.0])
    assert_listed(ops.writes(x), [torch.tensor([1.0, 2.0])])
    assert x.tolist() == [0, 0]


def test_gradients_of_lists(ops: Operators, leaf: Leaf) -> None:
    assert gradcheck(lambda x: tuple(ops.sums(x, 2.0)), leaf(2, 3))
    assert gradcheck(lambda x, y: tuple(ops.split(x, y)), (leaf(3), leaf(2, 1)))
    rows, columns = ops.sums(leaf(2, 3))
    assert rows.grad_fn is not None
    assert columns.grad_fn.name() == "SumsBackward"
    for alone in (rows, columns):  # one of them has no gradient
        assert gradcheck(lambda x, i=int(alone is columns): ops.sums(x)[i], leaf(2, 3))


def test_lists_in_transforms(ops: Operators) -> None:
    x = torch.randn(2, 3, 4)
    assert_listed(torch.vmap(ops.sums)(x), [x.sum(2), (x * x).sum(1)])
    assert_listed(torch.vmap(ops.one)(x[0]), [-x[0].flip(-1)])
    assert_listed(torch.vmap(ops.split, in_dims=(0, None))(x, x[0]), [x.maximum(x[0]), x.minimum(x[0])])
    y, z = torch.vmap(ops.noise, randomness="different")(torch.zeros(5, 3))
    torch.testing.assert_close(y, z)
    assert z.unique().numel() == 15
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_listed(ops.sums(torch.ones(2, 3)), [torch.full((2,), 3.0), torch.full((3,), 2.0)])
    grads = torch.func.grad(lambda x: sum(each.sum() for each in ops.sums(x)))(x[0])
    torch.testing.assert_close(grads, 1 + 2 * x[0])
    with torch.no_grad():
        assert_listed(ops.sums(x[0].requires_grad_()), sums(x[0]))


def test_returned_arguments(ops: Operators) -> None:
    y = torch.tensor([1.0, 2.0])
    assert ops.scale_(y, 3.0) is y
    assert y.tolist() == [3, 6]
    assert ops.shift_(y, torch.tensor(2.0)) is y
    out = torch.empty(2)
    assert ops.cumsum(y, out=out) is out
    assert out.tolist() == [6, 18]
    first, second = ops.exchange(y, out)
    assert (first is out, second is y) == (True, True)
    assert (out.tolist(), y.tolist()) == ([6, 12], [6, 18])
    assert ops.clear_([y, y, y], out) is out
    assert out.tolist() == [3, 3]
    part = torch.ones(2, 3)
    assert ops.scale_(part[:, 1], 2.0).data_ptr() == part[:, 1].data_ptr()
    assert part.tolist() == [[1, 2, 1]] * 2
    transposed = torch.ones(4)[::2]
    assert ops.cumsum(torch.ones(2), transposed) is transposed
    assert transposed.tolist() == [1, 2]


def test_returned_arguments_that_are_lazily_negated(ops: Operators) -> None:
    x = torch._neg_view(torch.ones(3))
    assert ops.scale_(x, 2.0) is x
    assert x.tolist() == [-2] * 3


def test_gradients_of_returned_arguments(ops: Operators, leaf: Leaf) -> None:
    assert gradcheck(lambda x: ops.scale_(x * 1, 3.0), leaf(3))
    assert gradcheck(lambda x, by: ops.shift_(x * 1, by), (leaf(2, 3), leaf(3)))
    a = leaf(3)
    b = a * 1
    version = b._version
    c = ops.scale_(b, 3.0)
    assert c is b
    assert b._version == version + 1
    assert torch.equal(torch.autograd.grad(c.sum(), a)[0], torch.full_like(a, 3))
    b = a * 1
    view = b[1:]
    assert ops.scale_(view, 3.0) is view
    assert torch.autograd.grad(b.sum(), a)[0].tolist() == [1, 3, 3]
    with pytest.raises(RuntimeError, match="a leaf"):
        ops.scale_(a, 2.0)


def test_returned_arguments_in_transforms(ops: Operators) -> None:
    x = torch.ones(2, 3)
    result = torch.vmap(lambda x: ops.scale_(x, 2.0))(x)
    assert torch.equal(result, x)
    assert x.tolist() == [[2] * 3] * 2
    torch.vmap(ops.shift_, in_dims=(1, None))(x, torch.tensor(3.0))
    assert x.tolist() == [[6] * 3] * 2
    y, out = torch.ones(2, 3), torch.zeros(2, 3)
    assert torch.equal(torch.vmap(ops.cumsum)(y, out), out)
    assert out.tolist() == [[1, 2, 3]] * 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops.scale_(y[0], 2.0).tolist() == [2] * 3
    xs = torch.ones(2, 3)
    torch.vmap(lambda x, out: ops.clear_([x, x], out))(xs, y)
    assert y.tolist() == [[2] * 3] * 2


def test_fake_tensors(ops: Operators) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x, y = torch.empty(2, 3), torch.empty(3)
        rows, columns = ops.sums(x)
        assert (type(ops.sums(x)), rows.shape, columns.shape) == (list, (2,), (3,))
        assert ops.scale_(y, 2.0) is y
        assert ops.cumsum(y, out=y.clone()).shape == (3,)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(torch.Tag, "inplace"), reason="PyTorch before 2.13 has no such graphs")
def test_compiled(ops: Operators, leaf: Leaf) -> None:
    def listed(x: torch.Tensor) -> Any:
        return [each + 1 for each in ops.sums(x.sin())]

    def overwritten(x: torch.Tensor) -> Any:
        return [ops.scale_(x * 2, 3.0) + 1]

    for function in (listed, overwritten):
        for dynamic in (False, True):
            compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, backend="aot_eager")
            x = leaf(3, 4) if function is listed else leaf(3)
            torch.testing.assert_close(compiled(x), function(x))
            grads = [torch.autograd.grad(sum(each.sum() for each in f(x)), x) for f in (compiled, function)]
            torch.testing.assert_close(*grads)
    x = torch.ones(3)

    def in_place(x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = ops.scale_(x, 2.0)
        return y + x

    assert torch.compile(in_place, fullgraph=True, backend="aot_eager")(x).tolist() == [4] * 3
    assert x.tolist() == [2] * 3


@pytest.mark.slow
def test_opcheck_and_export(ops: Operators, leaf: Leaf, tmp_path: Path) -> None:
    for op, args in ((ops.sums, (leaf(2, 3),)), (ops.split, (leaf(3), leaf(3))), (ops.one, (torch.randn(2, 3),))):
        assert set(torch.library.opcheck(op, args).values()) == {"SUCCESS"}
    if hasattr(torch.Tag, "inplace"):
        assert set(torch.library.opcheck(ops.scale_, (torch.ones(3), 2.0)).values()) == {"SUCCESS"}

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            rows, columns = ops.sums(x)
            return torch.as_tensor(rows.sum() + columns)

    x = torch.randn(2, 3)
    program = torch.export.export(Module(), (x,), dynamic_shapes=({0: torch.export.Dim("rows")},))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(program, tmp_path / "program.pt2")
        loaded = torch.export.load(tmp_path / "program.pt2")
    more = torch.randn(5, 3)
    torch.testing.assert_close(loaded.module()(more), more.sum() + (more * more).sum(0))


@pytest.mark.parametrize(
    ("call", "form", "instead"),
    [
        (lambda ops, x: ops.writes(x), "returns its results in a list", "writes(x: T[N]!) -> (y: T[N])"),
        (lambda ops, x: ops.cumsum(x, x * 1), "returns its results out itself", "cumsum(x: T[N], out: T[N]!)"),
        (lambda ops, x: ops.exchange(x, x * 1), "returns its results y itself", "exchange(x: T[N]!, y: T[N]!)"),
    ],
)
def test_what_pytorch_cannot_trace(ops: Operators, call: Callable[..., Any], form: str, instead: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        torch.func.functionalize(lambda x: call(ops, x))(torch.ones(2))
    assert form in str(caught.value)
    assert str(caught.value).endswith(f"or write: {instead}")


def test_python_functions() -> None:
    op = opwright.differentiable(
        lambda x: (2 * x, x + 1),
        lambda grad_y, grad_z: 2 * grad_y + grad_z,
        signature=[
            "both_listed(x: T[N]) -> [y: T[N], z: T[N]]",
            "both_listed_backward(grad_y: T[N], grad_z: T[N]) -> (grad_x: T[N])",
        ],
    )
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert_listed(op(x), [2 * x, x + 1])
    assert gradcheck(lambda x: tuple(op(x)), x)
    with pytest.raises(ArgumentError, match="x has shape"):
        op(torch.ones(2, 2))


def test_jagged_tensors(ops: Operators) -> None:
    x = torch.nested.nested_tensor([torch.ones(2), torch.full((3,), 5.0)], layout=torch.jagged)
    more, less = ops.split(x, x * 2)
    assert [part.tolist() for part in more.unbind()] == [[2] * 2, [10] * 3]
    assert [part.tolist() for part in less.unbind()] == [[1] * 2, [5] * 3]
