"""8-bit and 4-bit floats: what operators compute of them, who gets a gradient, and what PyTorch's tools do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim

import opwright
from opwright import ArgumentError, Operators, SignatureError
from opwright.signature import parse
from tests.interpreter import run_python

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own
SOURCE = Path(__file__).parent / "kernels" / "float8_ops.cpp"
E4M3, E5M2, FNUZ, SCALE = torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e8m0fnu
PAIRS = torch.float4_e2m1fn_x2
ALL = (E4M3, E5M2, FNUZ, torch.float8_e5m2fnuz, SCALE, PAIRS)


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(SOURCE)


def codes(dtype: torch.dtype, count: int = 256) -> torch.Tensor:
    return torch.arange(count, dtype=torch.int32).to(torch.uint8).view(dtype)


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(one.view(torch.uint8), other.view(torch.uint8))


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def quantised(x: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows with a scale each, of PyTorch's functions."""
    most = x.float().abs().amax(1)
    scale = torch.where(most > 0, most / 448, 1)
    return (x.float() / scale[:, None]).to(dtype), scale


@pytest.mark.parametrize("dtype", [E4M3, E5M2], ids=str)
def test_rows_are_quantised_as_by_pytorch(ops: Operators, dtype: torch.dtype) -> None:
    for x in (random(7, 300), random(3, 5).bfloat16(), torch.zeros(2, 3), random(0, 4), random(6, 8).t()[::2]):
        y, scale = ops.quantise_rows(x, torch.empty(0, dtype=dtype))
        expected, of_pytorch = quantised(x, dtype)
        assert torch.equal(scale, of_pytorch)
        assert same(y, expected)


@pytest.mark.parametrize("dtype", [E4M3, E5M2, FNUZ, torch.float8_e5m2fnuz], ids=str)
def test_gradients_are_of_the_others(ops: Operators, dtype: torch.dtype) -> None:
    a = random(5, 16).to(dtype).requires_grad_()
    b, scale = random(16, 4, seed=1).requires_grad_(), random(5, seed=2).requires_grad_()
    got, expected = ops.scaled_matmul(a, b, scale), (a.detach().float() @ b) * scale[:, None]
    torch.testing.assert_close(got, expected)
    towards = random(5, 4, seed=3)
    torch.testing.assert_close(
        torch.autograd.grad(got, (b, scale), towards), torch.autograd.grad(expected, (b, scale), towards)
    )
    ops.scaled_matmul(a, b, scale).sum().backward()
    assert a.grad is None
    assert not ops.scaled_matmul(a, b.detach(), scale.detach()).requires_grad


def test_a_variable_that_may_be_float8_has_a_gradient_where_it_isnt(ops: Operators) -> None:
    a, b = random(3, 4).requires_grad_(), random(4, 2).double().requires_grad_()
    scale = torch.tensor([0.5, 1, 2])
    ops.scaled_matmul(a, b, scale).sum().backward()
    torch.testing.assert_close(a.grad, (scale[:, None] * b.detach().sum(1)).float())


@pytest.mark.parametrize("dtype", [E4M3, E5M2, SCALE], ids=str)
def test_pointwise_numbers_are_floats_that_are_rounded_once(ops: Operators, dtype: torch.dtype) -> None:
    x = codes(dtype)
    assert torch.equal(ops.relu8(x).float().nan_to_num(-1), x.float().relu().to(dtype).float().nan_to_num(-1))
    assert ops.relu8(x).dtype == dtype


def test_pointwise_derivatives_are_of_what_can_have_them(ops: Operators) -> None:
    x, by = random(9).to(E4M3), random(4, 9, seed=1).requires_grad_()
    y = ops.widened(x, by)
    assert torch.equal(y, x.float() * by)
    y.sum().backward()
    torch.testing.assert_close(by.grad, x.float().expand(4, 9))
    assert torch.autograd.gradcheck(lambda by: ops.widened(x, by), by.detach().double().requires_grad_())
    tangent = random(4, 9, seed=2)
    assert torch.equal(
        torch.func.jvp(lambda by: ops.widened(x, by), (by.detach(),), (tangent,))[1], tangent * x.float()
    )

    x = random(6).requires_grad_()
    narrow, product = ops.narrowed(x, torch.tensor(3.0))
    assert same(narrow, (3 * x.detach()).to(E4M3))
    assert not narrow.requires_grad
    product.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.full((6,), 3.0))


def test_pairs_of_4_bits_have_the_first_number_in_the_low_bits(ops: Operators) -> None:
    table = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    table += [-number for number in table]
    x, scale = codes(PAIRS).view(16, 16), torch.tensor([[2.0], [0.25]]).expand(2, 16).contiguous().to(SCALE)
    y = ops.unpacked(x, scale)
    expected = torch.tensor([[[first, second] for first in table] for second in table])
    assert torch.equal(y, expected * scale.float()[..., None, None])
    assert same(ops.packed(expected.reshape(-1, 2)), x.reshape(-1))
    inexact = torch.tensor([[0.25, 0.75], [5, 2.5], [1e9, -1e9], [float("inf"), float("nan")], [0.251, -0.2]])
    assert ops.unpacked(ops.packed(inexact), torch.tensor(1.0).to(SCALE)).tolist() == [
        [0, 1],
        [4, 2],
        [6, -6],
        [6, 6],
        [0.5, 0],
    ]


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_all_of_them_are_written_in_place_and_in_layouts(ops: Operators, dtype: torch.dtype) -> None:
    x, y = codes(dtype), torch.zeros(512, dtype=torch.uint8).view(dtype)
    ops.put(x, y[::2])
    assert same(y.view(torch.uint8)[::2].contiguous(), x.view(torch.uint8))
    assert not y.view(torch.uint8)[1::2].any()


def refusal(call: object) -> str:
    with pytest.raises(ArgumentError) as caught:
        call()  # type: ignore[operator]
    return str(caught.value)


def test_wrong_types_and_no_guess_at_a_scale(ops: Operators) -> None:
    x, scale = random(4), torch.tensor(1.0)
    text = refusal(lambda: ops.widened(codes(E5M2, 4), x))
    assert "x has element type float8_e5m2, expected Q in (float8_e4m3fn, float8_e5m2fnuz)" in text
    assert "likely fix" not in text
    text = refusal(lambda: ops.unpacked(random(4), scale.to(SCALE)))
    assert "x has element type float32, expected f4x2 = float4_e2m1fn_x2" in text
    assert "likely fix" not in text
    text = refusal(lambda: ops.relu8(codes(PAIRS)))
    assert "likely fix" not in text
    assert "likely fix:   x.to(torch.float32)" in refusal(lambda: ops.relu8(codes(FNUZ)))
    assert "by.to(torch.float32)" in refusal(lambda: ops.widened(codes(E4M3, 4), codes(E4M3, 4)))
    text = refusal(lambda: ops.put(codes(E4M3), codes(E5M2)))
    assert "y has element type float8_e5m2, expected T = float8_e4m3fn (x)" in text


def test_signatures_that_cant_be() -> None:
    with pytest.raises(SignatureError, match="x' may be f4x2, but a pointwise operator computes with one number"):
        parse("f(x: T) -> (y: T) where T in (f32, f4x2)")
    with pytest.raises(SignatureError, match="'x' has a domain, but an element of f4x2 is two numbers"):
        parse("f(x: f4x2[N] in [0, 1]) -> (y: f32[N])")
    with pytest.raises(
        SignatureError, match=re.escape("returns grad_x, but x isn't differentiable: it is x: f8e5m2[N]")
    ):
        opwright.load_inline(
            "float8_no_gradient",
            cpp='#include <opwright.h>\nOPWRIGHT("f(x: f8e5m2[N]) -> (y: f32[N])")\n'
            "void f(Tensor<const float8_e5m2, 1>, Tensor<float, 1>) {}\n"
            'OPWRIGHT("f_backward(grad_y: f32[N]) -> (grad_x: f8e5m2[N])")\n'
            "void f_backward(Tensor<const float, 1>, Tensor<float8_e5m2, 1>) {}\n",
        )


def test_autocast_leaves_them_alone(ops: Operators) -> None:
    a, b, scale = random(3, 4).to(E4M3), random(4, 2), torch.ones(3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops.scaled_matmul(a, b, scale).dtype == torch.float32
        assert ops.relu8(a).dtype == E4M3


def test_new_memory_is_filled_in_deterministic_mode(ops: Operators) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        assert same(ops.packed(torch.ones(3, 2)), torch.full((3,), 0x22, dtype=torch.uint8).view(PAIRS))
        assert same(ops.relu8(codes(E4M3, 9)), codes(E4M3, 9))
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.slow
def test_opcheck(ops: Operators) -> None:
    a, b, scale = random(3, 4).to(E4M3), random(4, 2).requires_grad_(), torch.ones(3, requires_grad=True)
    # its test_schema compares all arguments, which PyTorch can't do with 8-bit floats
    tests = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    for op, arguments in (
        (ops.scaled_matmul, (a, b, scale)),
        (ops.widened, (a, random(3, 4).requires_grad_())),
        (ops.narrowed, (random(3), random(3))),  # with a gradient it adds up all results
        (ops.quantise_rows, (random(3, 4), torch.empty(0, dtype=E5M2))),
        (ops.unpacked, (codes(PAIRS), torch.tensor(2.0).to(SCALE))),
    ):
        torch.library.opcheck(op, arguments, test_utils=tests)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile_with_dynamic_shapes(ops: Operators, backend: str) -> None:
    def f(x: torch.Tensor, b: torch.Tensor) -> Any:
        y, scale = ops.quantise_rows(x, torch.empty(0, dtype=E4M3))
        return ops.scaled_matmul(y, b, scale)

    torch._dynamo.reset()
    compiled = torch.compile(f, dynamic=True, fullgraph=True, backend=backend)
    b = random(16, 4).requires_grad_()
    for rows in (5, 9):
        x = random(rows, 16, seed=rows)
        got, expected = compiled(x, b), f(x, b)
        assert torch.equal(got, expected)
        torch.testing.assert_close(torch.autograd.grad(got.sum(), b), torch.autograd.grad(expected.sum(), b))


@pytest.mark.slow
def test_export(ops: Operators, tmp_path: Path) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor, b: torch.Tensor) -> Any:
            y, scale = ops.quantise_rows(x, torch.empty(0, dtype=E4M3))
            return ops.scaled_matmul(y, b, scale)

    x, b = random(5, 16), random(16, 4)
    program = torch.export.export(Module(), (x, b), dynamic_shapes=({0: Dim("rows")}, None))
    torch.export.save(program, tmp_path / "program.pt2")
    loaded = torch.export.load(tmp_path / "program.pt2").module()
    x = random(11, 16)
    assert torch.equal(loaded(x, b), Module()(x, b))


_BUNDLED = """
import sys, torch
sys.modules["opwright"] = None
torch.ops.load_library(sys.argv[1])
x = torch.arange(8.0).view(2, 4)
y, scale = torch.ops.float8_ops.quantise_rows(x, torch.empty(0, dtype=torch.float8_e4m3fn))
b = torch.ones(4, 2, requires_grad=True)
torch.ops.float8_ops.scaled_matmul(y, b, scale).sum().backward()
print(torch.allclose(b.grad, x.sum(0)[:, None].expand(4, 2), rtol=0.1))
"""


@pytest.mark.slow
def test_bundle(ops: Operators, tmp_path: Path) -> None:
    path = opwright.bundle(ops, tmp_path / "float8.so", dtypes=[*ALL, torch.float32])
    done = run_python(_BUNDLED, path)
    assert done.stdout == "True\n", done.stderr
