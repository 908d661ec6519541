"""Element types and devices as arguments, in calls and graphs; on both runtimes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck

import opwright
from opwright import ArgumentError, Operators
from tests.interpreter import run_python

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(HERE / "kernels/chosen_ops.cpp")


@pytest.mark.parametrize("own", [torch.float32, torch.float64])
@pytest.mark.parametrize("to", [None, torch.float32, torch.float64])
def test_the_type_of_another_variable_by_default(ops: Operators, own: torch.dtype, to: torch.dtype | None) -> None:
    x = torch.randn(2, 3, dtype=own)
    torch.testing.assert_close(ops.total(x, 0, to), x.sum(0, dtype=to))
    assert ops.total(x, to=to).dtype is (to or own)
    assert ops.total(x.to("meta"), to=to).dtype is (to or own)


def test_a_type_by_default(ops: Operators) -> None:
    x = torch.tensor([0, 1, -2])
    assert ops.cast(x).dtype is torch.float32
    assert ops.cast(x, torch.bool).tolist() == [False, True, True]
    assert ops.cast(x, to=torch.int64, on="cpu").tolist() == [0, 1, -2]


def test_pointwise(ops: Operators) -> None:
    x = torch.randn(2, 3, dtype=torch.float64) * 5
    assert torch.equal(ops.rounded(x, torch.int64), (x.abs() + 0.5).floor().mul(x.sign()).long())
    assert ops.rounded(x.t().float(), to=torch.int32).dtype is torch.int32


def test_operators_without_tensors(ops: Operators) -> None:
    assert ops.grid(3).tolist() == [0, 1, 2]
    assert torch.equal(ops.grid(3, torch.float64, "cpu", 0.5), torch.tensor([0, 0.5, 1], dtype=torch.float64))
    assert ops.grid(3, where="meta").device.type == "meta"
    y, z = ops.pairs(3, torch.float32, dtype=torch.float64)
    assert (y.dtype, z.dtype) == (torch.float64, torch.float32)
    assert z.tolist() == [0, 0.5, 1]


def test_schemas_and_signatures(ops: Operators) -> None:
    found = {name: str(getattr(ops, name)._schema).partition("(")[2] for name in ("total", "cast", "grid", "pairs")}
    assert found == {
        "total": "Tensor x, int dim=-1, ScalarType? to=None) -> Tensor",
        "cast": "Tensor x, ScalarType to=6, Device? on=None) -> Tensor",
        "grid": "SymInt n, ScalarType to=4, Device? where=None, float step=1.) -> Tensor",
        "pairs": "SymInt n, ScalarType to=7, *, ScalarType? dtype=None, Device? device=None) -> (Tensor, Tensor)",
    }
    parameters = inspect.signature(ops.cast).parameters
    assert (parameters["to"].default, parameters["on"].default) == (torch.float32, None)
    assert parameters["to"].annotation is torch.dtype
    assert "to: dtype(W) = f32; the element type W, as torch.float32" in (ops.cast.__doc__ or "")


def test_gradients(ops: Operators) -> None:
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: ops.total(x, 0), x)
    assert gradcheck(lambda x: ops.total(x, 1, torch.float64), x)
    ops.total(x, 1, torch.float32).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype is torch.float64


CAST = (
    "  signature:    cast(x: T[N], to: dtype(W) = f32, on: device) -> (y: W[N]) "
    "where T in (f32, i64), W in (f32, i64, bool)\n"
)
X = torch.zeros(3)
BAD: list[tuple[Callable[[Any], Any], str]] = [
    (
        lambda ops: ops.cast(X, torch.float64),
        f"cast(): to is float64, expected W in (float32, int64, bool)\n{CAST}  likely fix:   to=torch.float32",
    ),
    (lambda ops: ops.cast(X.to("meta"), torch.float64), "cast(): to is float64, expected W in (float32, int64, bool)"),
    (lambda ops: ops.cast(X, torch.complex32), "cast(): to is a type that no signature can name, expected W in ("),
    (lambda ops: ops.cast(X, "f32"), "cast(): to is the str 'f32', expected a torch.dtype"),
    (lambda ops: ops.cast(X, None), "cast(): to is None, expected a torch.dtype"),
    (
        lambda ops: ops.cast(X, on="cuda"),
        "cast(): on is cuda, but x is on cpu: beside tensors it is their device\n  likely fix: leave out on=, or x.",
    ),
    (lambda ops: ops.cast(X.to("meta"), on="cpu"), "cast(): on is cpu, but x is on meta: beside tensors it is their"),
    (lambda ops: ops.cast(X, on=1.5), "cast(): on is the float 1.5, expected a torch.device"),
    (lambda ops: ops.rounded(X, torch.float32), "rounded(): to is float32, expected W in (int32, int64)"),
    (lambda ops: ops.rounded(X), "rounded(): to is missing, expected a torch.dtype\n"),
    (lambda ops: ops.grid(2, torch.float32), "grid(): to is float32, expected T in (int64, float64)"),
    (
        lambda ops: ops.grid(2, where="cuda"),
        'grid(): where is cuda, but this operator has kernels for cpu only\n  likely fix: where="cpu", then .to("cuda',
    ),
    (lambda ops: ops.pairs(2, dtype=torch.int32), "pairs(): dtype is int32, expected T in (float32, float64)"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_what_is_refused(ops: Operators, call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(ops)
    assert str(caught.value).startswith(text)


def test_a_type_by_default_that_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "narrow.cpp").write_text(
        "#include <opwright.h>\n"
        'OPWRIGHT("f(x: T[N], to: dtype(W) = T) -> (y: W[N]) where T in (f32, i64), W in (f32, f64)")\n'
        "template <class T, class W> void f(Tensor<const T, 1> x, Tensor<W, 1> y) { y[0] = W(x[0]); }\n"
    )
    with pytest.raises(ArgumentError, match=r"f\(\): to is T = int64 by default, expected W in \(float32, float64\)"):
        opwright.load(tmp_path / "narrow.cpp").f(torch.zeros(3).long())


def test_opcheck(ops: Operators) -> None:
    x = torch.randn(2, 3, requires_grad=True)
    torch.library.opcheck(ops.total, (x, 0, torch.float64))
    torch.library.opcheck(ops.total, (x, 0))
    torch.library.opcheck(ops.cast, (x[0].detach(), torch.bool))
    torch.library.opcheck(ops.grid, (3, torch.float64))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(ops: Operators, dynamic: bool) -> None:
    compiled = torch.compile(
        lambda x, to: (ops.total(x.sin(), 0, to) * 2, ops.grid(x.shape[0], to=torch.float64, where=x.device)),
        fullgraph=True,
        dynamic=dynamic,
        backend="aot_eager",
    )
    for size, to in ((2, torch.float32), (3, torch.float64), (4, None)):
        x = torch.randn(size, 3)
        y, z = compiled(x, to)
        torch.testing.assert_close(y, x.sin().sum(0, dtype=to) * 2)
        assert z.shape == (size,)


def test_exported(ops: Operators) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.as_tensor(ops.total(x, 0, torch.float64))

    program = torch.export.export(Model(), (torch.randn(2, 3),))
    assert program.module()(torch.ones(2, 3)).tolist() == [2, 2, 2]


def test_vmap(ops: Operators) -> None:
    x = torch.randn(4, 2, 3)
    got = torch.vmap(lambda x: ops.total(x, 0, torch.float64))(x)
    torch.testing.assert_close(got, x.sum(1, dtype=torch.float64))
    assert torch.equal(torch.vmap(lambda x: ops.rounded(x, torch.int64))(x), ops.rounded(x, torch.int64))


IN_BUNDLE = """
import torch
torch.ops.load_library({path!r})
x = torch.ones(2, 3)
print(torch.ops.chosen_ops.total(x, 0, torch.float64).dtype, torch.ops.chosen_ops.total(x).tolist())
for call in (lambda: torch.ops.chosen_ops.total(x, 2), lambda: torch.ops.chosen_ops.grid(2, torch.int32)):
    try:
        call()
    except RuntimeError as error:
        print(str(error).splitlines()[1])
"""


@pytest.mark.slow
def test_in_a_bundle(ops: Operators, tmp_path: Path) -> None:
    path = str(opwright.bundle(ops, tmp_path / "chosen.so"))
    done = run_python(IN_BUNDLE.format(path=path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "torch.float64 [3.0, 3.0]",
        "  got:          x: Float[2, 3], dim: 2, to: None",
        "  got:          n: 2, to: Int, where: a device, step: 1",
    ]
