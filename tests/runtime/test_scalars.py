"""Optional scalars, strings and choices in calls, in graphs, in other processes; on both runtimes."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import ArgumentError, Operators

HERE = Path(__file__).parent
FACTORS = {"mean": 2.0, "sum": 3.0, "tanh-approx": 5.0}


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(HERE / "kernels/scalar_ops.cpp")


def scaled(x: torch.Tensor, mode: str = "mean", k: int | None = None, p: float | None = None, b: Any = None) -> Any:
    return x * FACTORS[mode] + (k or 0) * 10 + (0.5 if p is None else p) + {None: 0, True: 1000, False: 2000}[b]


@pytest.mark.parametrize("mode", FACTORS)
def test_choices_and_none(ops: Operators, mode: str) -> None:
    x = torch.randn(4, dtype=torch.float64)
    for k, p, b in itertools.product((None, 1, 4), (None, 0.0, -2.5), (None, True, False)):
        torch.testing.assert_close(ops.scaled(x, mode, k, p, b), scaled(x, mode, k, p, b))
        torch.testing.assert_close(ops.scaled(x, b=b, p=p, mode=mode, k=k), scaled(x, mode, k, p, b))


def test_defaults(ops: Operators) -> None:
    x = torch.randn(4)
    torch.testing.assert_close(ops.scaled(x), scaled(x))


@pytest.mark.parametrize(("text", "last"), [("", -1), ("ab", 98), ("grün", 110), ("é", 0xA9), ("a\0b", 98)])
@pytest.mark.parametrize("more", [None, "", "xyz"])
def test_strings(ops: Operators, text: str, last: int, more: str | None) -> None:
    y = ops.spelled(torch.zeros(1, dtype=torch.uint8), text, more)
    assert y.tolist() == [len(text.encode()), last, -1 if more is None else len(more)]


@pytest.mark.parametrize(("more", "told"), [(None, "none"), ("grün", "grün"), ("x" * 2000, "x" * 900)])
def test_checks_tell_strings(ops: Operators, more: str | None, told: str) -> None:
    with pytest.raises(opwright.KernelError) as caught:
        ops.spelled(torch.zeros(1, dtype=torch.uint8), "bad", more)
    assert f"text is bad, more is {told}" in str(caught.value)


def test_string_defaults(ops: Operators) -> None:
    assert ops.spelled(torch.zeros(0, dtype=torch.uint8)).tolist() == [5, ord("n"), -1]


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_template_over_a_choice(ops: Operators, mode: str, flip: bool, dtype: torch.dtype) -> None:
    x, y = torch.randn(5), torch.randn(5, dtype=dtype)
    factor = FACTORS[mode]
    expected = y.float() * factor - x if flip else x * factor + y.float()
    torch.testing.assert_close(ops.chosen(x, mode, y, flip), expected)


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("k", [None, 3])
def test_batched(ops: Operators, mode: str, k: int | None) -> None:
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    total = x.sum(-1, keepdim=True) if mode == "sum" else x.mean(-1, keepdim=True)
    torch.testing.assert_close(ops.rows(x, mode, k), x + total * (1 if k is None else k))


@pytest.mark.parametrize(("mode", "cube", "slope"), [*itertools.product(["sum", "mean"], [False, True], [None, 0.25])])
def test_pointwise_and_its_derivatives(ops: Operators, mode: str, cube: bool, slope: float | None) -> None:
    x = torch.randn(7, dtype=torch.float64, requires_grad=True)
    power = x**3 if cube else x**2
    expected = power + (1 if slope is None else slope) * x if mode == "sum" else power * 2
    torch.testing.assert_close(ops.bent(x, mode, cube, slope), expected)

    def call(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = ops.bent(x, mode, cube, slope)
        return result

    with warnings.catch_warnings():  # PyTorch's own: torch.jit.script
        warnings.simplefilter("ignore", DeprecationWarning)
        assert torch.autograd.gradcheck(call, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, x)


@pytest.mark.parametrize("mode", FACTORS)
def test_a_backward_gets_the_choice(ops: Operators, mode: str) -> None:
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: ops.scaled(x, mode, 2), x)


SIGNATURE = (
    "  signature:    scaled(x: T[N], mode: mean | sum | 'tanh-approx' = mean, k: int? in [1, N], p: float?, b: bool?) "
    "-> (y: T[N])"
)
FIX = "  likely fix:   mode='mean' or mode='sum' or mode='tanh-approx'"
BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"mode": "mena"},
        "scaled(): mode is 'mena', expected 'mean' or 'sum' or 'tanh-approx'; did you mean 'mean'?\n" + SIGNATURE,
    ),
    ({"mode": ""}, "scaled(): mode is '', expected 'mean' or 'sum' or 'tanh-approx'\n" + SIGNATURE),
    ({"mode": "tanh_approx"}, "did you mean 'tanh-approx'?"),
    (
        {"mode": 1},
        f"scaled(): mode is the int 1, expected one of mean, sum, tanh-approx\n{SIGNATURE}\n{FIX}",
    ),
    ({"k": 0}, "scaled(): k is 0, expected an int or None in [1, N] = [1, 4]"),
    ({"k": 5}, "scaled(): k is 5, expected an int or None in [1, N] = [1, 4]"),
    ({"k": 1.5}, "scaled(): k is the float 1.5, expected an int or None"),
    ({"p": "1"}, "scaled(): p is the str '1', expected a float or None"),
    ({"b": "yes"}, "scaled(): b is the str 'yes', expected a bool or None"),
]


@pytest.mark.parametrize(("arguments", "text"), BAD)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_what_is_refused(ops: Operators, arguments: dict[str, Any], text: str, device: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        ops.scaled(torch.zeros(4, device=device), **arguments)
    assert text in str(caught.value)


def test_of_several_wrong_choices_the_first_is_told(ops: Operators) -> None:
    x = torch.zeros(2)
    with pytest.raises(ArgumentError, match=r"chosen\(\): mode is 'x', expected 'sum' or 'mean'"):
        ops.chosen(x, "x", x)


def test_opcheck(ops: Operators) -> None:
    x = torch.randn(4, requires_grad=True)
    torch.library.opcheck(ops.scaled, (x, "sum", 2, None, True))
    torch.library.opcheck(ops.spelled, (torch.zeros(1, dtype=torch.uint8), "text", None))
    torch.library.opcheck(ops.bent, (x, "mean"), {"slope": 0.5})


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(ops: Operators, dynamic: bool) -> None:
    def call(x: torch.Tensor, mode: str, k: int | None) -> torch.Tensor:
        y: torch.Tensor = ops.scaled(x.sin(), mode, k, p=None, b=True)
        return y * 2

    compiled = torch.compile(call, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for size, mode, k in ((3, "mean", None), (4, "sum", 2), (5, "sum", 5)):
        x = torch.randn(size)
        torch.testing.assert_close(compiled(x, mode, k), call(x, mode, k))


def test_compiled_with_a_symbolic_optional(ops: Operators) -> None:
    compiled = torch.compile(lambda x: ops.scaled(x, k=x.shape[0]), fullgraph=True, dynamic=True, backend="aot_eager")
    for size in (3, 7):
        torch.testing.assert_close(compiled(torch.ones(size)), scaled(torch.ones(size), k=size))


class _Module(torch.nn.Module):
    def __init__(self, call: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.call(x)


def test_exported(ops: Operators) -> None:
    module = _Module(lambda x: ops.scaled(x, "tanh-approx", None, 1.5))
    program = torch.export.export(module, (torch.ones(4),))
    torch.testing.assert_close(program.module()(torch.ones(4)), scaled(torch.ones(4), "tanh-approx", p=1.5))


def test_vmap(ops: Operators) -> None:
    x = torch.randn(3, 4)
    torch.testing.assert_close(torch.vmap(lambda x: ops.scaled(x, "sum", 4))(x), scaled(x, "sum", 4))
    torch.testing.assert_close(torch.vmap(lambda x: ops.bent(x, "sum", slope=2.0))(x), x * x + 2 * x)


def test_signatures_of_python(ops: Operators) -> None:
    import inspect

    assert str(inspect.signature(ops.scaled)) == (
        "(x: torch.Tensor, mode: str = 'mean', k: int | None = None, p: float | None = None, b: bool | None = None) "
        "-> torch.Tensor"
    )


def test_the_kind_of_a_choice_is_pickled_and_copied(ops: Operators) -> None:
    signature = ops.__loaded__.registered["scaled"].kernel.signature
    loaded = pickle.loads(pickle.dumps(signature))  # noqa: S301 - its own
    for again in (loaded, copy.deepcopy(signature)):
        assert again == signature
        assert hash(again) == hash(signature)


def test_python_functions(ops: Operators) -> None:
    def forward(x: torch.Tensor, mode: str, k: int | None) -> torch.Tensor:
        return x * FACTORS[mode] * (1 if k is None else k)

    def backward(grad_y: torch.Tensor, mode: str, k: int | None) -> torch.Tensor:
        return grad_y * FACTORS[mode] * (1 if k is None else k)

    op = opwright.differentiable(
        forward,
        backward,
        signature=[
            "weigh(x: T[N], mode: mean | sum, k: int?) -> (y: T[N])",
            "weigh_backward(grad_y: T[N], mode: mean | sum, k: int?) -> (grad_x: T[N])",
        ],
        namespace="scalars_in_functions",
    )
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: op(x, "sum", 3), x)
    torch.testing.assert_close(op(x, "mean"), x * 2)
    torch.testing.assert_close(op(x, "mean", 4), x * 8)
    with pytest.raises(ArgumentError, match="mode is 'max', expected 'mean' or 'sum'"):
        op(x, "max")


C = """
#include <stdint.h>
#include <string.h>
OPWRIGHT("count(x: f32[N], mode: mean | sum | max, text: str) -> (y: i64[3])")
void count(const float *x, int64_t N, int mode, const char *text, int64_t *y) {
  y[0] = N, y[1] = mode, y[2] = (int64_t)strlen(text);
}
"""


def test_a_c_function_gets_a_number_and_a_string(write: Callable[..., Path]) -> None:
    ops = opwright.load(write(C, "counting.c"))
    for number, mode in enumerate(("mean", "sum", "max")):
        assert ops.count(torch.zeros(2), mode, "grün").tolist() == [2, number, 5]
    with pytest.raises(opwright.KernelError, match="text has a zero byte, which ends a string in C"):
        ops.count(torch.zeros(2), "sum", "a\0b")


def test_an_integer_that_does_not_fit(ops: Operators) -> None:
    with pytest.raises(opwright.KernelError, match="k is 4294967296, which doesn't fit the kernel's parameter of 4 by"):
        ops.rows(torch.ones(2), "sum", 2**32)


def test_not_a_number_is_a_float(ops: Operators) -> None:
    assert ops.scaled(torch.zeros(1), p=math.nan).isnan().all()
