"""Compiled autograd over eager forwards: the traced backward calls the operators' backwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo import compiled_autograd

import opwright
from opwright import Operators, UnsupportedError

Leaf = Callable[..., torch.Tensor]

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute")  # Dynamo's, between two graphs


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(Path(__file__).parent / "kernels" / "jagged_ops.cpp")


class Graphs:
    """A backend of torch.compile that keeps the operators of each graph that AOTAutograd made."""

    def __init__(self) -> None:
        self.seen: list[set[str]] = []

    def __call__(self, module: Any, inputs: Any) -> Any:
        def keep(graph: Any, _: Any) -> Any:
            self.seen.append({str(node.target) for node in graph.graph.nodes if node.op == "call_function"})
            return graph.forward

        return torch._dynamo.backends.common.aot_autograd(fw_compiler=keep)(module, inputs)


def backward(loss: torch.Tensor, **options: Any) -> None:
    settings: dict[str, Any] = {"backend": "eager", "fullgraph": native()} | options
    with compiled_autograd._enable(torch.compile(**settings)):
        loss.backward()


def native() -> bool:
    return opwright.runtime.name() == "native"  # the one in Python calls the backward between two graphs


def assert_same_gradients(function: Callable[..., torch.Tensor], *inputs: torch.Tensor, **options: Any) -> None:
    expected = torch.autograd.grad(function(*inputs), inputs)
    for x in inputs:
        x.grad = None
    backward(function(*inputs), **options)
    torch.testing.assert_close([x.grad for x in inputs], list(expected))


def test_saved_tensors_residuals_and_axes(grads: Operators, ops: Operators, leaf: Leaf) -> None:
    for rows, columns in ((4, 2), (4, 6), (3, 6)):
        x, w = leaf(rows, columns), leaf(columns)
        assert_same_gradients(lambda x, w: ops.weigh(ops.gate(x, w), w).sin().sum(), x, w)
        assert_same_gradients(lambda x: grads.rowsum(x).sin().sum(), x)
        assert_same_gradients(lambda x: grads.total(x).sin(), x)
        assert_same_gradients(lambda x: grads.total(x.expand(2, *x.shape)).sin(), x)


def test_absent_gradients(grads: Operators, leaf: Leaf) -> None:
    x, y = leaf(3), leaf(3)
    for result in (0, 1):  # the other one has no gradient: None, or zeros
        assert_same_gradients(
            lambda x, y, result=result: grads.pair(x, y)[result].sin().sum() + y.sum() + x.sum(), x, y
        )


def test_scalars_and_wanted_gradients_are_part_of_the_key(ops: Operators, leaf: Leaf) -> None:
    x, w = leaf(4, 3), leaf(3)
    for by in (2.0, 3.0, 2.0):
        assert_same_gradients(lambda x, w, by=by: ops.gate(x, w, by).sum(), x, w)
        assert_same_gradients(lambda x, by=by: ops.gate(x, w.detach(), by).sum(), x)
    with compiled_autograd._enable(torch.compile(backend="eager")):
        (of_w,) = torch.autograd.grad(ops.gate(x, w).sum(), w)
    torch.testing.assert_close(of_w, torch.autograd.grad(ops.gate(x, w).sum(), w)[0])


def test_saved_tensors_go_through_hooks(ops: Operators, leaf: Leaf) -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy):
            return ops.weigh(x, w).sum()  # type: ignore[no-any-return]

    assert_same_gradients(function, leaf(4, 3), leaf(3), fullgraph=False)


@pytest.mark.slow
def test_the_graph_calls_the_operators_backward(ops: Operators, leaf: Leaf) -> None:
    graphs = Graphs()
    assert_same_gradients(lambda x, w: ops.weigh(x, w).sum(), leaf(4, 3), leaf(3), backend=graphs)
    called = {name.rpartition(".")[0] for graph in graphs.seen for name in graph}
    assert ("jagged_ops.weigh_backward" in called) is native()
    assert_same_gradients(lambda x, w: ops.weigh(x, w).sum(), leaf(4, 3), leaf(3), backend="inductor")


def test_what_is_refused(grads: Operators, ops: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    with pytest.raises(UnsupportedError, match=r"^square\(\) has no gradient"):
        backward(grads.square(x).sum())
    y = x * 1
    ops.twice(y)
    text = r"^TwiceBackward: compiled autograd can't trace an operator that overwrites an argument; call"
    with pytest.raises(UnsupportedError, match=text):
        backward(y.sum())
    y.sum().backward()
    assert x.grad is not None
