"""Python numbers where a pointwise operator takes a tensor: promotion as PyTorch's, gradients, graphs."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import ArgumentError, Operators

Tensor = torch.Tensor
HERE = Path(__file__).parent
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
TYPES = (*FLOATS, torch.bool, torch.uint8, torch.int16, torch.int32, torch.int64)


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(HERE / "kernels/number_ops.cpp")


@pytest.mark.parametrize("shape", [(3,), (), (0, 2)])
@pytest.mark.parametrize("number", [2, -1, 300, 0.5, float("inf"), True])
def test_promotion_is_pytorchs(ops: Operators, number: float, shape: tuple[int, ...]) -> None:
    for dtype in TYPES:
        x = torch.ones(shape, dtype=dtype)
        expected = x + number
        for got in (ops.plus(x, number), ops.plus(number, x), ops.plus(x, y=number), ops.plus(y=number, x=x)):
            assert got.dtype == expected.dtype
            assert torch.equal(got, expected)


def test_promotion_beside_several_tensors(ops: Operators) -> None:
    types = [torch.float16, torch.float32, torch.float64, torch.int32]
    for first in types:
        for second in types:
            for shape in ((2,), ()):
                x, y = torch.ones(2, dtype=first), torch.ones(shape, dtype=second)
                expected = torch.add(torch.add(x, y), 0.5)
                assert ops.axpy(0.5, x, y).dtype == expected.dtype


def test_the_default_type(ops: Operators) -> None:
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert ops.plus(torch.ones(2, dtype=torch.int32), 0.5).dtype == torch.float64
    finally:
        torch.set_default_dtype(before)
    assert ops.plus(torch.ones(2, dtype=torch.int32), 0.5).dtype == torch.float32


def test_numbers_alone(ops: Operators) -> None:
    for first, second in ((1, 2), (1, 2.5), (True, 2), (0.5, 0.25)):
        got, expected = ops.plus(first, second), torch.add(torch.tensor(first), torch.tensor(second))
        assert (got.dtype, got.item()) == (expected.dtype, expected.item())


def test_concrete_types_masks_and_optional_tensors(ops: Operators) -> None:
    x = torch.randn(3)
    assert torch.equal(ops.chosen(x, True, 3, 0.5), x * 3)
    assert torch.equal(ops.chosen(x, False, torch.tensor(3, dtype=torch.int32), 0.5, 7), x * 0.5 + 7)
    mask = torch.tensor([True, False, True])
    assert torch.equal(ops.chosen(x, mask, 2, 4, w=None), torch.where(mask, 2 * x, 4 * x))


def test_beside_what_is_overwritten(ops: Operators) -> None:
    x = torch.ones(3)
    ops.scale_(x, 2.5)
    assert x.tolist() == [2.5] * 3


def test_by_the_packet(ops: Operators) -> None:
    x, packet = torch.ones(2), torch.ops.number_ops.axpy
    assert packet(0.5, x, 1).tolist() == [1.5, 1.5]
    assert packet.default(0.5, x, y=1).tolist() == [1.5, 1.5]


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # PyTorch's first dual number imports it
def test_gradients(ops: Operators) -> None:
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: ops.axpy(0.5, x, 2), x)
    assert torch.autograd.gradgradcheck(lambda x: ops.axpy(x, x, True), x)
    ones = torch.ones(4, dtype=torch.float64)
    tangent = torch.func.jvp(lambda x: ops.axpy(0.5, x, 2), (x.detach(),), (ones,))[1]
    assert tangent.tolist() == [0.5] * 4


def function(ops: Operators) -> Callable[..., Tensor]:
    return lambda x, number: ops.axpy(number, x, 1) + torch.ops.number_ops.axpy(0.25, x, x.shape[0])


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(ops: Operators, dynamic: bool) -> None:
    torch.compiler.reset()
    eager = function(ops)
    compiled = torch.compile(function(ops), fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for number in (0.5, 0.75, 2, True):
        for dtype in (torch.float16, torch.float64):
            x = torch.linspace(0, 1, 5, dtype=dtype, requires_grad=True)
            got, expected = compiled(x, number), eager(x, number)
            torch.testing.assert_close(got, expected)  # the element type, too
            (mine,), (other,) = torch.autograd.grad(got.sum(), x), torch.autograd.grad(expected.sum(), x)
            torch.testing.assert_close(mine, other)


def test_export(ops: Operators, tmp_path: Path) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: Tensor) -> Any:
            return ops.axpy(0.5, x, x.shape[0])

    dim = torch.export.Dim("n")
    program = torch.export.export(Module(), (torch.ones(3, dtype=torch.float16),), dynamic_shapes={"x": {0: dim}})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(program, tmp_path / "program.pt2")
        loaded = torch.export.load(tmp_path / "program.pt2").module()
    got = loaded(torch.ones(4, dtype=torch.float16))
    assert (got.dtype, got.tolist()) == (torch.float16, [4.5] * 4)


def test_transforms_and_modes(ops: Operators) -> None:
    x = torch.randn(2, 3, dtype=torch.float16)
    got = torch.vmap(lambda x: ops.plus(x, 0.5))(x)
    assert got.dtype == torch.float16
    assert torch.equal(got, x + 0.5)
    assert torch.equal(torch.vmap(lambda x: ops.plus(x[0], 0.5))(x), x[:, 0] + 0.5)
    with torch.device("meta"):
        assert torch.equal(ops.plus(x, 0.5), x + 0.5)
    with torch.inference_mode():
        assert torch.equal(ops.plus(x, 0.5), x + 0.5)
    assert torch.equal(torch.func.functionalize(lambda x: ops.plus(x, 1))(x), x + 1)


def test_jagged_tensors(ops: Operators) -> None:
    x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    assert ops.axpy(0.5, x, 1).values().tolist() == [1.5] * 5
    assert ops.chosen(x, True, 3, 0.5).values().tolist() == [3.0] * 5  # beside an absent argument


@pytest.mark.parametrize(
    ("call", "problem", "fix"),
    [
        (
            lambda ops, x: ops.chosen(x, 1, 3, 0.5),
            "mask is the int 1, expected a tensor M or a number (bool)",
            "bool(mask)",
        ),
        (
            lambda ops, x: ops.chosen(x, True, 0.5, 0.5),
            "count is the float 0.5, expected a tensor i32 or a number (int)",
            "int(count)",
        ),
        (
            lambda ops, x: ops.plus(x, 2**63),
            "y is the int 9223372036854775808, expected a tensor T or a number (float)",
            "float(y)",
        ),
        (lambda ops, x: ops.plus(x, [1]), "y is a list, expected a tensor T or a number (float)", "torch.tensor(y)"),
        (lambda ops, x: ops.plus(x, "a"), "y is the str 'a', expected a tensor T or a number (float)", None),
        (
            lambda ops, x: ops.scale_(2.0, 1.0),
            "x is the float 2.0, expected a tensor T",
            "torch.tensor(2.0); or, if it is meant to be a number, in the signature: `x: float`",
        ),
        (
            lambda ops, x: ops.rows(x, 0.5),
            "by is the float 0.5, expected a tensor T[]",
            "torch.tensor(0.5); or, if it is meant to be a number, in the signature: `by: float`",
        ),
    ],
)
def test_what_is_refused(ops: Operators, call: Callable[..., Any], problem: str, fix: str | None) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(ops, torch.ones(2))
    lines = str(caught.value).splitlines()
    assert lines[0].partition("(): ")[2] == problem
    assert (lines[2].partition(": ")[2].strip() if len(lines) > 2 else None) == fix


def test_the_operator_stays_what_it_is(ops: Operators) -> None:
    assert repr(ops.axpy) == "<OpOverload(op='number_ops.axpy')>"  # without a hash
    assert str(ops.axpy) == ops.axpy.name().replace("::", ".")  # graphs name it
    assert hash(ops.axpy) == hash(torch.ops.number_ops.axpy.default)
    assert copy.copy(ops.axpy) is ops.axpy
    assert "numbers may stand for tensors" in str(ops.axpy.__doc__)
    assert "numbers may" not in str(ops.rows.__doc__)
