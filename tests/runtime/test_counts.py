"""Counts as results: ints of a call, unbacked sizes in graphs; on both runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import KernelError, Operators, UnsupportedError

Tensor = torch.Tensor
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(HERE / "kernels/result_ops.cpp")


@pytest.mark.parametrize("shape", [(7,), (2, 3), (0,), ()])
def test_a_count_is_an_int(ops: Operators, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    count = ops.above(x, 0.25)
    assert type(count) is int
    assert count == int((x > 0.25).sum())


def test_beside_tensors(ops: Operators) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    y, count, over = ops.clipped(x, 1.5, True)
    assert (type(count), count) == (int, 2)
    assert over.tolist() == [False, True, True]
    torch.testing.assert_close(y, x.clamp(max=1.5))
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [1, 0, 0]
    assert ops.clipped(x, 9.0)[1:] == (0, None)


def test_beside_an_argument_that_is_overwritten(ops: Operators) -> None:
    x = torch.zeros(4)
    assert ops.incremented(x) == 4
    assert x.tolist() == [1] * 4
    assert x._version == 1


def test_a_negative_count(ops: Operators) -> None:
    assert ops.negated(torch.tensor(-3)) == 3
    with pytest.raises(KernelError) as caught:
        ops.negated(torch.tensor(3))
    assert str(caught.value) == "negated(): the kernel left -3 in its result number 1, and a count is at least 0"


def test_schema(ops: Operators) -> None:
    assert str(ops.above._schema).endswith("(Tensor x, float limit=0.) -> SymInt")
    assert str(ops.clipped._schema).endswith("-> (Tensor, SymInt, Tensor?)")


def test_opcheck(ops: Operators) -> None:
    torch.library.opcheck(ops.above, (torch.randn(3),))
    torch.library.opcheck(ops.clipped, (torch.randn(3, requires_grad=True), 0.5, True))


def sized(ops: Operators, x: Tensor) -> Any:
    y, count, _ = ops.clipped(x, 0.5)
    return y.sum() + torch.ones(count).sum(), count * 2, torch.zeros(count, 2)


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_unbacked_size_of_a_graph(ops: Operators, dynamic: bool) -> None:
    torch.compiler.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(lambda x: sized(ops, x), fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for values in ([0.0, 0.0], [1.0, 1.0], [1.0, 0.0]):  # one graph for all of them
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        got, expected = compiled(x), sized(ops, x)
        torch.testing.assert_close(got[0], expected[0])
        assert got[1] == expected[1]
        assert got[2].shape == expected[2].shape
        (mine,), (other,) = torch.autograd.grad(got[0], x), torch.autograd.grad(expected[0], x)
        torch.testing.assert_close(mine, other)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_export(ops: Operators, tmp_path: Path) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: Tensor) -> Any:
            return ops.above(x), torch.zeros(ops.above(x))

    program = torch.export.export(Module(), (torch.ones(3),))
    torch.export.save(program, tmp_path / "program.pt2")
    count, zeros = torch.export.load(tmp_path / "program.pt2").module()(torch.tensor([1.0, -1.0, 2.0]))
    assert (count, zeros.shape) == (2, (2,))


def test_compiling_an_operator_without_tensors_is_refused(ops: Operators) -> None:
    """Inductor looks for the device of the call in vain."""
    assert ops.doubled_count(3) == 6
    with pytest.raises(RuntimeError) as caught:
        torch.compile(lambda x: x + ops.doubled_count(3), backend="eager", fullgraph=True)(torch.ones(2))
    text = str(caught.value).replace("\\n", "\n")
    assert (
        "doubled_count(): none of its arguments and results is a tensor: PyTorch can't compile such an operator" in text
    )
    assert "call it before the compiled function, or in a function under @torch.compiler.disable" in text
    apart = torch.compiler.disable(lambda: ops.doubled_count(3))
    assert torch.compile(lambda x: x + apart(), backend="eager")(torch.ones(2)).tolist() == [7.0, 7.0]


def test_vmap_is_refused(ops: Operators) -> None:
    with pytest.raises(UnsupportedError) as caught:
        torch.vmap(ops.above)(torch.randn(2, 3))
    assert str(caught.value) == (
        "above(): vmap can't stack counts, and each element of the batch has its own count\n"
        "  likely fix: a loop in Python over the batch, or a tensor in the signature: count: i64[]"
    )


def test_c_functions(tmp_path: Path) -> None:
    (tmp_path / "counts.c").write_text(
        """\
#include <opwright.h>
#include <stdbool.h>
#include <stdint.h>
OPWRIGHT("by_pointer(x: f32[N], all: bool) -> (n: int, y: f32[N]? if all)")
void by_pointer(const float *x, int64_t N, bool all, int64_t *n, float *y) {
  for (int64_t i = 0; i < N; ++i) {
    *n += x[i] > 0;
    if (y) y[i] = 2 * x[i];
  }
}
OPWRIGHT("returned(x: f32[N]) -> (n: int)")
int64_t returned(const float *x, int64_t N) {
  int64_t n = 0;
  for (int64_t i = 0; i < N; ++i) n += x[i] > 0;
  return n;
}
"""
    )
    ops = opwright.load(tmp_path / "counts.c")
    x = torch.tensor([1.0, -1.0, 2.0])
    assert ops.by_pointer(x, False) == (2, None)
    count, y = ops.by_pointer(x, True)
    assert (count, y.tolist()) == (2, [2, -2, 4])
    assert ops.returned(x) == 2


@pytest.mark.parametrize("value", [True, -1, 2.0, None])
def test_python_functions(value: object) -> None:
    op = opwright.differentiable(
        lambda x, wrong: (2 * x, value if wrong else len(x)),
        lambda grad_y: 2 * grad_y,
        signature=[
            "counted(x: T[N], wrong: bool = False) -> (y: T[N], count: int)",
            "counted_backward(grad_y: T[N]) -> (grad_x: T[N])",
        ],
    )
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert op(x)[1] == 3
    assert torch.autograd.gradcheck(lambda x: op(x)[0], x)
    with pytest.raises(KernelError, match="expected a count: an int that is at least 0"):
        op(x, True)
