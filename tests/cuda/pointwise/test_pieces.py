"""How a call's elements are cut for CUDA threads: any sizes and strides, widths that don't divide them, many pieces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

import opwright
from opwright import Operators
from opwright.cuda import emulation
from tests.include.loops import POINTWISE, check

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.slow
@pytest.mark.parametrize("limit", [pytest.param(0x7FFFFFFF, marks=pytest.mark.exhaustive), 37])
def test_calls_at_random(tmp_path: Path, limit: int) -> None:
    """A piece of at most 37 elements: most calls take many launches."""
    path = tmp_path / "cut.cpp"
    path.write_text(POINTWISE)
    flags = [f"-DOPWRIGHT_PIECE_LIMIT={limit}"]
    check("pointwise", opwright.load(path, backend="emulate", namespace=f"cut_{limit}", extra_cflags=flags), 2, 12)


@pytest.fixture(scope="module")
def activations() -> Operators:
    return opwright.load(EXAMPLES / "activations" / "activations.cpp", backend="emulate")


def laid_out(n: int, dtype: torch.dtype) -> Iterator[Tensor]:
    """The same numbers, dense, not aligned to 16 bytes, and apart."""
    x = torch.randn(n, generator=torch.Generator().manual_seed(n), dtype=torch.float64).mul(3).to(dtype)
    yield x
    yield torch.cat([x[:1], x])[1:] if n else x
    yield torch.stack([x, x], 1)[:, 1]


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype",
    [
        torch.float32,
        torch.bfloat16,
        *(pytest.param(t, marks=pytest.mark.exhaustive) for t in (torch.float64, torch.float16)),
    ],
)
@pytest.mark.parametrize("n", [0, 1, 3, 7, 8, 9, 255, 256, 1025, 100_003])
def test_sizes_and_layouts(activations: Operators, dtype: torch.dtype, n: int) -> None:
    for x in laid_out(n, dtype):
        torch.testing.assert_close(activations.gelu(x), torch.nn.functional.gelu(x.double()).to(dtype))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["reverse", "random"])
def test_any_order(activations: Operators, kind: str) -> None:
    x = torch.randn(5, 1031, dtype=torch.float64).t()
    with emulation.order(kind, seed=1):
        torch.testing.assert_close(activations.mish(x), torch.nn.functional.mish(x))


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own, of forward mode
@pytest.mark.parametrize("name", ["mish", "hard_swish", "gelu", "softplus"])
def test_derivatives(activations: Operators, name: str) -> None:
    x = torch.randn(5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    function = getattr(activations, name)
    assert torch.autograd.gradcheck(function, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, x)


@pytest.mark.slow
def test_the_example_cell() -> None:
    file = EXAMPLES / "lltm" / "lltm_derived.cpp"
    emulated = opwright.load(file, backend="emulate")
    inputs = [torch.randn(3, 5, dtype=torch.float64, requires_grad=True) for _ in range(4)]
    i, o, c, cell = inputs
    expected_cell = cell + torch.nn.functional.elu(c) * i.sigmoid()
    expected = expected_cell.tanh() * o.sigmoid(), expected_cell
    got = emulated.lltm_derived(*inputs)
    torch.testing.assert_close(got, expected)
    sums = [torch.cat(tuple(results)).square().sum() for results in (got, expected)]
    torch.testing.assert_close(*(torch.autograd.grad(total, inputs) for total in sums))


def test_rounding_is_to_even(tmp_path: Path) -> None:
    """As on the CPU; CUDA's own round goes away from zero."""
    emulated = opwright.load(EXAMPLES / "quantize" / "quantize.cpp", backend="emulate")
    x = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 1.2, torch.nan])
    torch.testing.assert_close(emulated.round(x), x.round(), equal_nan=True)
