"""Results that are returned on a condition, else None: in calls, gradients and graphs; on both runtimes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import ArgumentError, KernelError, Operators, UnsupportedError

Tensor = torch.Tensor
HERE = Path(__file__).parent
CALLS: list[tuple[bool, bool]] = [(False, False), (False, True), (True, False), (True, True)]


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(HERE / "kernels/result_ops.cpp")


def weigh(x: Tensor, w: Tensor | None, give_all: bool) -> tuple[Tensor, Tensor | None, Tensor | None]:
    return x if w is None else x * w, (x * x).sum(1) if give_all else None, None if w is None else w * w


def inputs(weights: bool) -> tuple[Tensor, Tensor | None]:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(3, 4, dtype=torch.float64, generator=generator).requires_grad_()
    return x, torch.rand(4, dtype=torch.float64, generator=generator).requires_grad_() if weights else None


def assert_same(got: Any, expected: Any) -> None:
    assert [one is None for one in got] == [one is None for one in expected]
    for one, other in zip(got, expected, strict=True):
        if one is not None:
            torch.testing.assert_close(one, other)


def total(results: Any) -> Tensor:
    return sum(((i + 1) * one.sin().sum() for i, one in enumerate(results) if one is not None), torch.zeros(()))


def gradients(results: Any, leaves: list[Tensor]) -> tuple[Tensor, ...]:
    return torch.autograd.grad(total(results), leaves)


@pytest.mark.parametrize(("weights", "give_all"), CALLS)
def test_calls_and_gradients(ops: Operators, weights: bool, give_all: bool) -> None:
    x, w = inputs(weights)
    got, expected = ops.weigh(x, w, give_all), weigh(x, w, give_all)
    assert_same(got, expected)
    leaves = [x, *([w] if w is not None else [])]
    assert_same(gradients(got, leaves), gradients(expected, leaves))


@pytest.mark.parametrize("used", range(3))
def test_gradients_of_some_results(ops: Operators, used: int) -> None:
    x, w = inputs(True)
    got, expected = ops.weigh(x, w, True)[used], weigh(x, w, True)[used]
    assert got is not None
    assert expected is not None
    leaf = w if used == 2 else x
    assert leaf is not None
    (mine,), (other,) = torch.autograd.grad(got.sum(), leaf), torch.autograd.grad(expected.sum(), leaf)
    torch.testing.assert_close(mine, other)


def test_lengths_that_the_kernel_decides(ops: Operators) -> None:
    x = torch.tensor([1.0, -2.0, 3.0, 0.0])
    assert_same(ops.positive(x, "values"), (torch.tensor([1.0, 3.0]), None))
    assert_same(ops.positive(x, "places"), (None, torch.tensor([0, 2])))
    assert_same(ops.positive(x), (torch.tensor([1.0, 3.0]), torch.tensor([0, 2])))
    with pytest.raises(ArgumentError, match="give is 'none', expected 'values' or 'places' or 'both'"):
        ops.positive(x, "none")


@pytest.mark.parametrize("limit", [None, 0.0, 1.5])
def test_an_optional_number_is_there_if_it_is_zero(ops: Operators, limit: float | None) -> None:
    x = torch.tensor([[1.0, -2.0], [3.0, 0.5]])
    expected = (x, None) if limit is None else (x.clamp(max=limit), x > limit)
    assert_same(ops.limited(x, limit), expected)


def test_a_kernel_that_doesnt_ask(ops: Operators) -> None:
    x = torch.randn(5)
    assert_same(ops.untested(x, True), (x, 2 * x))
    assert_same(ops.untested(x, False), (x, None))


def test_batched(ops: Operators) -> None:
    x = torch.randn(2, 3, 4)
    assert_same(ops.rowsum(x, True), (x.sum(-1), x[..., 0], None))
    assert_same(ops.rowsum(x, False), (x.sum(-1), None, torch.full((2, 3), 4)))


def test_schema(ops: Operators) -> None:
    assert str(ops.weigh._schema).endswith("(Tensor x, Tensor? w=None, bool all=False) -> (Tensor, Tensor?, Tensor?)")


@pytest.mark.parametrize(("weights", "give_all"), CALLS)
def test_opcheck(ops: Operators, weights: bool, give_all: bool) -> None:
    torch.library.opcheck(ops.weigh, (*inputs(weights), give_all))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(ops: Operators, dynamic: bool) -> None:
    def function(x: Tensor, w: Tensor | None, give_all: bool) -> Any:
        return ops.weigh(x, w, give_all)

    torch.compiler.reset()
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for weights, give_all in CALLS:
        x, w = inputs(weights)
        assert_same(compiled(x, w, give_all), weigh(x, w, give_all))
        assert_same(gradients(compiled(x, w, give_all), [x]), gradients(weigh(x, w, give_all), [x]))


def test_fake_tensors(ops: Operators) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        y, sums, squares = ops.weigh(torch.empty(3, 4), None, True)
    assert (y.shape, sums.shape, squares) == ((3, 4), (3,), None)


def test_export(ops: Operators, tmp_path: Path) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: Tensor, w: Tensor) -> Any:
            y, sums, squares = ops.weigh(x, w)
            assert sums is None
            return y, squares

    x, w = (t.detach() for t in inputs(True) if t is not None)
    program = torch.export.export(Module(), (x, w), dynamic_shapes={"x": {0: torch.export.Dim("rows")}, "w": None})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(program, tmp_path / "program.pt2")
        loaded = torch.export.load(tmp_path / "program.pt2")
    assert_same(loaded.module()(x[:2], w), (x[:2] * w, w * w))


def test_vmap(ops: Operators) -> None:
    x, w = torch.randn(2, 3, 4), torch.randn(4)
    got = torch.vmap(lambda x: ops.weigh(x, w)[::2])(x)
    assert_same(got, (x * w, (w * w).expand(2, 4)))
    assert_same(torch.vmap(lambda x: ops.rowsum(x, True)[:2])(x), (x.sum(-1), x[..., 0]))


def test_functional_gradients(ops: Operators) -> None:
    x, w = inputs(True)
    grads = torch.func.grad(lambda x, w: total(ops.weigh(x, w)), argnums=(0, 1))(x, w)
    assert_same(grads, torch.func.grad(lambda x, w: total(weigh(x, w, False)), argnums=(0, 1))(x, w))


def test_checkpoint(ops: Operators) -> None:
    from torch.utils.checkpoint import checkpoint

    x, w = inputs(True)
    results = checkpoint(ops.weigh, x, w, True, use_reentrant=False)
    assert_same(gradients(results, [x]), gradients(weigh(x, w, True), [x]))


def test_beside_an_argument_that_is_overwritten(ops: Operators) -> None:
    x = torch.tensor([3.0, 4.0])
    assert ops.stamped(x, False) is None
    assert x.tolist() == [1, 1]
    assert ops.stamped(x, True).tolist() == [1, 1]


@pytest.mark.parametrize("name", ["stamped", "incremented"])
def test_pytorch_traces_no_such_operator_that_overwrites(ops: Operators, name: str) -> None:
    def function(x: Tensor) -> Any:
        return ops.stamped(x, True) if name == "stamped" else ops.incremented(x)

    x = torch.zeros(2)
    with pytest.raises(UnsupportedError) as caught:
        torch.func.functionalize(function)(x)
    what, form = (
        ("z is optional", "z: T[N], always there") if name == "stamped" else ("count is a count", "count: i64[]")
    )
    assert str(caught.value) == (
        f"{name}(): it overwrites x, and its result {what}: PyTorch can't trace or compile such an operator\n"
        f"  signature:    {ops.__loaded__.registered[name].kernel.signature}\n"
        f"  likely fix:   call it in a function under @torch.compiler.disable, or return a tensor: {form}"
    )
    torch.compiler.reset()
    with pytest.raises(Exception, match="it overwrites x, and its result"):
        torch.compile(lambda x: function(x.clone()), fullgraph=True, backend="aot_eager")(x)


def test_python_functions() -> None:
    def doubled(x: Tensor, more: float | None) -> tuple[Tensor, Tensor | None]:
        wrong = {7: torch.ones(3), 8: None}
        return 2 * x, wrong[int(more)] if more in wrong else None if more is None else x * more

    op = opwright.differentiable(
        doubled,
        lambda grad_y, grad_z, more: 2 * grad_y + (0 if grad_z is None else grad_z * more),
        signature=[
            "doubled(x: T[N], more: float?) -> (y: T[N], z: T[N]? if more)",
            "doubled_backward(grad_y: T[N], grad_z: T[N]?, more: float?) -> (grad_x: T[N])",
        ],
    )
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    for more in (3.0, None, 0.0):
        expected = 2 * x, None if more is None else x * more
        assert_same(op(x, more), expected)
        assert_same(gradients(op(x, more), [x]), gradients(expected, [x]))
    with pytest.raises(KernelError, match=r"returned z as torch.float32, expected T = f64"):
        op(x, 7.0)
    with pytest.raises(KernelError, match=r"returned None for z, which is optional \(if more\): expected a tensor"):
        op(x, 8.0)


def test_python_functions_that_return_what_isnt_wanted() -> None:
    op = opwright.differentiable(
        lambda x, more: (x.clone(), x.clone()),
        lambda grad_y, grad_z: grad_y,
        signature=[
            "unwanted_result(x: T[N], more: bool) -> (y: T[N], z: T[N]? if more)",
            "unwanted_result_backward(grad_y: T[N], grad_z: T[N]?) -> (grad_x: T[N])",
        ],
    )
    with pytest.raises(KernelError, match=r"returned Tensor for z, which is optional \(if more\): expected None"):
        op(torch.randn(2), False)
