"""torch.compile: one graph, no recompilation over sizes, the same numbers; and its caches know the signature."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

import opwright
from opwright import Operators

Leaf = Callable[..., torch.Tensor]

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # inductor's own


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()


def model(grads: Operators) -> Callable[..., Any]:
    def step(x: torch.Tensor, w: torch.Tensor, alpha: float) -> Any:
        y, index = grads.affine(grads.rowsum(grads.mul(x, x + 1)), w, None, alpha, 2)
        return grads.gate(y).cos() + index + grads.total(torch.cat([x, x], 1))

    return step


def run(step: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> list[torch.Tensor]:
    out = step(*inputs, 0.5)
    return [out, *torch.autograd.grad(out.sum(), inputs)]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.exhaustive)])
def test_one_graph_for_all_sizes(grads: Operators, leaf: Leaf, backend: str) -> None:
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(model(grads), fullgraph=True, dynamic=True, backend=counter)
    first = 0
    for rows, columns in ((3, 4), (5, 2), (7, 11), (2, 9)):
        inputs = leaf(rows, columns), leaf(rows)
        for got, expected in zip(run(compiled, *inputs), run(model(grads), *inputs), strict=True):
            torch.testing.assert_close(got, expected)
        first = first or counter.frame_count
    assert counter.frame_count == first  # torch traces a second time at once where it made the float a constant


def test_static_and_without_gradient(grads: Operators, leaf: Leaf) -> None:
    compiled = torch.compile(model(grads), fullgraph=True, backend="aot_eager")
    x, w = leaf(3, 4), leaf(3)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x, w, 0.5), model(grads)(x, w, 0.5))
    torch.testing.assert_close(run(compiled, x, w), run(model(grads), x, w))


def test_the_graph_holds_the_operators_themselves(grads: Operators, leaf: Leaf) -> None:
    seen: list[str] = []

    def look(graph: torch.fx.GraphModule, _: Any) -> Callable[..., Any]:
        seen.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    x = leaf(3)
    torch.compile(grads.gate, backend=look, fullgraph=True)(x)  # type: ignore[no-untyped-call]
    assert [name.rpartition(".")[0] for name in seen] == ["autograd_ops.gate"]


def test_wrong_shapes_are_an_error_when_compiled(grads: Operators) -> None:
    compiled = torch.compile(grads.mul, backend="eager", dynamic=True)
    with pytest.raises(RuntimeError, match=r"mul\(\): y has shape \(s\d+,\), expected \[...\] = \(s\d+,\)"):
        compiled(torch.ones(3), torch.ones(4))  # type: ignore[no-untyped-call]


def test_second_derivative_inside_a_graph(grads: Operators, leaf: Leaf) -> None:
    def penalty(x: torch.Tensor) -> Any:
        return torch.func.grad(lambda x: torch.func.grad(lambda x: grads.gate(x).sum())(x).sum())(x)

    x = leaf(3).detach()
    torch.testing.assert_close(torch.compile(penalty, fullgraph=True, backend="aot_eager")(x), 6 * x)


@pytest.mark.parametrize("strict", [True, False])
def test_export(grads: Operators, strict: bool) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return grads.rowsum(grads.logistic(x))

    rows = torch.export.Dim("rows")
    program = torch.export.export(Module(), (torch.ones(3, 4),), dynamic_shapes=({0: rows},), strict=strict)
    x = torch.rand(7, 4)
    torch.testing.assert_close(program.module()(x), x.sigmoid().sum(1))


_SOURCE = """
#include <opwright.h>
OPWRIGHT("grow(x: T[N]) -> (y: T[{size}])")
template <class T>
void grow(Tensor<const T, 1> x, Tensor<T, 1> y) {{
  for (int64_t i = 0; i < y.size(0); ++i) y[i] = i + x[0];
}}
"""
_SCRIPT = """
import json, sys, torch, opwright, torch._inductor.config
from torch._dynamo.utils import counters
ops = opwright.load(sys.argv[1])
torch._inductor.config.cpp.simdlen = 0  # nothing is vectorised here: no need to find out how
y = torch.compile(lambda x: {call}(x) + 0, fullgraph=True, dynamic=False)(torch.ones(3))
print(json.dumps([y.tolist(), counters["inductor"]["fxgraph_cache_hit"]]))
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("call", ["ops.grow", "torch.ops.grow.grow", "torch.ops.grow.grow.default"])
def test_a_second_process_doesnt_take_the_graph_of_another_signature(call: str, tmp_path: Path) -> None:
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}

    def start(size: str) -> subprocess.Popen[bytes]:
        source = tmp_path / size.replace("*", "x") / "grow.cpp"
        source.parent.mkdir(exist_ok=True)
        source.write_text(_SOURCE.format(size=size))
        command = [sys.executable, "-c", _SCRIPT.replace("{call}", call), str(source)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)

    def result(process: subprocess.Popen[bytes]) -> Any:
        return json.loads(process.communicate()[0])

    assert result(start("2*N")) == [[1.0 + i for i in range(6)], 0]
    same, other = start("2*N"), start("N+1")
    assert result(same)[1] == 1  # the cache is in use
    assert result(other) == [[1.0 + i for i in range(4)], 0]


def test_the_overload_name_holds_the_signature(tmp_path: Path) -> None:
    names = []
    for index, size in enumerate(("2*N", "N+1", "2*N")):
        source = tmp_path / f"grow_{index}.cpp"
        source.write_text(_SOURCE.format(size=size))
        names.append(opwright.load(source).grow._overloadname)
    assert names[0] == names[2] != names[1]


@pytest.mark.slow
def test_equal_calls_of_a_random_operator_draw_twice(write: Callable[..., Path]) -> None:
    """In a graph with gradients PyTorch merges equal calls of what it doesn't know to be random."""
    ops = opwright.load(
        write(
            """
        OPWRIGHT("noise(x: T[N], rng: generator(1)) -> (y: T[N])")
        template <class T>
        void noise(Tensor<const T, 1> x, Tensor<T, 1> y, Generator rng) {
          for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] + rng[i].uniform();
        }
        OPWRIGHT("noise_backward(grad_y: T[N]) -> (grad_x: T[N])")
        template <class T>
        void noise_backward(Tensor<const T, 1> grad_y, Tensor<T, 1> grad_x) {
          for (int64_t i = 0; i < grad_x.size(0); ++i) grad_x[i] = grad_y[i];
        }
        """,
            "noisy.cpp",
        )
    )

    def twice(x: torch.Tensor) -> torch.Tensor:
        return torch.stack([ops.noise(x), ops.noise(x)]) + 0

    compiled, x = torch.compile(twice, backend="aot_eager", fullgraph=True), torch.zeros(9, requires_grad=True)
    torch.manual_seed(0)
    eager = twice(x)
    torch.manual_seed(0)
    assert torch.equal(compiled(x), eager)
    assert not torch.equal(eager[0], eager[1])
