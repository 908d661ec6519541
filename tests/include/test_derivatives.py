"""Values, first and second derivatives of every function, against PyTorch's autograd in float64.

At kinks and special values, too. Where PyTorch's derivative is NaN because it multiplies zero by infinity, a dual
number's partial of zero stays zero: there anything is taken. Numbers that are finite have to agree.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tests.include.functions import ONE, TWO, reference, run, source

_SPECIAL = (0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e-200, -1e-200, 1, -1, 2, -2, 3, 1e300, -1e300, torch.inf, -torch.inf)
_FEW_DIGITS = {"lgamma", "digamma", "trigamma", "sinc", "celu_alpha"}
"""Where PyTorch itself has six to nine: its trigamma, sinc's backward near 0, a factor of celu's backward in float."""
_ZERO_UNSIGNED = {"cbrt", "relu", "relu6", "clamp_below", "lerp"}


@pytest.fixture(scope="module")
def library(compile_once: Callable[..., ctypes.CDLL]) -> ctypes.CDLL:
    return compile_once(source("double"), "-O1", "-fno-math-errno", "-fno-trapping-math")


def special(*more: float) -> Tensor:
    return torch.tensor([*_SPECIAL, torch.nan, *more], dtype=torch.float64)


def random(count: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    near, far = (torch.rand(count, generator=generator, dtype=torch.float64) * 2 - 1 for _ in range(2))
    return torch.cat([torch.randn(count, generator=generator, dtype=torch.float64), near, far * 20])


def fair(name: str, row: int, inputs: list[Tensor]) -> Tensor:
    """Where PyTorch's result is one to compare with."""
    x, y = inputs[0], inputs[-1]
    mask = torch.ones_like(x, dtype=torch.bool)
    if row > len(inputs):  # PyTorch's second derivatives underflow on the way, and of NaN they are anything
        mask &= ~sum(each.isnan() | ((each != 0) & (each.abs() < 1e-200)) for each in inputs).bool()  # type: ignore[union-attr]
    if name in {"lgamma", "digamma", "trigamma"}:  # at poles 1e32 or so; beyond 2^53 every number is one
        mask &= ~((x < 0) & (x == x.round()))
    if name in {"fmod", "remainder"}:  # NaN there where the quotient overflows
        mask &= ~((x / y).isinf() & x.isfinite() & (y != 0))
    return mask


def assert_derivatives_agree(name: str, got: Tensor, expected: Tensor, inputs: list[Tensor]) -> None:
    relative = 1e-6 if name in _FEW_DIGITS else 1e-11
    for row, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
        same = torch.isclose(ours, theirs, rtol=relative, atol=1e-12 if row else 1e-14, equal_nan=True)
        if row:
            same |= theirs.isnan()
        elif name not in _ZERO_UNSIGNED:
            same &= (theirs != 0) | (ours != 0) | (ours.signbit() == theirs.signbit())
        wrong = (~same & fair(name, row, inputs)).nonzero().flatten()[:5]
        shown = [(*(x[i].item() for x in inputs), ours[i].item(), theirs[i].item()) for i in wrong]
        assert not shown, f"{name}, row {row}: (inputs, ours, PyTorch's) {shown}"


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one(library: ctypes.CDLL, name: str) -> None:
    function = ONE[name]
    x = torch.cat([special(*function.at), random(200, seed=0)])
    assert_derivatives_agree(name, run(library, f"one_{name}", x), reference(function.torch, x), [x])


@pytest.mark.slow
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(library: ctypes.CDLL, name: str) -> None:
    function = TWO[name]
    a, b = torch.meshgrid(special(), special(), indexing="ij")
    x, y = torch.cat([a.flatten(), random(200, seed=0)]), torch.cat([b.flatten(), random(200, seed=1)])
    assert_derivatives_agree(name, run(library, f"two_{name}", x, y), reference(function.torch, x, y), [x, y])


def test_what_pytorch_has_few_digits_of(library: ctypes.CDLL) -> None:
    """The functions' own equations: inverse, complement, and digamma's recurrence with all its derivatives."""
    x = random(300, seed=2)
    inside = x[x.abs() < 1]
    torch.testing.assert_close(torch.erf(run(library, "one_erfinv", inside)[0]), inside, rtol=1e-14, atol=0)
    total = run(library, "one_erfc", x) + run(library, "one_erfc", -x)
    torch.testing.assert_close(total[0], torch.full_like(x, 2), rtol=1e-15, atol=0)
    right = x.abs() + 0.5
    for name, step in (("lgamma", torch.log), ("digamma", torch.reciprocal), ("trigamma", lambda t: -1 / t**2)):
        above, here = run(library, f"one_{name}", right + 1), run(library, f"one_{name}", right)
        torch.testing.assert_close(above, here + reference(step, right), rtol=1e-12, atol=1e-12)
