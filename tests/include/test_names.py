"""Operators may be called what generated code might call its own things."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright

NAMES = (
    "library",
    "table",
    "guarded",
    "entry_0",
    "entry_1",
    "Arguments",
    "a",
    "call",
    "refuse",
    "open_library",
    "rows",
)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["cpp", "c"])
def test_an_operator_may_have_any_name(write: Callable[..., Path], suffix: str) -> None:
    views = "Tensor<const float, 1> x, Tensor<float, 1> y" if suffix == "cpp" else "int64_t N, const float *x, float *y"
    count = "x.numel()" if suffix == "cpp" else "N"
    kernels = [
        f'OPWRIGHT("{name}(x: f32[N]) -> (y: f32[N])")\n'
        f"void {name}({views}) {{ for (int64_t i = 0; i < {count}; ++i) y[i] = x[i] + {number}; }}"
        for number, name in enumerate(NAMES)
    ]
    ops = opwright.load(write("\n".join(kernels), f"any_name_{suffix}.{suffix}"))
    for number, name in enumerate(NAMES):
        assert getattr(ops, name)(torch.ones(2)).tolist() == [1.0 + number] * 2


def test_a_failure_names_the_operators_argument(write: Callable[..., Path]) -> None:
    text = """
OPWRIGHT("scale(x: f32[N], alpha: float, k: int) -> (y: f32[N])")
void scale(int N, const float *x, float alpha, int k, float *y) { for (int i = 0; i < N; ++i) y[i] = alpha * x[i] + k; }
"""
    ops = opwright.load(write(text, "named_arguments.c"))
    x = torch.ones(1)
    assert ops.scale(x, float("-inf"), 2).tolist() == [float("-inf")]
    for given, message in (
        ((1e300, 0), "alpha is 1.0000000000000001e+300, which doesn't fit the kernel's parameter of type float"),
        ((0.5, 2**40), "k is 1099511627776, which doesn't fit the kernel's parameter of 4 bytes"),
    ):
        with pytest.raises(opwright.KernelError) as caught:
            ops.scale(x, *given)
        assert str(caught.value) == f"scale(): {message}"
