"""Complex element types, against PyTorch's own functions, numerical gradients, and the other runtime's behaviour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import ArgumentError, Operators
from tests.messages.raising import failing

C64, C128 = torch.complex64, torch.complex128
BOTH = pytest.mark.parametrize("dtype", [C64, C128], ids=str)
SOURCE = Path(__file__).parent / "kernels" / "complex_ops.cpp"


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(SOURCE)


def drawn(*shape: int, dtype: torch.dtype = C128, seed: int = 0, grad: bool = False) -> torch.Tensor:
    made = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))
    return made.requires_grad_(grad)


def turned(x: torch.Tensor, y: torch.Tensor, by: float = 0.5) -> torch.Tensor:
    return torch.exp(1j * x) * y.conj() + by * x / (2 + y * y) - y**3 + x**y


@BOTH
def test_views(ops: Operators, dtype: torch.dtype) -> None:
    x, y = drawn(7, dtype=dtype), drawn(7, 2, dtype=dtype, seed=1)[:, 0]
    torch.testing.assert_close(ops.dot(x, y), torch.vdot(x, y))
    assert ops.dot(x[:0], y[:0]) == 0
    got, w = ops.powers(x.to(C64))
    torch.testing.assert_close(got, x.to(C64).abs().square())
    torch.testing.assert_close(w, x.to(C64).to(C128).square())
    rows = drawn(3, 1, 5, dtype=dtype).transpose(0, 1)
    torch.testing.assert_close(ops.row_sums(rows), rows.sum(-1))


@BOTH
@pytest.mark.parametrize("shapes", [((5,), (5,)), ((700, 3), (3,)), ((2, 1), (1, 300)), ((), (4,)), ((0,), (1,))])
def test_one_by_one(ops: Operators, dtype: torch.dtype, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """In one loop, in blocks, broadcast, transposed."""
    x, y = drawn(*shapes[0], dtype=dtype), drawn(*shapes[1], dtype=dtype, seed=1)
    torch.testing.assert_close(ops.turned(x, y), turned(x, y))
    x, y = x.t() if x.dim() == 2 else x, y[..., :1]
    torch.testing.assert_close(ops.turned(x, y, 2.0), turned(x, y, 2.0))


@BOTH
def test_lazily_conjugated_and_negated(ops: Operators, dtype: torch.dtype) -> None:
    x, y = drawn(6, dtype=dtype), drawn(6, dtype=dtype, seed=1)
    torch.testing.assert_close(ops.turned(x.conj(), y), turned(x.conj(), y))
    torch.testing.assert_close(ops.dot(x.conj(), y), torch.vdot(x.conj().resolve_conj(), y))
    negated = x.conj().imag
    assert negated.is_neg()
    torch.testing.assert_close(ops.either(negated, negated), negated.sin() * negated + 1)
    before = x.clone()
    ops.twice_(x.conj())
    ops.shift_(x.conj(), torch.tensor(1j, dtype=dtype))
    torch.testing.assert_close(x, 2 * before - 1j)


def test_promotion(ops: Operators) -> None:
    for one in (torch.float32, torch.float64, C64, C128):
        for other in (torch.float32, torch.float64, C64, C128):
            x, y = torch.full((2,), 0.5, dtype=one), torch.full((2,), 0.25, dtype=other)
            expected = x.sin().to(torch.promote_types(one, other)) * y + 1
            got = ops.either(x, y)
            assert got.dtype == expected.dtype
            torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-6)
            assert ops.either(x, y[0]).dtype == torch.result_type(x, y[0])


CALLS: dict[str, tuple[Callable[[Operators], Any], tuple[torch.Tensor, ...], bool]] = {
    "by hand": (lambda ops: ops.dot, (drawn(4), drawn(4, seed=1)), False),
    "holomorphic and not": (lambda ops: ops.turned, (drawn(4), drawn(3, 1, seed=1)), True),
    "real results": (lambda ops: ops.modulus, (drawn(4),), True),
    "a real argument": (lambda ops: ops.scaled, (drawn(4), drawn(4, seed=1).real.clone()), True),
    "promoted": (lambda ops: ops.either, (drawn(3).real.clone(), drawn(3, seed=1)), True),
    "promoted, broadcast": (lambda ops: ops.either, (drawn(3), drawn(2, 1, seed=1).imag.clone()), True),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch's own decompositions for jvp
def test_gradients(ops: Operators, name: str) -> None:
    """PyTorch's gradcheck knows its convention: the gradient of a real L is dL/dx + i dL/dy."""
    call, arguments, derived = CALLS[name]
    leaves = tuple(each.detach().clone().requires_grad_() for each in arguments)
    assert torch.autograd.gradcheck(call(ops), leaves, check_forward_ad=derived, check_batched_grad=derived)
    if derived:
        assert torch.autograd.gradgradcheck(call(ops), leaves)


def test_gradients_as_pytorchs(ops: Operators) -> None:
    x, y = drawn(5, grad=True), drawn(5, seed=1, grad=True)
    got = torch.autograd.grad(ops.turned(x, y).abs().sum(), (x, y))
    expected = torch.autograd.grad(turned(x, y).abs().sum(), (x, y))
    torch.testing.assert_close(got, expected)
    at_zero = torch.zeros(2, dtype=C128, requires_grad=True)
    ops.modulus(at_zero)[0].sum().backward()
    assert at_zero.grad is not None
    assert at_zero.grad.tolist() == [0, 0]


def test_adding_up(ops: Operators) -> None:
    z, at = drawn(900, dtype=C64), torch.arange(900) % 7
    y, z2 = ops.histogram(z, at, 7)
    expected = torch.zeros(7, dtype=C64).index_add(0, at, z)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(z2, expected)


@BOTH
def test_memory_that_isnt_aligned(ops: Operators, dtype: torch.dtype) -> None:
    """PyTorch's own functions crash there; ours copies the parts."""
    x = drawn(3, dtype=dtype)
    space = bytearray(4 * 16 + 32)
    base = torch.frombuffer(space, dtype=torch.uint8).data_ptr()
    for offset in (8 - base % 8, 8 - base % 8 + 1, 8 - base % 16 + 16):
        odd = torch.frombuffer(space, dtype=dtype, offset=offset, count=3)
        torch.view_as_real(odd).copy_(torch.view_as_real(x))
        torch.testing.assert_close(ops.dot(odd, odd), torch.vdot(x, x))
        torch.testing.assert_close(ops.turned(odd, odd), turned(x, x))
        torch.testing.assert_close(ops.row_sums(odd), x.sum())
        ops.twice_(odd)
        ops.shift_(odd, torch.tensor(1, dtype=dtype))
        assert torch.equal(torch.view_as_real(odd).clone(), torch.view_as_real(2 * x + 1))


def test_fake_tensors_and_opcheck(ops: Operators) -> None:
    x, y = drawn(3, grad=True), drawn(3, seed=1, grad=True)
    torch.library.opcheck(ops.turned, (x, y))
    torch.library.opcheck(ops.modulus, (x,))
    torch.library.opcheck(ops.dot, (x, y))


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated")  # torch's own, imported by inductor
@pytest.mark.filterwarnings("ignore:Torchinductor does not support code generation for complex")
def test_compiled(ops: Operators) -> None:
    x, y = drawn(6, grad=True), drawn(6, seed=1, grad=True)
    compiled = torch.compile(lambda x, y: ops.turned(x, ops.either(y.real, y)).abs().sum(), fullgraph=True)
    expected = torch.autograd.grad(turned(x, y.real.sin() * y + 1).abs().sum(), (x, y))
    torch.testing.assert_close(torch.autograd.grad(compiled(x, y), (x, y)), expected)


def test_vmap(ops: Operators) -> None:
    x, y = drawn(3, 4), drawn(3, 4, seed=1)
    torch.testing.assert_close(torch.func.vmap(ops.dot)(x, y), (x.conj() * y).sum(1))
    torch.testing.assert_close(torch.func.vmap(ops.turned)(x, y), turned(x, y))


def test_wrong_types_are_told(ops: Operators) -> None:
    x, z = torch.ones(2), torch.ones(2, dtype=C64)
    assert failing(lambda: ops.dot(x, x), ArgumentError).splitlines() == [
        "dot(): x has element type float32, expected T in (complex64, complex128)",
        "  signature:    dot(x: T[N], y: T[N]) -> (sum: T[]) where T in (c64, c128)",
        "  likely fix:   x.to(torch.complex64), or in the signature: where T in (c64, c128, f32)",
    ]
    text = failing(lambda: ops.scaled(z, x.double()), ArgumentError).splitlines()
    assert text[0] == (
        "scaled(): T = complex64 (z), R = float64 (s) is none of the combinations of element types, "
        "expected (T, R) in ((complex64, float32), (complex128, float64))"
    )
    assert text[2] == "  likely fix:   s.to(torch.float32)"
    assert (
        failing(lambda: ops.scaled(z, z), ArgumentError).splitlines()[2] == "  likely fix:   s.real.to(torch.float32)"
    )
    real = opwright.load_inline(
        "real_only", cpp='OPWRIGHT("f(x: T[N]) -> (y: T[N]) where T in (f32, f64)")\ntemplate <class T>\n'
        "void f(Tensor<const T, 1> x, Tensor<T, 1> y) { for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i]; }"
    )  # fmt: skip
    assert failing(lambda: real.f(z), ArgumentError).splitlines()[2] == (
        "  likely fix:   in the signature: where T in (f32, f64, c64); or torch.view_as_real(x), with a last axis of 2"
    )


C_SOURCE = """
#include <opwright.h>
#include <complex.h>
OPWRIGHT("spin(x: c64[N], by: c128[]) -> (y: c64[N])")
void spin(int64_t N, const float _Complex *x, const double complex *by, complex float *y) {
  for (int64_t i = 0; i < N; ++i) y[i] = conjf(x[i]) * (float complex)*by;
}
OPWRIGHT("total(x: c128[N]) -> (y: c128[])")
double _Complex total(int64_t N, const double  _Complex *x) {
  double _Complex sum = 0;
  for (int64_t i = 0; i < N; ++i) sum += x[i];
  return sum;
}
"""


def test_in_c(tmp_path: Path) -> None:
    (tmp_path / "complex_in_c.c").write_text(C_SOURCE)
    ops = opwright.load(tmp_path / "complex_in_c.c")
    x, by = drawn(4, dtype=C64), torch.tensor(1 + 2j, dtype=C128)
    torch.testing.assert_close(ops.spin(x, by), x.conj() * (1 + 2j))
    torch.testing.assert_close(ops.total(x.to(C128)), x.to(C128).sum())
    (tmp_path / "complex_wrong.c").write_text(C_SOURCE.replace("const float _Complex *x", "const double _Complex *x"))
    text = failing(lambda: opwright.load(tmp_path / "complex_wrong.c"), opwright.SourceError)
    assert "parameter 2 is `const double _Complex *x`, expected `const float _Complex *x` for the input" in text


def test_the_librarys_type_in_functions_of_pointers(tmp_path: Path) -> None:
    (tmp_path / "library.cpp").write_text(
        "#include <complex>\nvoid flip(int N, const std::complex<float> *x, std::complex<float> *y) {\n"
        "  for (int i = 0; i < N; ++i) y[i] = std::conj(x[i]);\n}\n"
    )
    ops = opwright.load(tmp_path / "library.cpp", ops="flip(x: c64[N]) -> (y: c64[N])")
    x = drawn(4, dtype=C64)
    assert torch.equal(ops.flip(x), x.conj().resolve_conj())


def test_the_librarys_type_in_views() -> None:
    text = (
        'OPWRIGHT("f(x: c64[N]) -> (y: c64[N])")\n'
        "void f(Tensor<const std::complex<float>, 1> x, Tensor<complex64, 1> y) {}"
    )
    said = failing(lambda: opwright.load_inline("library_views", cpp=text), opwright.SourceError)
    assert "likely fix: declare parameter 1 as `Tensor<const complex64, 1> x`" in said
