"""Derived gradients of kernels with dot, axpy, axpby and gemm, against PyTorch's own gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

import opwright
from opwright import CompileError, Operators

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own

SOURCE = Path(__file__).parent / "kernels/derived_dots.cpp"
LENGTHS = (0, 1, 7, 64)
LIMITS = """
#include <opwright.h>
OPWRIGHT("repeated(x: T[N], steps: int) -> (y: T[N]) where T in (f64) derived")
template <class T>
void repeated(Tensor<const T, 1> x, int64_t steps, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i];
  for (int64_t n = 0; n < steps; ++n) axpy(x.size(0), 0.5, x.data(), 1, y.data(), 1);
}
OPWRIGHT("of_one_number(x: T[N]) -> (quotient: T[N], larger: T[N]) where T in (f64) derived")
template <class T>
void of_one_number(Tensor<const T, 1> x, Tensor<T, 1> quotient, Tensor<T, 1> larger) {
  for (int64_t i = 0; i < x.size(0); ++i) quotient[i] = x[i] / x[i], larger[i] = max(x[i], x[i]);
}
"""
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 4e-2}
TYPES = [pytest.param(t, id=str(t), marks=() if t.itemsize > 4 else pytest.mark.exhaustive) for t in TOLERANCE]
Function = Callable[..., Any]


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(SOURCE)


def updated(x: Tensor, w: Tensor, a: Tensor) -> Tensor:
    sums = (x * w).sum(-1, keepdim=True) * w + a[..., None] * w / 2
    sums = sums + (w * w).sum(-1, keepdim=True) / 4 * sums + 2 * x
    return x * x + sums * (x * sums).sum(-1, keepdim=True)


def strided(x: Tensor, y: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
    gathered = y[at]
    mixed = [(y.flip(0) * y).sum(), (y[0] * y).sum(), ((gathered - y) * (y[0] * gathered + y[1] * y)).sum()]
    return x.mT @ x, torch.stack(mixed)


def attended(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights: Tensor = (q @ k.mT).softmax(-1)
    return weights @ v


def product_added(a: Tensor, b: Tensor, c: Tensor, ta: bool, tb: bool, beta: float) -> Tensor:
    return 1.5 * (a.mT if ta else a) @ (b.mT if tb else b) + beta * c * c


def filtered(x: Tensor, w: Tensor) -> Tensor:
    taps, sums, results = x.new_tensor([1, -2, 0.5, 3, 0.25]), w, []
    for i in range(x.shape[-1]):
        part = x[..., i : i + 3]
        m = part.shape[-1]
        s = (part * (2 * taps[:m] + taps[5 - m :].flip(0))).sum(-1, keepdim=True)
        changing = torch.arange(i + 1, i + m + 1).to(x)
        updated = (w[..., i : i + 1] + 2) * changing + s * sums[..., i : i + m]
        sums = torch.cat([sums[..., :i], updated, sums[..., i + m :]], -1)
        results.append((changing * updated).sum(-1) * s[..., 0])
    return torch.stack(results, -1)


def numbers(*shape: int) -> Tensor:
    return torch.rand(shape, dtype=torch.float64) - 0.4


def factors(m: int, n: int, k: int, ta: bool, tb: bool, *batch: int) -> list[Any]:
    a, b = numbers(*batch, *((k, m) if ta else (m, k))), numbers(*((n, k) if tb else (k, n)))
    return [a, b, numbers(*batch, m, n), ta, tb, 0.75]


def vectors(n: int) -> list[Any]:
    return [numbers(n), numbers(n), numbers()]


def rows(n: int) -> list[Any]:
    return [numbers(37, n), numbers(n), numbers(37)]


CALLS: dict[str, tuple[str, Function, Callable[[], list[Any]]]] = {
    **{f"updated {n}": ("updated", updated, partial(vectors, n)) for n in LENGTHS},
    **{f"in lanes {n}": ("updated_rows", updated, partial(rows, n)) for n in LENGTHS},
    "in lanes, nothing shared": (
        "updated_rows", updated, lambda: [numbers(37, 5), numbers(37, 5), numbers(1).expand(37)],
    ),
    "strided": ("strided", strided, lambda: [numbers(6, 3), numbers(6), torch.tensor([3, 1, 3, 0, 5, 3])]),
    "strided, another layout": (
        "strided", strided, lambda: [numbers(3, 6).mT, numbers(6), torch.tensor([0, 1, 2, 3, 4, 5])],
    ),
    "patches": ("patches", torch.nn.functional.conv2d, lambda: [numbers(2, 3, 6, 7), numbers(9, 3, 3, 2)]),
    "attended": ("attended_rows", attended, lambda: [numbers(41, 5), numbers(6, 5), numbers(6, 4)]),
    **{
        f"a product {ta:d}{tb:d}": ("product_added", product_added, partial(factors, 3, 4, 5, ta, tb))
        for ta in (False, True) for tb in (False, True)
    },
    "a product of nothing": ("product_added", product_added, lambda: factors(3, 4, 0, ta=False, tb=False)),
    **{
        f"products in lanes {ta:d}{tb:d}": ("products_added", product_added, partial(factors, 2, 4, 3, ta, tb, 19))
        for ta in (False, True) for tb in (False, True)
    },
    "products too large for lanes": ("products_added", product_added, partial(factors, 8, 16, 12, True, True, 19)),
}  # fmt: skip
SMALL = ("updated 7", "strided", "patches", "a product 11")
"""Those whose derivatives of every order are taken: one of each form."""


def leaves(values: list[Any], dtype: torch.dtype = torch.float64) -> list[Any]:
    return [
        v.detach().to(dtype).requires_grad_() if isinstance(v, Tensor) and v.is_floating_point() else v for v in values
    ]


def gradients(function: Function, arguments: list[Any]) -> list[Tensor]:
    results = function(*arguments)
    results = (results,) if isinstance(results, Tensor) else results
    generator = torch.Generator().manual_seed(1)
    seeds = [torch.rand(r.shape, generator=generator, dtype=torch.float64).to(r.dtype) - 0.5 for r in results]
    wanted = [a for a in arguments if isinstance(a, Tensor) and a.requires_grad]
    return list(torch.autograd.grad(results, wanted, seeds))


def assert_right(ops: Operators, name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    op, reference, make = CALLS[name]
    arguments = leaves(make(), dtype)
    for one, other in zip(gradients(getattr(ops, op), arguments), gradients(reference, leaves(arguments)), strict=True):
        scale = float(other.abs().max()) if other.numel() else 0.0
        torch.testing.assert_close(one.double(), other, rtol=0, atol=TOLERANCE[dtype] * (1 + scale))


def test_a_dot_and_an_update(ops: Operators) -> None:
    for length in LENGTHS:
        assert_right(ops, f"updated {length}", torch.float64)


def assert_filtered(ops: Operators, op: str, dtype: torch.dtype, *batch: int) -> None:
    torch.manual_seed(0)
    arguments = leaves([numbers(*batch, 5), numbers(*batch, 5)], dtype)
    for one, other in zip(gradients(getattr(ops, op), arguments), gradients(filtered, leaves(arguments)), strict=True):
        torch.testing.assert_close(one.double(), other, rtol=0, atol=TOLERANCE[dtype] * (1 + float(other.abs().max())))


def test_plain_numbers_beside_those_with_derivatives_are_constants(ops: Operators) -> None:
    assert_filtered(ops, "filtered_rows", torch.float64, 11)  # some rows in lanes


@pytest.mark.exhaustive
def test_plain_numbers_are_constants_in_each_form(ops: Operators) -> None:
    assert_filtered(ops, "filtered", torch.float64)
    for dtype in (torch.float32, torch.bfloat16):
        assert_filtered(ops, "filtered_narrow", dtype, 19)
    arguments = leaves([numbers(4), numbers(4)])
    assert gradcheck(ops.filtered, arguments, check_forward_ad=True)
    assert gradgradcheck(ops.filtered, arguments, check_fwd_over_rev=True)


PLAIN_RESULT = """
OPWRIGHT("f(x: T[N]) -> (y: T[N]) where T in (f64) derived")
template <class T>
void f(Tensor<const T, 1> x, Tensor<T, 1> y, int64_t N) {
  double sums[3] = {};
  axpy(3, 0.5, x.data(), 1, sums, 1);
  for (int64_t i = 0; i < N; ++i) y[i] = sums[i % 3];
}
"""


@pytest.mark.slow
def test_plain_numbers_that_would_be_written_are_an_error() -> None:
    ops = opwright.load_inline("dots_plain_result", cpp="#include <opwright.h>\n" + PLAIN_RESULT)
    y = ops.f(torch.ones(3, dtype=torch.float64, requires_grad=True))
    with pytest.raises(CompileError, match="would lose the derivative: declare what it writes, y, as T or acc<T>"):
        y.sum().backward()


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_those_of_pytorch(ops: Operators, name: str, dtype: torch.dtype) -> None:
    if "product" in name and dtype == torch.bfloat16:
        dtype = torch.float32  # gemm rounds its sums to halves
    assert_right(ops, name, dtype)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*SMALL, "attended", "in lanes 7", "products in lanes 01"])
def test_of_every_order(ops: Operators, name: str) -> None:
    torch.manual_seed(0)
    op, _, make = CALLS[name]
    arguments = leaves([v[:3] if isinstance(v, Tensor) and v.shape[:1] in ((37,), (41,), (19,)) else v for v in make()])
    assert gradcheck(getattr(ops, op), arguments, check_forward_ad=True, fast_mode=True)
    assert gradgradcheck(getattr(ops, op), arguments, fast_mode=True, check_fwd_over_rev=True)


@pytest.mark.slow
def test_of_some_arguments_alone(ops: Operators) -> None:
    """The others are constants."""
    torch.manual_seed(0)
    for name in ("updated 7", "in lanes 7", "attended", "a product 01", "products in lanes 10"):
        op, reference, make = CALLS[name]
        values = make()
        for place, value in enumerate(values):
            if not isinstance(value, Tensor):
                continue
            some = [v.detach().requires_grad_() if k == place else v for k, v in enumerate(values)]
            (found,), (expected,) = gradients(getattr(ops, op), some), gradients(reference, some)
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_the_same_bits_with_any_number_of_threads(ops: Operators) -> None:
    torch.manual_seed(0)
    arguments = leaves([numbers(700, 5), numbers(6, 5), numbers(6, 4)], torch.float32)
    before = torch.get_num_threads()
    try:
        found = []
        for count in (1, 2, 4):
            torch.set_num_threads(count)
            found.append(gradients(ops.attended_rows, arguments))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.slow
def test_a_gradient_of_zero_stays_zero(ops: Operators) -> None:
    """Whatever slope it meets."""
    x, w, a = leaves([torch.tensor([1.0, torch.inf]), torch.tensor([2.0, 3.0]), torch.tensor(0.5)])
    y = ops.updated(x, w, a)
    for found in torch.autograd.grad(y, [x, w, a], torch.zeros(2, dtype=torch.float64)):
        assert torch.equal(found, torch.zeros_like(found))


@pytest.fixture(scope="module")
def limits() -> Operators:
    flags = ["-DOPWRIGHT_TAPE_MIB=1", "-DOPWRIGHT_TAPE_MAGNITUDES=1"]
    return opwright.load_inline("derived_limits", cpp=LIMITS, extra_cflags=flags)


def test_adjoints_of_blocks_count_for_the_bound_of_the_tape(limits: Operators) -> None:
    """What blocks of inputs keep is small; each result has an adjoint: here 1,000 kB of them, then 2,000 kB."""
    x = torch.rand(2500, dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(limits.repeated(x, 50).sum(), x)
    assert torch.equal(found, torch.full_like(x, 26))
    with pytest.raises(opwright.KernelError, match="the tape is larger than 1 MiB"):
        torch.autograd.grad(limits.repeated(x, 100).sum(), x)


def test_magnitudes_of_one_number_twice(limits: Operators, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slopes of opposite signs, whose sum is 0."""
    x = torch.tensor([-2.0, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
    for said, expected in (("0", torch.zeros_like(x)), ("1", 2 / x.detach().abs())):
        monkeypatch.setenv("OPWRIGHT_TAPE_MAGNITUDES", said)
        for place, gradient in enumerate((expected, torch.ones_like(x))):
            (found,) = torch.autograd.grad(limits.of_one_number(x)[place].sum(), x)
            torch.testing.assert_close(found, gradient)


@pytest.mark.exhaustive
def test_magnitudes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What rounding errors are proportional to: the sum of what a gradient is the sum of, without signs."""
    source = tmp_path / "derived_dots_magnitudes.cpp"
    source.write_text(SOURCE.read_text())
    ops = opwright.load(source, extra_cflags=["-DOPWRIGHT_TAPE_MAGNITUDES=1"])
    monkeypatch.setenv("OPWRIGHT_TAPE_MAGNITUDES", "1")
    torch.manual_seed(0)
    x, w = leaves([numbers(1, 2, 5, 5), numbers(3, 2, 3, 3)])
    g = torch.rand(1, 3, 3, 3, dtype=torch.float64)
    found = torch.autograd.grad(ops.patches(x, w), [x, w], g)
    positive = leaves([x.abs(), w.abs()])
    expected = torch.autograd.grad(torch.nn.functional.conv2d(*positive), positive, g)
    torch.testing.assert_close(found, expected)
    a, b, c, *rest = CALLS["a product 10"][2]()
    a, b = leaves([a, b])
    found = torch.autograd.grad(ops.product_added(a, b, c, *rest), [a, b], torch.ones(3, 4, dtype=torch.float64))
    size_a, size_b = 2.5 * b.abs().sum(1, keepdim=True).expand(5, 3), 2.5 * a.abs().sum(1, keepdim=True).expand(5, 4)
    torch.testing.assert_close(found, (size_a, size_b))
