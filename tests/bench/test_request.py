"""Sizes as they are written, and those that nobody named."""

from __future__ import annotations

import pytest

from opwright.bench.request import (
    LEADING,
    RequestError,
    axis_names,
    call_at,
    check_axes,
    grid,
    parse_axis,
    smallest_call,
    type_choices,
)
from opwright.errors import ArgumentError
from opwright.signature import DType, Signature, bytes_moved, parse

LLTM = parse("lltm(x: T[B, I], w: T[3*S, I+S], h: T[B, S]) -> (y: T[B, S])")
POINTWISE = parse("f(x: T, y: T) -> (z: T)")
F32 = {"T": DType.F32}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B=16", ("B", (16,))),
        ("S=128,256", ("S", (128, 256))),
        ("N=10:40:10", ("N", (10, 20, 30, 40))),
        ("N=1:3", ("N", (1, 2, 3))),
        ("B=1:4096:x4", ("B", (1, 4, 16, 64, 256, 1024, 4096))),
        ("B=1:100:x10,7", ("B", (1, 10, 100, 7))),
        (" ... = 5", ("...", (5,))),
        ("eps=0.5,1e-3", ("eps", (0.5, 1e-3))),
        ("N=0", ("N", (0,))),
        ("mode=mean,tanh-approx", ("mode", ("mean", "tanh-approx"))),
    ],
)
def test_an_axis_as_it_is_written(text: str, expected: tuple[str, tuple[int, ...]]) -> None:
    assert parse_axis(text) == expected


@pytest.mark.parametrize(
    "text", ["B", "B=", "=3", "B=-x", "B=x y,", "B=1e999", "B=1:9:x1", "B=1:9:0", "B=9:1", "B=1:2:3:4", "B=1.5:3"]
)
def test_what_is_no_axis(text: str) -> None:
    with pytest.raises(ValueError, match="isn't an axis with its sizes") as caught:
        parse_axis(text)
    assert str(caught.value) == (
        f"{text!r} isn't an axis with its sizes\n"
        "  expected:     B=16, S=128,256, N=10:100:10 (from, to, step) or B=1:4096:x2 (each twice the one before)"
    )


def test_a_range_that_would_never_end() -> None:
    with pytest.raises(ValueError, match="a range by a factor has to begin above 0"):
        parse_axis("B=0:8:x2")


def test_values_of_scalars_may_be_negative_and_lengths_not() -> None:
    assert parse_axis("alpha=-0.5") == ("alpha", (-0.5,))
    with pytest.raises(RequestError, match="B is -1, expected 0 or more: it is an axis"):
        call_at(LLTM, {"B": -1}, {"T": DType.F32})
    with pytest.raises(RequestError, match=r"B is 1\.5, expected an integer: it is an axis"):
        call_at(LLTM, {"B": 1.5}, {"T": DType.F32})


def test_every_combination_of_an_operators_own_axes() -> None:
    assert grid(LLTM, {"B": (1, 2), "S": 4}) == [{"B": 1, "S": 4}, {"B": 2, "S": 4}]
    assert grid(LLTM, {"N": (1, 2)}) == [{}]


def test_an_axis_that_no_operator_has() -> None:
    check_axes([LLTM, POINTWISE], {"B": 1, LEADING: 2})
    with pytest.raises(ArgumentError) as caught:
        check_axes([LLTM], {"N": 1})
    assert str(caught.value) == (
        "lltm() has no axis 'N'; it has: B, I, S\n"
        "  signature:    lltm(x: T[B, I], w: T[3*S, I+S], h: T[B, S]) -> (y: T[B, S])"
    )


@pytest.mark.parametrize(
    "sig",
    [LLTM, POINTWISE, parse("f(x: T[..., C]) -> (y: T[..., C])"), parse("f(x: T[C]) -> (y: T[]) batched")],
    ids=str,
)
def test_axes_that_nobody_named_make_a_call_of_a_few_megabytes(sig: Signature) -> None:
    binding = call_at(sig, {}, F32).binding
    assert 1 << 19 < bytes_moved(sig, binding).total <= 1 << 22
    assert len({*binding.axes.values(), *(binding.ellipsis or ())}) == 1


def test_others_suit_those_that_are_named() -> None:
    call = call_at(LLTM, {"B": 2, "S": 128}, F32)
    assert (call.binding.axes["B"], call.binding.axes["S"]) == (2, 128)
    assert call.tensors["w"] is not None
    assert call.tensors["w"].shape == (384, 128 + call.binding.axes["I"])


def test_sizes_that_do_not_satisfy_the_signature() -> None:
    pool = parse("pool(x: T[N], w: T[K]) -> (y: T[N-K+1])")
    with pytest.raises(ArgumentError, match="the shape of y is") as caught:
        call_at(pool, {"N": 3, "K": 9}, F32)
    assert "N=3" in str(caught.value)
    with pytest.raises(ArgumentError, match="likely fix:   say which sizes suit: --axis K="):
        call_at(parse("f(x: T[N], y: T[K]) -> (z: T[N-10+K-K])"), {"N": 3}, F32)
    with pytest.raises(ArgumentError, match=r"lltm\(\): B is 1.5, expected an integer: it is an axis"):
        call_at(LLTM, {"B": 1.5}, F32)


def test_scalars_have_their_defaults_or_plain_values() -> None:
    sig = parse("f(x: T[N], k: int, low: float, high: float, on: bool, eps: float = 0.25) -> (y: T[N])")
    assert axis_names(sig) == ("N", "k", "low", "high", "on", "eps")
    plain = call_at(sig, {"N": 4}, F32).scalars
    assert plain["k"] == 1
    assert plain["on"] is False
    assert plain["eps"] == 0.25
    assert 0 < plain["low"] < plain["high"] < 1
    assert call_at(sig, {"N": 4, "k": 7, "low": 0.5}, F32).scalars["low"] == 0.5


def test_the_least_call_keeps_scalars() -> None:
    sig = parse("f(x: T[N], k: int) -> (y: T[N-1])")
    least = smallest_call(sig, {"N": 1000, "k": 3}, F32)
    assert least is not None
    assert (least.binding.axes, least.scalars["k"]) == ({"N": 1}, 3)
    assert smallest_call(parse("f(x: T[N]) -> (y: T[N-100])"), {"N": 1000}, F32) is None


def test_element_types_are_float32_or_what_variables_allow() -> None:
    sig = parse("f(x: T[N], i: I[N]) -> (y: T[N]) where T in (f16, f32), I in (i32, i64)")
    assert type_choices(sig, None) == [{"T": DType.F32, "I": DType.I32}]
    assert type_choices(sig, ["float16", "i64"]) == [{"T": DType.F16, "I": DType.I32}, {"T": DType.F32, "I": DType.I64}]
    with pytest.raises(
        ArgumentError, match=r"f\(\) has no element type float64; it has: float16, float32, int32, int64"
    ):
        type_choices(sig, ["float64"])


def test_named_sizes_are_computed_and_ints_have_their_defaults() -> None:
    sig = parse("f(x: T[N], k: int, by: int = 2) -> (y: T[M]) where M = (N - k)//by")
    axes = call_at(sig, {"k": 4}, {"T": DType.F32}).binding.axes
    assert (axes["by"], axes["M"]) == (2, (axes["N"] - 4) // 2)
    padded = parse("f(x: T[N], at: list[int, 1], by: list[int, 2] = 3) -> (y: T[N + by[0] + by[1] + at[0]])")
    call = call_at(padded, {"at[0]": 4}, {"T": DType.F32})
    assert call.scalars == {"by": [3, 3], "at": [4]}
    call = call_at(padded, {"N": 8, "at": 2, "by": 1}, {"T": DType.F32})
    assert call.scalars == {"by": [1, 1], "at": [2]}
    assert (call.binding.axes["by[1]"], call.binding.axes["at[0]"]) == (1, 2)
    with pytest.raises(RequestError, match=r"f\(\): to is a list of ints, which a number can't set"):
        call_at(parse("f(x: T[N], to: list[int]) -> (y: T[N])"), {"to": 1}, {"T": DType.F32})
    with pytest.raises(RequestError) as caught:
        check_axes([sig], {"M": 3})
    assert str(caught.value) == ("f() computes M = (N-k)//by\n  likely fix: say what it is computed from: N, k, by")
