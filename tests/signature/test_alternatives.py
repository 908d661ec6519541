"""Alternatives: what is refused, what they are called, which backward is whose, and what a call takes."""

from __future__ import annotations

import itertools

import pytest

from opwright.errors import SignatureError
from opwright.signature import DType, Signature, parse
from opwright.signature.alternatives import Alternatives, renamed
from tests.messages.raising import failing

DEFAULT = DType.F32
RANKS = ["f(x: f32[N]) -> (y: f32[N])", "f(x: f32[N, M]) -> (y: f32[N, M])"]
TYPES = ["f(x: f32[N]) -> (y: f32[N])", "f(x: i64[N]) -> (y: i64[N])"]
POINTWISE = ["f(x: T, y: T) -> (z: T) where T in (f32, f64)", "f(x: i64, y: i64) -> (z: i64)"]


def names(*texts: str) -> list[str]:
    return [signature.name for signature in renamed([*map(parse, texts)])]


def alternatives(*texts: str) -> Alternatives:
    return Alternatives(renamed([*map(parse, texts)]))


@pytest.mark.parametrize(
    ("texts", "tags"),
    [
        (RANKS, ["rank1", "rank2"]),
        (TYPES, ["f32", "i64"]),
        (POINTWISE, ["f32_f64", "i64"]),
        (["f(x: T[N]) -> (y: T[N])", "f(x: T[..., N, M]) -> (y: T[..., N, M])"], ["rank1", "rank2up"]),
        ([*TYPES, "f(x: f32[N, M]) -> (y: f32[N, M])"], ["f32_rank1", "i64_rank1", "f32_rank2"]),
        (
            ["f(x: f32[N], y: f32[N]) -> (z: f32[])", "f(x: f32[N], y: i32[N]) -> (z: f32[])"],
            ["f32", "i32"],
        ),
        (
            [
                "f(x: f32[N], y: f32[N]) -> (z: f32[])",
                "f(x: f32[N], y: i32[N]) -> (z: f32[])",
                "f(x: i32[N], y: i32[N]) -> (z: f32[])",
            ],
            ["x_f32_y_f32", "x_f32_y_i32", "x_i32_y_i32"],
        ),
        (
            ["f(x: T[*A, D, *B], w: f32[D], dim: axis(D)) -> (y: T[*A, D, *B])",
             "f(x: T[*A, D, *B], w: f32[D, K], dim: axis(D)) -> (y: T[*A, D, *B])"],
            ["rank1", "rank2"],
        ),
    ],
)  # fmt: skip
def test_an_alternative_is_called_by_what_decides(texts: list[str], tags: list[str]) -> None:
    assert names(*texts) == [f"f.{tag}" for tag in tags]
    found = renamed([*map(parse, texts)])
    assert [str(each) for each in found] == [str(parse(text)) for text in texts]  # as they were written
    assert [each.shown_name for each in found] == ["f"] * len(texts)
    assert all(parse(str(each).replace("f(", f"{each.name}(", 1)).name == each.name for each in found)


def test_backwards_have_the_name_of_the_alternative_that_they_fit() -> None:
    backwards = [
        "f_backward(grad_y: f32[N, M]) -> (grad_x: f32[N, M])",
        "f_backward(grad_y: f32[N]) -> (grad_x: f32[N])",
        "f_backward_backward(grad_grad_x: f32[N], grad_y: f32[N]) -> (grad_grad_y: f32[N])",
    ]
    found = names(*RANKS, *backwards)
    assert found[2:] == ["f_backward.rank2", "f_backward.rank1", "f_backward_backward.rank1"]
    assert names(*RANKS, backwards[0])[2:] == ["f_backward.rank2"]  # and the other has none


def test_where_several_fit_a_backward_belongs_to_the_last_one_above_it() -> None:
    forwards = ["f(x: T[N]) -> (y: T[N]) where T in (f32)", "f(x: T[N]) -> (y: T[N]) where T in (f64)"]
    backward = "f_backward(grad_y: T[N]) -> (grad_x: T[N])"
    second = renamed([*map(parse, [forwards[0], backward.replace("grad_x: T", "grad_x: T"), forwards[1]])])
    assert [each.name for each in second] == ["f.f32", "f_backward.f32", "f.f64"]
    assert names(*forwards, backward)[2] == "f_backward.f64"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ["f(x: f32[N]) -> (y: f32[N])", "f(x: f32[N, M], k: int) -> (y: f32[N])"],
            ("f has several signatures, and their schemas differ, so they aren't alternatives of one operator\n"
            "  schema:     f(Tensor x, SymInt k) -> Tensor\n  the first:  f(Tensor x) -> Tensor\n"
            "  likely fix: make them overloads, as f.one and f.two, or give one of them another name, as f2"),
        ),
        (
            ["f(x: f32[N]) -> (y: f32[N])", "f(x: T[N]) -> (y: T[N])"],
            ("f has two signatures that take the same arguments: x of type f32 with 1 axis\n"
            "  signature:  f(x: f32[N]) -> (y: f32[N])\n  signature:  f(x: T[N]) -> (y: T[N])\n"
            "  what decides is the element type or the number of axes of a tensor that is always there; sizes, "
            "scalars, optional tensors and lists don't\n"
            "  likely fix: make them overloads, as f.one and f.two, or give one of them another name, as f2"),
        ),
        (["f(x: f32[N, 3]) -> (y: f32[N])", "f(x: f32[N, 4]) -> (y: f32[N])"], "x of type f32 with 2 axes"),
        (["f(x: f32[...]) -> (y: f32[...])", "f(x: f32[N]) -> (y: f32[N])"], "x of type f32 with 1 axis"),
        (["f(x: f32[...]) -> (y: f32[...])", "f(x: f32[..., N]) -> (y: f32[])"], "x of type f32 with 1 or more axes"),
        (
            ["f(x: f32[N], w: f32[N]?) -> (y: f32[N])", "f(x: f32[N], w: i32[N]?) -> (y: f32[N])"],
            "x of type f32 with 1 axis\n",
        ),
        (
            ["f(xs: list[f32[N]]) -> (y: f32[])", "f(xs: list[i32[N]]) -> (y: f32[])"],
            "none is a tensor that is always there",
        ),
        (["f(n: int) -> (y: f32[n])", "f(n: int) -> (y: f64[n])"], "none is a tensor that is always there"),
        (["f(x: T, y: T) -> (z: T)", "f(x: T, y: W) -> (z: T) where T in (i32)"], "take the same arguments: "),
        (["f(x: T, y: T) -> (z: T)", "f(x: f64, y: i32) -> (z: f64)"], "take the same arguments: "),
        (
            ["f(x: f32[N]) -> (y: f32[N]) variants: out", "f(x: f64[N]) -> (y: f64[N])"],
            "f has several signatures, and not all have the same variants:\n",
        ),
        (
            [*RANKS, "f_backward(grad_y: f32[N, M, K]) -> (grad_x: f32[N, M, K])"],
            ("f_backward fits none of the 2 alternatives of its forward\n"
            "  signature:  f_backward(grad_y: f32[N, M, K]) -> (grad_x: f32[N, M, K])\n"
            "  not for:    f(x: f32[N]) -> (y: f32[N])\n"
            "    f_backward has grad_y: f32[N, M, K], but in f it belongs to y: f32[N]\n"
            "  not for:    f(x: f32[N, M]) -> (y: f32[N, M])\n"
            "    f_backward has grad_y: f32[N, M, K], but in f it belongs to y: f32[N, M]"),
        ),
        (
            [*RANKS, *["f_backward(grad_y: f32[N]) -> (grad_x: f32[N])"],
             "f_backward(grad_y: f32[N], x: f32[N]) -> (grad_x: f32[N])"],
            ("f_backward is the backward of an alternative that has one\n"
            "  signature:  f_backward(grad_y: f32[N], x: f32[N]) -> (grad_x: f32[N])\n"
            "  the other:  f_backward(grad_y: f32[N]) -> (grad_x: f32[N])\n"
            "  its own:    f(x: f32[N]) -> (y: f32[N])\n"
            "  likely fix: leave out one of them"),
        ),
        (
            [RANKS[0], "f_backward(grad_y: f32[N]) -> (grad_x: f32[N])",
             "f_backward(grad_y: f32[N], x: f32[N]) -> (grad_x: f32[N])"],
            ("f_backward has 2 signatures, and the operator that it is the backward of has one\n"
            "  likely fix: leave out one of them"),
        ),
        (
            [*RANKS, "f.rank1(x: f32[N], k: int) -> (y: f32[N])"],
            ("f.rank1 is what one of the 2 alternatives of f is called, and there is an overload of that name\n"
            "  likely fix: give it another name, as f.rank1_"),
        ),
    ],
)  # fmt: skip
def test_what_is_refused(texts: list[str], message: str) -> None:
    text = failing(lambda: renamed([*map(parse, texts)]), SignatureError)
    assert message == text or (not message.startswith("f has two") and message in text)


def _facts(signature: Signature, types: tuple[DType, ...], ranks: tuple[int, ...]) -> dict[str, tuple[DType, int]]:
    return {t.name: pair for t, pair in zip(signature.tensors, zip(types, ranks, strict=True), strict=True)}


@pytest.mark.parametrize("texts", [RANKS, TYPES, POINTWISE])
def test_at_most_one_alternative_takes_a_call(texts: list[str]) -> None:
    """Of all types and ranks: each alternative alone says whether it takes them."""
    choice = alternatives(*texts)
    count = len(choice.signatures[0].tensors)
    types = (DType.F32, DType.F64, DType.I32, DType.I64, DType.BOOL, DType.C64)
    some = 0
    for dtypes in itertools.product(types, repeat=count):
        for ranks in itertools.product(range(4), repeat=count):
            arrived = _facts(choice.signatures[0], dtypes, ranks)
            taking = [i for i, all_of in enumerate(choice.required) if all(r.holds(arrived, DEFAULT) for r in all_of)]
            assert len(taking) <= 1
            assert choice.find(arrived, DEFAULT) == (taking[0] if taking else None)
            some += bool(taking)
    assert some


def test_what_a_call_takes() -> None:
    ranks, pointwise = alternatives(*RANKS), alternatives(*POINTWISE)
    assert ranks.find({"x": (DType.F32, 2)}, DEFAULT) == 1
    assert ranks.find({"x": (DType.F64, 1)}, DEFAULT) == 0  # the type isn't what decides: the alternative refuses it
    assert ranks.find({"x": (DType.F32, 3)}, DEFAULT) is None
    assert ranks.find({"x": None}, DEFAULT) is None
    assert pointwise.find({"x": (DType.I64, 1), "y": (DType.F32, 1)}, DEFAULT) == 0  # they promote
    assert pointwise.find({"x": (DType.I64, 1), "y": (DType.I64, 0)}, DEFAULT) == 1
    assert pointwise.find({"x": (DType.I32, 1), "y": (DType.I32, 0)}, DEFAULT) is None
    assert pointwise.find({"x": (None, 1), "y": (DType.I32, 0)}, DEFAULT) is None
    assert str(pointwise.required[0][0]) == "x, y that promote to f32 or f64"
    assert ranks.taken_by(1) == "x with 2 axes"


def test_integers_are_floats_where_no_alternative_is_for_integers() -> None:
    choice = alternatives("f(x: T) -> (y: T) where T in (f32, f64)", "f(x: T) -> (y: T) where T in (c64, c128)")
    assert choice.find({"x": (DType.I32, 1)}, DEFAULT) == 0
    assert choice.find({"x": (DType.I32, 1)}, DType.F16) is None
    assert choice.find({"x": (DType.C128, 1)}, DEFAULT) == 1
