"""Lists of numbers in calls and graphs, of a fixed length and of any; on both runtimes."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import pad

import opwright
from opwright import ArgumentError, Operators

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(HERE / "kernels/scalar_ops.cpp")


def padded(x: torch.Tensor, by: Any = (0, 0), scale: Any = (1, 1), flip: Any = (False, False)) -> torch.Tensor:
    a, b = (by, by) if isinstance(by, int) else by
    return pad(x.flip([axis for axis in (0, 1) if flip[axis]]) * scale[0] * scale[1], (b, b, a, a))


CALLS: list[tuple[Any, ...]] = [
    (),
    ([0, 0],),
    (2,),
    ([1, 0], [2.0, 0.5]),
    ((0, 3), [2.0, -1.0], [True, False]),
    ([2, 1], [1.5, 1.0], [True, True]),
]


@pytest.mark.parametrize("arguments", CALLS)
def test_fixed_lengths(ops: Operators, arguments: tuple[Any, ...]) -> None:
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(ops.padded(x, *arguments), padded(x, *arguments))
    assert torch.autograd.gradcheck(lambda x: ops.padded(x, *arguments), x)


@pytest.mark.parametrize("by", [[0, 0], [1, 2], [0, 3], [5, 0]])
def test_elements_in_named_sizes(ops: Operators, by: list[int]) -> None:
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(ops.cut(x, by), x[by[0] : 5 - by[1]])
    assert torch.autograd.gradcheck(lambda x: ops.cut(x, by), x)


def test_elements_that_a_backward_gets_from_its_forward(ops: Operators) -> None:
    x = torch.randn(1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: ops.tiled(x, [2, 3]), x)
    names = [argument.name for argument in ops.tiled_backward._schema.arguments]
    assert names[:3] == ["grad_y", "axis_n_0", "axis_n_1"]


@pytest.mark.parametrize("at", [[], [3], [0, 4, 4, 2]])
@pytest.mark.parametrize("by", [[], [0.5], [1.25, -3]])
@pytest.mark.parametrize("on", [[], [True], [False, True, True]])
def test_any_length(ops: Operators, at: list[int], by: list[float], on: list[bool]) -> None:
    x = torch.arange(5.0) + 0.5
    expected = [len(at), len(by), len(on), sum(x[i].item() for i in at), sum(by), sum(on)]
    assert ops.counted(x, at, by, on).tolist() == expected


def test_pointwise(ops: Operators) -> None:
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(ops.polynomial(x, [0.5, 2.0, -1.0]), 0.5 + 2 * x - x * x)
    torch.testing.assert_close(ops.polynomial(x), 1 + x + x * x)
    with warnings.catch_warnings():  # PyTorch's own: torch.jit.script
        warnings.simplefilter("ignore", DeprecationWarning)
        assert torch.autograd.gradcheck(lambda x: ops.polynomial(x, [0.5, 2.0, -1.0]), x, check_forward_ad=True)


PADDED = (
    "  signature:    padded(x: T[H, W], by: list[int, 2] in [0, 9] = 0, scale: list[float, 2] = 1.0, "
    "flip: list[bool, 2] = False) -> (y: T[H+2*by[0], W+2*by[1]])"
)
BAD: list[tuple[dict[str, Any], str]] = [
    ({"by": [1]}, f"padded(): by is a list of 1, expected a list of 2 ints\n{PADDED}"),
    ({"by": [1, 2, 3]}, f"padded(): by is a list of 3, expected a list of 2 ints\n{PADDED}"),
    ({"by": []}, "padded(): by is a list of 0, expected a list of 2 ints"),
    ({"by": [0, -1]}, "padded(): by[1] is -1, expected an int in [0, 9]"),
    ({"by": 10}, "padded(): by[0] is 10, expected an int in [0, 9]"),
    ({"by": "ab"}, "padded(): by is the str 'ab', expected a list of 2 ints"),
    ({"by": 0.5}, "padded(): by is the float 0.5, expected a list of 2 ints, or one int for all"),
    ({"by": [0, 0.5]}, "padded(): by[1] is the float 0.5, expected an int\n"),
    ({"scale": (None, 1.0)}, "padded(): scale[0] is None, expected a float\n"),
    ({"flip": True}, "padded(): flip is the bool True, expected a list of 2 bools\n"),
    ({"scale": [1.0]}, "padded(): scale is a list of 1, expected a list of 2 floats"),
    ({"flip": [True, False, True]}, "padded(): flip is a list of 3, expected a list of 2 bools"),
    ({"by": [1], "scale": [1.0]}, "padded(): by is a list of 1, expected a list of 2 ints"),
]


@pytest.mark.parametrize(("arguments", "text"), BAD)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_what_is_refused(ops: Operators, arguments: dict[str, Any], text: str, device: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        ops.padded(torch.zeros(2, 3, device=device), **arguments)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([0, 5], [], []), "counted(): at[1] is 5, expected an int in [0, N) = [0, 5)"),
        (([], [1.0, float("nan")], []), "counted(): by[1] is nan, expected a float in (-9, 9)"),
        (([], [], None), "counted(): on is None, expected a list of bools"),
    ],
)
def test_what_is_refused_of_any_length(ops: Operators, arguments: tuple[Any, ...], text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        ops.counted(torch.zeros(5), *arguments)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("call", "problem", "fix"),
    [
        (
            lambda ops, x: ops.cut(x),
            "cut(): by is missing, expected a list of 2 ints",
            "give it, as by=[1, 1], or a default in the signature: `by: list[int, 2] = 1`",
        ),
        (
            lambda ops, x: ops.counted(x, [1], on=[]),
            "counted(): by is missing, expected a list of floats",
            "give it, as by=[1.0, 1.0]",
        ),
        (
            lambda ops, x: ops.counted(x, [1], 0.5, []),
            "counted(): by is the float 0.5, expected a list of floats",
            "by=[0.5]",
        ),
        (
            lambda ops, x: ops.padded(x[None], flip=True),
            "padded(): flip is the bool True, expected a list of 2 bools",
            "flip=[True, True]",
        ),
    ],
)
def test_what_to_write(ops: Operators, call: Callable[..., object], problem: str, fix: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(ops, torch.zeros(5))
    first, _, last = str(caught.value).splitlines()
    assert (first, last) == (problem, f"  likely fix:   {fix}")


def test_a_size_below_zero(ops: Operators) -> None:
    with pytest.raises(ArgumentError, match=r"cut\(\): M = N-by\[0\]-by\[1\] is -1, expected a size, at least 0"):
        ops.cut(torch.zeros(2), [1, 2])


def test_opcheck(ops: Operators) -> None:
    x = torch.randn(2, 3, requires_grad=True)
    torch.library.opcheck(ops.padded, (x, [1, 0]), {"flip": [True, False]})
    torch.library.opcheck(ops.counted, (torch.randn(3), [0, 2], [0.5], []))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(ops: Operators, dynamic: bool) -> None:
    def call(x: torch.Tensor, by: list[int]) -> torch.Tensor:
        y: torch.Tensor = ops.padded(x.sin(), by, [2.0, 1.0])
        return y * 2

    compiled = torch.compile(call, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for size, by in ((3, [0, 1]), (4, [2, 0]), (5, [1, 1])):
        x = torch.randn(size, 2)
        torch.testing.assert_close(compiled(x, by), call(x, by))


def test_a_symbolic_number_for_all(ops: Operators) -> None:
    """PyTorch's parser takes plain ints alone, and a stride that changes between calls is symbolic."""
    compiled = torch.compile(lambda x, by: ops.padded(x, by) * 2, fullgraph=True, dynamic=True, backend="aot_eager")
    named = torch.compile(lambda x, by: ops.cut(by=by, x=x), fullgraph=True, dynamic=True, backend="aot_eager")
    for by in (2, 3):
        x = torch.randn(9, 8)
        torch.testing.assert_close(compiled(x, by), ops.padded(x, [by, by]) * 2)
        torch.testing.assert_close(named(x[0], by), ops.cut(x[0], [by, by]))


def test_symbolic_elements(ops: Operators) -> None:
    compiled = torch.compile(
        lambda x: ops.counted(x, [0, x.shape[0] - 1], [], []), fullgraph=True, dynamic=True, backend="aot_eager"
    )
    for size in (3, 6):
        x = torch.randn(size, dtype=torch.float64)
        assert compiled(x)[3].item() == (x[0] + x[-1]).item()


class _Module(torch.nn.Module):
    def __init__(self, call: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.call(x)


def test_exported(ops: Operators) -> None:
    rows = torch.export.Dim("rows", min=2, max=64)
    module = _Module(lambda x: ops.padded(x, [1, 2]))
    program = torch.export.export(module, (torch.ones(4, 3),), dynamic_shapes=({0: rows},))
    torch.testing.assert_close(program.module()(torch.ones(6, 3)), padded(torch.ones(6, 3), [1, 2]))


def test_vmap(ops: Operators) -> None:
    x = torch.randn(3, 2, 2)
    torch.testing.assert_close(torch.vmap(lambda x: ops.padded(x, 1))(x), torch.stack([padded(row, 1) for row in x]))


def test_kinds_are_pickled_and_copied(ops: Operators) -> None:
    for name in ("padded", "counted"):
        signature = ops.__loaded__.registered[name].kernel.signature
        loaded = pickle.loads(pickle.dumps(signature))  # noqa: S301 - its own
        for again in (loaded, copy.deepcopy(signature)):
            assert again == signature
            assert hash(again) == hash(signature)


C = """
OPWRIGHT("total(x: f32[N], by: list[int, 3], w: list[float, 2]) -> (y: f64[M]) where M = N + by[2]")
void total(const float *x, int64_t N, const int64_t *by, const double *w, double *y, int64_t M) {
  for (int64_t i = 0; i < M; ++i) y[i] = (i < N ? x[i] : 0) + by[0] * 100 + by[1] * 10 + w[0] + w[1];
}
"""


def test_a_c_function_gets_pointers(write: Callable[..., Path]) -> None:
    ops = opwright.load(write(C, "totals.c"))
    assert ops.total(torch.ones(2), [1, 2, 1], [0.25, 0.5]).tolist() == [121.75, 121.75, 120.75]


def test_python_functions(ops: Operators) -> None:
    op = opwright.differentiable(
        lambda x, by: pad(x, (by[0], by[1])),
        lambda grad_y, by: grad_y[by[0] : grad_y.shape[0] - by[1]],
        signature=[
            "widen(x: T[N], by: list[int, 2] in [0, inf)) -> (y: T[N + by[0] + by[1]])",
            "widen_backward(grad_y: T[N + by[0] + by[1]], by: list[int, 2]) -> (grad_x: T[N])",
        ],
    )
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: op(x, [1, 2]), x)
    with pytest.raises(ArgumentError, match=r"by\[0\] is -1, expected an int in \[0, inf\)"):
        op(x, [-1, 2])


def test_an_argument_that_is_called_self_is_unknown(ops: Operators) -> None:
    """Python would take the word for the callable's own."""
    named = {"self": 1}
    for function in (ops.padded, torch.ops.scalar_ops.padded, torch.ops.scalar_ops.padded.default):
        with pytest.raises(ArgumentError, match=r"padded\(\): there is no argument self; the arguments are x, by"):
            function(torch.ones(2, 2), **named)
