"""Groups of axes: what a signature may say of them, and what they are in a call."""

from __future__ import annotations

import math
import pickle
import random
from typing import Any

import pytest

from opwright.errors import ArgumentError
from opwright.signature import (
    DType,
    NotationError,
    Signature,
    TensorInfo,
    bind,
    output_shapes,
    parse,
    sample,
    sample_at,
)
from opwright.signature.binding import Binding
from opwright.signature.chosen.kinds import AxisKind

SOFTMAX = parse("softmax(x: T[*A, D, *B], dim: axis(D) = -1) -> (y: T[*A, D, *B])")
SUM = parse("sum(x: T[*A, D, *B], dim: axis(D), keepdim: bool = False) -> (y: T[*A, 1 if keepdim, *B])")
SUM_BACKWARD = parse(
    "sum_backward(grad_y: T[*A, 1 if keepdim, *B], dim: axis(D), keepdim: bool) -> (grad_x: T[*A, D, *B])"
)
GATHER = parse("gather(x: T[*A, D, *B], at: i64[*A, E, *B], dim: axis(D)) -> (y: T[*A, E, *B])")
OUTER = parse("outer(x: T[*A], y: T[*B]) -> (z: T[*A, *B], n: i64[A*B])")


def bound(sig: Signature, scalars: dict[str, Any], *shapes: tuple[int, ...], **axes: int) -> tuple[Binding, list[Any]]:
    infos = {
        tensor.name: TensorInfo(shape, DType.I64 if tensor.type.name == "i64" else DType.F32)
        for tensor, shape in zip(sig.tensors, shapes, strict=True)
    }
    binding = bind(sig, infos, scalars=scalars, axes=axes)
    return binding, list(output_shapes(sig, binding))


@pytest.mark.parametrize("sig", [SOFTMAX, SUM, SUM_BACKWARD, GATHER, OUTER])
def test_round_trip(sig: Signature) -> None:
    assert parse(str(sig)) == sig
    assert pickle.loads(pickle.dumps(sig)) == sig  # noqa: S301 - our own


def test_an_axis_by_another_name_is_another_kind() -> None:
    assert AxisKind("D") == AxisKind("D") != AxisKind("E")


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 1, 3), (2, 3, 4, 5), (0, 3), (3, 0, 2)])
def test_products_and_shapes(shape: tuple[int, ...]) -> None:
    for number in range(-len(shape), len(shape)):
        at = number % len(shape)
        binding, (y,) = bound(SOFTMAX, {"dim": number}, shape)
        assert y == shape
        assert dict(binding.axes) == {
            "A": math.prod(shape[:at]),
            "D": shape[at],
            "B": math.prod(shape[at + 1 :]),
        }
        for keepdim, expected in ((False, ()), (True, (1,))):
            _, (y,) = bound(SUM, {"dim": number, "keepdim": keepdim}, shape)
            assert y == (*shape[:at], *expected, *shape[at + 1 :])
            _, (grad_x,) = bound(SUM_BACKWARD, {"dim": number, "keepdim": keepdim}, y, D=shape[at])
            assert grad_x == shape


@pytest.mark.parametrize("number", [0, -1])
def test_tensors_without_axes(number: int) -> None:
    binding, shapes = bound(SOFTMAX, {"dim": number}, ())
    assert shapes == [()]
    assert dict(binding.axes) == {"A": 1, "D": 1, "B": 1}
    for keepdim in (False, True):
        assert bound(SUM, {"dim": number, "keepdim": keepdim}, ())[1] == [()]
    assert bound(SUM_BACKWARD, {"dim": number, "keepdim": True}, (), D=1)[1] == [()]
    assert bound(GATHER, {"dim": number}, (), ())[1] == [()]
    assert bound(GATHER, {"dim": number}, (), (5,))[1] == [(5,)]
    assert bound(GATHER, {"dim": number}, (5,), ())[1] == [()]


def test_groups_without_a_chosen_axis() -> None:
    assert bound(OUTER, {}, (2, 3), (4,))[1] == [(2, 3, 4), (24,)]
    assert bound(OUTER, {}, (), (4, 0))[1] == [(4, 0), (0,)]
    flat = parse("flat(x: T[*A], w: T[A]) -> (y: T[A])")
    assert bound(flat, {}, (2, 3), (6,))[1] == [(6,)]


SIGNATURE = "  signature:    softmax(x: T[*A, D, *B], dim: axis(D) = -1) -> (y: T[*A, D, *B])"
RANGE = "Dimension out of range (expected to be in range of"
WRONG: list[tuple[Signature, dict[str, Any], tuple[tuple[int, ...], ...], str]] = [
    (
        SOFTMAX,
        {"dim": 2},
        ((3, 4),),
        f"softmax(): {RANGE} [-2, 1], but got 2): dim is the axis D of x, which has 2 axes\n{SIGNATURE}",
    ),
    (
        SOFTMAX,
        {"dim": -2},
        ((),),
        f"softmax(): {RANGE} [-1, 0], but got -2): dim is the axis D of x, which has 0 axes",
    ),
    (
        GATHER,
        {"dim": 1},
        ((2, 3), (3, 5)),
        "gather(): at has shape (3, 5), expected [*A, E, *B] = (2, ?)\n  bound so far: *A=(2,) (x), D=3 (x), *B=() (x)",
    ),
    (GATHER, {"dim": 1}, ((2, 3), (2,)), "gather(): at has shape (2,), expected [*A, E, *B] = (*A, ?, *B)"),
    (
        parse("f(x: T[*A], w: T[A]) -> (y: T[A])"),
        {},
        ((2, 3), (5,)),
        "f(): w has shape (5,), expected [A] = (6,)",
    ),
    (
        parse("f(w: T[A], x: T[*A]) -> (y: T[A])"),
        {},
        ((5,), (2, 3)),
        "f(): x has shape (2, 3), expected [*A] = (*A,)",
    ),
    (
        parse("f(x: T[*A, D, *B], g: T[*A, 1 if keep, *B], dim: axis(D), keep: bool) -> (y: T[*A])"),
        {"dim": 0, "keep": True},
        ((2, 3), (2, 3)),
        "f(): g has shape (2, 3), expected [*A, 1 if keep, *B] = (1, 3)",
    ),
    (
        parse("f(x: T[*A, N]) -> (y: T[*A])"),
        {},
        ((),),
        "f(): x has shape (), expected [*A, N] = (*A, ?)",
    ),
]


@pytest.mark.parametrize(("sig", "scalars", "shapes", "text"), WRONG)
def test_what_is_refused(sig: Signature, scalars: dict[str, Any], shapes: Any, text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        bound(sig, scalars, *shapes)
    assert str(caught.value).startswith(text)


MISTAKES = [
    (
        "f(^x: T[*A, *B]) -> (y: T[*A])",
        "the inputs that are always given can't tell how many axes *A and *B are",
        "an input with that group alone, x: T[*A]; or dim: axis(D), for the axis between two groups",
    ),
    ("f(^x: T[*A, *A]) -> (y: T[*A])", "*A stands twice in 'x'", "another name: *A2"),
    (
        "f(^x: T[*A], y: T[..., N]) -> (z: T[*A])",
        "'...' and named groups of axes don't mix",
        "name all of them: [*A, N]",
    ),
    ("f(x: T[*A]) -> (y: T[*A]) ^batched", "'batched' brings the leading axes itself", "leave out 'batched', or the"),
    (
        "f(x: T[*A, D, *B], ^dim: axis(E)) -> (y: T[*A])",
        "'dim' says which axis E is, so an input has it between groups",
        "x: T[*A, E, *B]",
    ),
    (
        "f(x: T[*A, D, *B]?, w: T[N], ^dim: axis(D)) -> (y: T[N])",
        "'dim': no input that is always given has the axes around D, *A and *B",
        "x: T[*A, D, *B]",
    ),
    (
        "f(x: T[*A, D, *B], a: axis(D), ^b: axis(D)) -> (y: T[*A])",
        "an operator has one argument that chooses an axis",
        "move the axes together first, with torch.movedim",
    ),
    ("f(x: T[*A, D, *B], dim: axis(D)^?) -> (y: T[*A])", "'dim' is the number of an axis and can't be optional", ""),
    ("f(x: T[*A, D, *B], dim: axis(D) ^in [0, 3]) -> (y: T[*A])", "'dim' is the number of an axis, so its domain", ""),
    ("f(x: T[*A, D, *B], dim: axis(D) = ^a) -> (y: T[*A])", "a isn't a default for 'dim', which is an int", ""),
    ("f(x: T[N], keep: bool) -> (y: T[^2 if keep])", "an axis that a bool decides has the size 1, not 2", "1 if keep"),
    (
        "f(x: T[N], keep: int) -> (y: T[^1 if keep])",
        "whether the axis of 1 if keep is there is up to 'keep', which is int",
        "among the inputs, keep: bool = False",
    ),
    ("f(x: T[N]) -> (y: T[N, ^1 if keep])", "whether the axis of 1 if keep is there is up to 'keep', which is no", ""),
]


@pytest.mark.parametrize(("marked", "message", "fix"), MISTAKES)
def test_mistakes(marked: str, message: str, fix: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse(marked.replace("^", ""))
    assert caught.value.message.startswith(message)
    assert caught.value.position == marked.index("^")
    assert (caught.value.fix or "").startswith(fix)


@pytest.mark.parametrize("sig", [SOFTMAX, SUM, GATHER])
def test_samples_choose_every_axis(sig: Signature) -> None:
    rng, seen = random.Random(0), set[tuple[int, int]]()
    for _ in range(300):
        drawn = sample(sig, rng, sizes=(1, 2, 3))
        x = drawn.tensors["x"]
        assert x is not None
        seen.add((len(x.shape), drawn.scalars["dim"]))
        shapes = [info.shape for info in drawn.tensors.values() if info]
        assert bound(sig, dict(drawn.scalars), *shapes)[1] == output_shapes(sig, drawn.binding)
    ranks = {1: (-1, 0), 0: (-1, 0), 2: (-2, -1, 0, 1), 3: (-3, -2, -1, 0, 1, 2)}
    assert {(rank, number) for rank, numbers in ranks.items() for number in numbers} <= seen


def test_a_sample_of_given_sizes() -> None:
    at = sample_at(SOFTMAX, Binding({"A": 4, "D": 5, "B": 1}, None, {"T": DType.F32}))
    assert at.tensors["x"] is not None
    assert at.tensors["x"].shape == (4, 5)
    assert at.scalars == {"dim": 1}
    with_last = sample_at(SUM, Binding({"A": 1, "D": 5, "B": 2}, None, {"T": DType.F32}), scalars={"keepdim": True})
    assert with_last.scalars == {"dim": 0, "keepdim": True}
