"""Domains: what is in them, and what calls are drawn from them."""

from __future__ import annotations

import math
import random

import pytest

from opwright.errors import ArgumentError
from opwright.signature import Binding, DType, Sample, TensorInfo, bind, parse, sample, sample_at
from opwright.signature.domains import Domain, closed
from opwright.signature.expr import Axis, Constant

N = Axis("N")
INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("[0, 1]", (0.0, -0.0, 1.0, 0.5), (-1e-300, math.nextafter(1, 2), INF, -INF, NAN)),
        ("(0, 1)", (1e-300, 0.5), (0.0, 1.0, NAN)),
        ("(-inf, inf)", (0.0, 1e308, -1e308), (INF, -INF, NAN)),
        ("[-inf, inf]", (0.0, INF, -INF), (NAN,)),
        ("[-1.5e0, inf)", (-1.5, 0.0), (-1.6, INF, NAN)),
    ],
)
def test_floats(text: str, inside: tuple[float, ...], outside: tuple[float, ...]) -> None:
    domain = parse(f"f(x: T[N], a: float in {text})").scalars[0].domain
    assert domain is not None
    interval = domain.interval({})
    assert [value in interval for value in inside] == [True] * len(inside)
    assert [value in interval for value in outside] == [False] * len(outside)


@pytest.mark.parametrize(
    ("domain", "first", "last"),
    [
        (Domain(Constant(0), N), 0, 3),
        (Domain(Constant(0), N, high_closed=True), 0, 4),
        (Domain(Constant(0), N, low_closed=False), 1, 3),
        (Domain(-INF, Constant(-2), low_closed=False), -(2**63), -3),
        (Domain(N, INF), 4, 2**63 - 1),
    ],
)
def test_integers(domain: Domain, first: int, last: int) -> None:
    interval = domain.interval({"N": 4})
    assert (interval.first, interval.last) == (first, last)


def test_text() -> None:
    assert str(closed(0, 1)) == "[0, 1]"
    assert str(closed(-INF, 0.5)) == "(-inf, 0.5]"
    assert Domain(Constant(1), N).described({"N": 3}) == "[1, N) = [1, 3)"
    signature = parse("f(x: T[N] in [0, 1], k: int in [-1, 2*N) = 1, a: float in (0, 2.5] = 1) -> (y: T[N])")
    assert str(signature).startswith("f(x: T[N] in [0, 1], k: int in [-1, 2*N) = 1, a: float in (0, 2.5] = 1.0)")


def test_an_end_that_is_divided_by_zero_or_beyond_64_bits() -> None:
    signature = parse("f(x: T[N], k: int, j: int in [0, N//k]) -> (y: T[N])")
    x = TensorInfo((4,), DType.F32)
    with pytest.raises(ArgumentError, match=r"the domain of j is \[0, N//k\]: division by zero in N//k"):
        bind(signature, {"x": x}, scalars={"k": 0, "j": 0})
    large = parse("f(x: T[N], k: int, j: int in [0, N*k]) -> (y: T[N])")
    with pytest.raises(ArgumentError, match=r"the domain of j is \[0, N\*k\] = \[0, \d+\]: its sizes exceed 64 bits"):
        bind(large, {"x": x}, scalars={"k": 2**62, "j": 0})


def test_a_backward_sees_the_axes_of_its_forward() -> None:
    signature = parse("f_backward(grad_y: T[N], k: int in [0, M]) -> (grad_x: T[N])")
    assert signature.axes == ("N", "M")
    with pytest.raises(ArgumentError, match=r"k is 4, expected an int in \[0, M\] = \[0, 3\]"):
        bind(signature, {"grad_y": TensorInfo((2,), DType.F32)}, axes={"M": 3}, scalars={"k": 4})


def draws(text: str, count: int = 300) -> list[Sample]:
    signature, rng = parse(text), random.Random(0)
    return [sample(signature, rng) for _ in range(count)]


def test_what_is_drawn_lies_in_domains_ends_included() -> None:
    drawn = draws("f(x: T[C], groups: int in [1, C], a: float in [0, 0.5], b: float in (0, inf)) -> (y: T[C])")
    groups = [(one.scalars["groups"], one.binding.axes["C"]) for one in drawn]
    assert all(1 <= g <= c for g, c in groups)
    assert any(g == c > 1 for g, c in groups)
    floats = [one.scalars["a"] for one in drawn]
    assert {0.0, 0.5} < set(floats)
    assert all(0 <= a <= 0.5 for a in floats)
    assert all(0 < one.scalars["b"] < INF for one in drawn)


def test_sizes_and_ints_that_limit_one_another() -> None:
    drawn = draws("f(x: T[C], first: int in [-3, C], last: int in [first, first+2], n: int in [100, 105]) -> (y: T[n])")
    assert {one.binding.axes["n"] for one in drawn} <= set(range(100, 106))
    for one in drawn:
        first, last = one.scalars["first"], one.scalars["last"]
        assert -3 <= first <= one.binding.axes["C"]
        assert first <= last <= first + 2


def test_ints_without_a_domain_are_zero_negative_and_large_sometimes() -> None:
    ints = [one.scalars["k"] for one in draws("f(x: T[N], k: int) -> (y: T[N])")]
    assert {0, -1, 1, 8, 1000} < set(ints)
    assert min(ints) < -1
    assert sum(1 <= k <= 8 for k in ints) > len(ints) / 2


def test_tensors_are_drawn_away_from_the_ends() -> None:
    for one in draws("f(x: T[N] in [0, 1], i: i64[N] in (-1, 3], j: i32[N] in [5, inf)) -> (y: T[N])", 20):
        x, i, j = (one.tensors[name] for name in "xij")
        assert x is not None
        assert i is not None
        assert j is not None
        assert 0 < x.low < x.high < 1
        assert str(x.interval) == "[0, 1]"
        assert (i.low, i.high) == (0, 4)
        assert 5 <= j.low < j.high


def test_ordinary_values_are_in_domains() -> None:
    signature = parse("f(x: T[C], k: int in [2, C], a: float in [3, 4], b: float in (-inf, -1]) -> (y: T[C])")
    values = sample_at(signature, Binding({"C": 5}, None, {"T": DType.F32})).scalars
    assert values["k"] == 2
    assert 3 < values["a"] < 4
    assert values["b"] < -1
