"""Domains that the caller gives: what they are read from, and that draws obey them."""

from __future__ import annotations

import random
from typing import Any, get_args

import pytest
import torch

import opwright
from opwright.check.calls.cases import Case, Values, torch_dtype
from opwright.check.calls.given_domains import with_domains
from opwright.check.calls.target_operator import TargetOperator
from opwright.signature import parse

SIGNATURE = "f(x: T[N], i: i64[N], k: int, a: float, flag: bool) -> (y: T[N])"


def operator(name: str = "f") -> TargetOperator:
    signature = parse(SIGNATURE.replace("f(", f"{name}(", 1))
    return TargetOperator(name, signature, lambda x, *_: x)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ((0, 1), "[0, 1]"),
        ("0:1", "[0, 1]"),
        ("-1e-3:inf", "[-0.001, inf)"),
        (" (0, 1]", "(0, 1]"),
        ((-float("inf"), float("inf")), "(-inf, inf)"),
    ],
)
def test_forms(given: Any, shown: str) -> None:
    (changed,) = with_domains([operator()], {"x": given})
    assert str(changed.signature.tensors[0]) == f"x: T[N] in {shown}"
    assert changed.assumed == {"x"}


def test_one_of_several_operators() -> None:
    first, second = with_domains([operator("f"), operator("g")], {"g.k": (1, 4), "a": "(0, 1)"})
    assert [str(s.domain) for s in first.signature.scalars[:2]] == ["None", "(0, 1)"]
    assert [str(s.domain) for s in second.signature.scalars[:2]] == ["[1, 4]", "(0, 1)"]


@pytest.mark.parametrize("given", ["", "0", "1:0", "[0, N)", "[0, 1] more", "x:y", 3, (1,), "(0, 0)"])
def test_what_is_no_domain(given: Any) -> None:
    with pytest.raises(
        ValueError, match=r"check\(\) got the domain .* for x, expected its ends, as 0:1, or an interval"
    ):
        with_domains([operator()], {"x": given})


@pytest.mark.parametrize("name", ["z", "g.x", "flag"])
def test_an_input_that_is_not_there_or_has_no_order(name: str) -> None:
    with pytest.raises(ValueError, match=rf"got a domain for '{name}', expected one of the inputs: f.x, f.i, f.k, f.a"):
        with_domains([operator()], {name: (0, 1)})


@pytest.mark.parametrize("values", get_args(Values))
@pytest.mark.parametrize("interval", ["[0, 1]", "(0, 1)", "(-inf, inf)", "[2, inf)", "[-inf, -1.5)"])
def test_tensors_have_values_in_it_in_every_element_type(values: Values, interval: str) -> None:
    (changed,) = with_domains([operator()], {"x": interval})
    (domain,) = (t.domain for t in changed.signature.tensors if t.name == "x")
    assert domain is not None
    seen = torch.zeros(0, dtype=torch.float64)
    for types in changed.signature.instances():
        for seed in range(60):
            case = Case(changed.sample(random.Random(seed), types=types), seed=seed, values=values)
            x = case.arguments()["x"]
            assert x.dtype == torch_dtype(types["T"])
            seen = torch.cat([seen, x.double().flatten()])
    low, high = domain.interval({}).conditions(seen, whole=False)
    assert bool((low & high).all())
    ends = [float(end) for end in interval.strip("[]()").split(",")]
    closed = [interval[0] == "[", interval[-1] == "]"]
    has_ends = [bool((seen == end).any()) for end in ends]
    assert has_ends == ([False, False] if values == "uniform" else closed)


def root(x: torch.Tensor, k: int) -> torch.Tensor:
    if (x < 0).any() or not 1 <= k <= 3:
        raise ValueError("outside")
    return torch.sqrt(x) * k


def test_check_draws_from_them() -> None:
    options: Any = {"signature": "root(x: f64[N], k: int) -> (y: f64[N])", "only": ["sizes", "determinism"]}
    assert not opwright.check(root, **options).ok
    assert opwright.check(root, domains={"x": (0, float("inf")), "k": (1, 3)}, **options).ok


def stretched(x: torch.Tensor, k: int, j: int) -> torch.Tensor:
    if k == 0 or j < 0:
        raise ZeroDivisionError("division by zero")
    return 2 * x


def test_what_fails_for_zero_or_less_is_told_a_domain() -> None:
    options: Any = {"signature": "f(x: f64[N], k: int, j: int in [0, 4]) -> (y: f64[N])", "only": ["determinism"]}
    (finding,) = opwright.check(stretched, **options).findings
    assert finding.kind == "raises"
    assert finding.message.endswith("likely fix: if k can't be 0, the signature says so: k: int in [1, inf)")
    assert opwright.check(stretched, domains={"k": "[-3, 0)"}, **options).ok
