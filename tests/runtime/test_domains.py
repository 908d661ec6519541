"""Domains (`groups: int in [1, C]`): what is outside never reaches a kernel, whoever asks."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import ArgumentError, Operators

X = torch.ones(4, 3)
SIGNATURE = (
    "grouped(x: T[C, N], groups: int in [1, C], gamma: float in [0, 0.5), first: int = 0, "
    "last: int in [first, inf) = 1000) -> (y: T[C, N]) where T in (f32, f64)"
)
WRONG: list[tuple[tuple[Any, ...], str]] = [
    ((0, 0.0), "groups is 0, expected an int in [1, C] = [1, 4]"),
    ((-1, 0.0), "groups is -1, expected an int in [1, C] = [1, 4]"),
    ((5, 0.0), "groups is 5, expected an int in [1, C] = [1, 4]"),
    ((2**63 - 1, 0.0), f"groups is {2**63 - 1}, expected an int in [1, C] = [1, 4]"),
    ((1, -1e-300), "gamma is -1e-300, expected a float in [0, 0.5)"),
    ((1, 0.5), "gamma is 0.5, expected a float in [0, 0.5)"),
    ((1, math.nan), "gamma is nan, expected a float in [0, 0.5)"),
    ((1, math.inf), "gamma is inf, expected a float in [0, 0.5)"),
    ((1, 0.0, 3, 2), "last is 2, expected an int in [first, inf) = [3, inf)"),
]


@pytest.mark.parametrize("given", [(1, 0.0), (4, math.nextafter(0.5, 0)), (2, -0.0, -5, -5), (1, 0.25, -(2**63), 0)])
def test_the_ends_belong_to_it_or_not(notation: Operators, given: tuple[Any, ...]) -> None:
    groups, gamma, first, last = [*given, 0, 1000][:4] if len(given) == 2 else given
    expected = X * (4 // groups) + gamma + float(last > first)
    assert torch.equal(notation.grouped(X, *given), expected)


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_what_is_outside_is_refused_with_words(notation: Operators, given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        notation.grouped(X, *given)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"grouped(): {message}"
    assert lines[-1] == f"  signature:    {SIGNATURE}"


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_fake_tensors_say_the_same(notation: Operators, given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        notation.grouped(X.to("meta"), *given)
    assert str(caught.value).splitlines()[0] == f"grouped(): {message}"


def test_a_default_that_the_axes_exclude(notation: Operators) -> None:
    with pytest.raises(ArgumentError, match=r"groups is 1, expected an int in \[1, C\] = \[1, 0\]"):
        notation.grouped(X[:0], 1, 0.0)


def test_ints_that_are_sizes(notation: Operators) -> None:
    assert notation.spread(2, 6).tolist() == [0, 0, 1, 1, 2, 2]
    for p, n, message in [
        (0, 0, r"p is 0, expected an int in \[1, 4\]"),
        (2, 1, r"n is 1, expected an int in \[p, 3\*p\] = \[2, 6\]"),
        (2, 7, r"n is 7, expected an int in \[p, 3\*p\] = \[2, 6\]"),
        (2, -1, r"n is -1, expected an int in \[p, 3\*p\] = \[2, 6\]"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            notation.spread(p, n)


def test_integers_are_always_checked_and_floats_are_not(notation: Operators) -> None:
    x, at = torch.tensor([0.0, 2.0]), torch.tensor([0, 3])
    assert notation.unit(x, at, 0).tolist() == [0, 8]
    for wrong in (-1, 4):
        with pytest.raises(ArgumentError, match=rf"at\[1\] is {wrong}, expected an index in \(-1, 3\]\n"):
            notation.unit(x, torch.tensor([0, wrong]), 0)
    with pytest.raises(ArgumentError, match=r"k is 1, expected an int in \(-inf, 0\]"):
        notation.unit(x, at, 1)


ASKED = """
import math, sys, torch, opwright
ops = opwright.load(sys.argv[1])
at = torch.tensor([0, 3])
ops.unit(torch.tensor([0.0, 1.0]), at, 0)
for wrong in (-1e-7, 1.5, math.nan, math.inf):
    for dtype in (torch.float32, torch.float64):
        try:
            ops.unit(torch.tensor([0.5, wrong], dtype=dtype), at, 0)
        except opwright.ArgumentError as error:
            print(str(error).splitlines()[0])
"""


def test_floats_are_checked_where_it_is_asked_for() -> None:
    asked = {**os.environ, "OPWRIGHT_CHECK_DOMAINS": "1"}
    made = subprocess.run(
        [sys.executable, "-c", ASKED, str(Path(__file__).parent / "kernels" / "notation_ops.cpp")],
        env=asked, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = [line.removeprefix("unit(): x[1] is ") for line in made.stdout.splitlines()]
    assert len(said) == 8
    assert all(line.endswith(", expected a value in [0, 1]") for line in said)
    assert [line.partition(",")[0] for line in said][2:] == ["1.5", "1.5", "nan", "nan", "inf", "inf"]


def test_under_a_compiled_function(notation: Operators) -> None:
    def f(x: torch.Tensor, groups: int, gamma: float) -> torch.Tensor:
        return torch.as_tensor(notation.grouped(x, groups, gamma) * 2)

    torch._dynamo.reset()
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager", dynamic=True)
    for groups in (1, 3, 4):
        assert torch.equal(compiled(X, groups, 0.25), f(X, groups, 0.25))
    for groups, gamma in ((0, 0.25), (5, 0.25), (1, 0.5)):
        with pytest.raises((ArgumentError, RuntimeError), match=r"grouped|groups|gamma|Runtime assertion"):
            compiled(X, groups, gamma)
    assert torch.equal(compiled(torch.ones(7, 2), 6, 0.25), f(torch.ones(7, 2), 6, 0.25))


def test_exported(notation: Operators) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.as_tensor(notation.grouped(x, x.shape[0], 0.25))

    exported = torch.export.export(Module(), (X,), dynamic_shapes={"x": {0: torch.export.Dim("c", min=2, max=64)}})
    assert torch.equal(exported.module()(torch.ones(6, 3)), notation.grouped(torch.ones(6, 3), 6, 0.25))


def test_vmap(notation: Operators) -> None:
    xs = torch.randn(2, 4, 3)
    got = torch.func.vmap(lambda x: notation.grouped(x, 2, 0.25))(xs)
    assert torch.equal(got, torch.stack([notation.grouped(x, 2, 0.25) for x in xs]))
    with pytest.raises(ArgumentError, match="groups is 5"):
        torch.func.vmap(lambda x: notation.grouped(x, 5, 0.25))(xs)


def test_pytorchs_schema_has_no_domains(notation: Operators) -> None:
    schema = str(notation.grouped._schema).partition("(")[2]
    assert schema == "Tensor x, SymInt groups, float gamma, SymInt first=0, SymInt last=1000) -> Tensor"


def test_functions_in_python_have_them_too() -> None:
    op = opwright.differentiable(
        lambda x, k, a: x * (k * a),
        lambda grad_y, k, a: grad_y * (k * a),
        signature=[
            "timed(x: T[N], k: int in [1, N], a: float in (0, 1]) -> (y: T[N])",
            "timed_backward(grad_y: T[N], k: int, a: float) -> (grad_x: T[N])",
        ],
        namespace="domains_in_python",
    )
    for _ in range(2):
        assert op(torch.ones(3), 2, 0.5).tolist() == [1, 1, 1]
        with pytest.raises(ArgumentError, match=r"k is 4, expected an int in \[1, N\] = \[1, 3\]"):
            op(torch.ones(3), 4, 0.5)
        for wrong in (0.0, 2.0, math.nan):
            with pytest.raises(ArgumentError, match=rf"a is {wrong}, expected a float in \(0, 1\]"):
                op(torch.ones(3), 2, wrong)
