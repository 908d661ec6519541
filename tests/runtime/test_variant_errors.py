"""What variants refuse, ``op.out`` and ``op_``: each call beside the one of PyTorch's, which raises too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import ArgumentError, Operators, UnsupportedError
from tests.messages.raising import failing

Leaf = Callable[..., torch.Tensor]
SOURCE = Path(__file__).parent / "kernels" / "variant_ops.cpp"


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(SOURCE)


class Given:
    """Tensors for calls that are refused."""

    def __init__(self, leaf: Leaf) -> None:
        self.x, self.y, self.leaf = leaf(4).detach(), leaf(4).detach(), leaf(4)
        self.five, self.wide = torch.rand(5, dtype=torch.float64), torch.rand(2, 4)
        self.integers, self.meta = torch.empty(4, dtype=torch.int64), torch.empty(4, device="meta")
        self.expanded = torch.zeros(1, dtype=torch.float64).expand(4)


def refused(error: type[Exception], text: str, our: Callable[..., object], their: Callable[..., object]) -> Any:
    """A call of ours and the same one of PyTorch's; the error of the first, which names its operator."""
    return pytest.param(our, their, error, text, id=text.partition(", ")[0])


NO_GRADIENT = (
    " requires a gradient, and functions with out=... arguments don't support automatic differentiation\n"
    "  likely fix: blend(), which returns its results; or call it under torch.no_grad()"
)
CAST = " is int64, and the result, float64, can't be cast to that\n"
CAST += "  likely fix: a tensor of type float64, or of a wider one"
SHARED = " is overwritten, but it shares memory with {}\n  likely fix: clone() one of them before the call"
ADD: Any = torch.add


@pytest.mark.parametrize(
    ("our", "their", "error", "text"),
    [
        refused(
            UnsupportedError,
            f"blend.out(): x{NO_GRADIENT}",
            lambda ops, g: ops.blend.out(g.leaf, g.y, out=g.x),
            lambda g: ADD(g.leaf, g.y, out=g.x),
        ),
        refused(
            UnsupportedError,
            f"blend.out(): out{NO_GRADIENT}",
            lambda ops, g: ops.blend.out(g.x, g.y, out=g.leaf),
            lambda g: ADD(g.x, g.y, out=g.leaf),
        ),
        refused(
            ArgumentError,
            f"blend.out(): out{CAST}",
            lambda ops, g: ops.blend.out(g.x, g.y, out=g.integers),
            lambda g: ADD(g.x, g.y, out=g.integers),
        ),
        refused(
            ArgumentError,
            f"blend_(): x{CAST}",
            lambda ops, g: ops.blend_(g.integers, g.y),
            lambda g: g.integers.add_(g.y),
        ),
        refused(
            ArgumentError,
            f"blend.out(): out{SHARED.format('x')}",
            lambda ops, g: ops.blend.out(g.five[1:], g.y, out=g.five[:-1]),
            lambda g: ADD(g.five[1:], g.y, out=g.five[:-1]),
        ),
        refused(
            ArgumentError,
            f"blend_(): x{SHARED.format('y')}",
            lambda ops, g: ops.blend_(g.five[1:], g.five[:-1]),
            lambda g: g.five[1:].add_(g.five[:-1]),
        ),
        refused(
            ArgumentError,
            "blend.out(): out is overwritten, but several of its elements share one place in memory\n"
            "  likely fix: clone() it before the call",
            lambda ops, g: ops.blend.out(g.x, g.y, out=g.expanded),
            lambda g: ADD(g.x, g.y, out=g.expanded),
        ),
        refused(
            ArgumentError,
            "blend_(): x has the shape (4,), and the result, which overwrites it, has (2, 4)\n"
            "  likely fix: blend(), which returns a tensor of that shape",
            lambda ops, g: ops.blend_(g.x, g.wide),
            lambda g: g.x.add_(g.wide),
        ),
        refused(
            RuntimeError,
            "blend_(): x is overwritten, and it is a leaf that requires a gradient\n"
            "  PyTorch:      a leaf Variable that requires grad is being used in an in-place operation.\n"
            "  likely fix:   x.clone() before the call; or, to change a parameter, call it under torch.no_grad()",
            lambda ops, g: ops.blend_(g.leaf, g.y),
            lambda g: g.leaf.add_(g.y),
        ),
        refused(
            ArgumentError,
            "blend.out(): out is on meta, the result on cpu; all tensors of a call must be on one device",
            lambda ops, g: ops.blend.out(g.x, g.y, out=g.meta),
            lambda g: ADD(g.x, g.y, out=g.meta),
        ),
    ],
)
def test_what_pytorchs_own_refuse_is_refused(
    ops: Operators,
    leaf: Leaf,
    our: Callable[[Operators, Given], object],
    their: Callable[[Given], object],
    error: type[Exception],
    text: str,
) -> None:
    given = Given(leaf)
    with pytest.raises((RuntimeError, NotImplementedError)):
        their(given)
    assert failing(lambda: our(ops, given), error) == text


def test_results_that_share_memory_or_are_missing_are_refused(ops: Operators, leaf: Leaf) -> None:
    x, y = leaf(2, 3).detach(), leaf(4).detach()
    least = torch.empty(2, dtype=torch.float64)
    assert failing(lambda: ops.ends.out(x, out_least=least, out_most=least), ArgumentError) == (
        "ends.out(): out_least is overwritten, but it shares memory with out_most\n"
        "  likely fix: clone() one of them before the call"
    )
    missing = failing(lambda: ops.blend.out(y, y), ArgumentError)
    assert missing.startswith("blend.out(): out is missing, expected a tensor T\n")
