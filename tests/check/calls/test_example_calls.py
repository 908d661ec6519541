"""Example calls: operators whose arguments have related sizes are checked on them and on variations."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright.check.calls.cases import Case
from opwright.check.calls.example_calls import with_examples
from opwright.check.calls.target_operator import TargetOperator
from opwright.errors import SourceError
from opwright.signature import parse

SIGNATURE = "pool(x: T[B, N], w: f32[K]?, at: i64[M], k: int = 2) -> (y: T[B, N]) where T in (f32, f64)"
CALL = (torch.rand(2, 12) + 3, None, torch.tensor([4, 7]), 3)


def operator(name: str = "pool") -> TargetOperator:
    return TargetOperator(name, parse(SIGNATURE.replace("pool(", f"{name}(", 1)), lambda x, *_: x)


def samples(examples: Any, count: int = 60) -> list[Case]:
    (changed,) = with_examples([operator()], examples, "examples")
    rng = random.Random(0)
    return [Case(changed.sample(rng, sizes=(1,)), seed=seed) for seed in range(count)]


def test_sizes_and_scalars_stay_and_the_rest_varies() -> None:
    drawn = [case.arguments() for case in samples([CALL])]
    assert {tuple(given["x"].shape) for given in drawn} == {(2, 12)}
    assert {given["k"] for given in drawn} == {3}
    assert {given["w"] for given in drawn} == {None}
    assert {given["x"].dtype for given in drawn} == {torch.float32, torch.float64}
    assert {given["x"].is_contiguous() for given in drawn} == {True, False}
    assert all(given["x"].min() >= 3 and given["x"].max() <= 4 for given in drawn)
    assert all(given["at"].min() >= 4 and given["at"].max() <= 7 for given in drawn)
    as_given = [torch.equal(given["x"].float(), CALL[0]) for given in drawn]
    assert 0 < sum(as_given) < len(drawn)


def test_forms() -> None:
    by_name = {"x": torch.rand(1, 4), "at": torch.tensor([0])}
    for examples in ([by_name], lambda: [by_name], {"pool": [by_name]}, lambda: {"pool": [by_name]}):
        (case, *_) = samples(examples, 1)
        assert case.arguments()["k"] == 2
        assert case.arguments()["x"].shape == (1, 4)


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([(1.0, None, CALL[2])], "calls, call 0: x is float, expected a tensor"),
        ([CALL, {"z": 1}], "calls, call 1: there is no argument 'z'; the signature is pool"),
        ([(torch.rand(3), None, CALL[2])], "calls, call 0 doesn't fit: pool\\(\\): x has shape \\(3,\\)"),
        ({"other": [CALL], "pool": []}, "calls has calls of 'other', which isn't checked; the operators are: pool"),
    ],
)
def test_what_does_not_fit(examples: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        with_examples([operator()], examples, "calls")


def test_several_operators_need_names() -> None:
    with pytest.raises(SourceError, match=r"calls has a list of calls, and there are several operators: pool, other"):
        with_examples([operator(), operator("other")], [CALL], "calls")
    first, second = with_examples([operator(), operator("other")], {"other": [CALL]}, "calls")
    assert (len(first.examples), len(second.examples)) == (0, 1)


FILE = """
import torch

def windows(x, k):
    if x.shape[0] % k or x.shape[0] < 8:
        raise ValueError("sizes are related")
    return 2 * x

def examples():
    return [(torch.rand(8, dtype=torch.float64), 4), (torch.rand(12, dtype=torch.float64), 3)]
"""


@pytest.mark.slow
def test_check_uses_them(tmp_path: Path) -> None:
    (tmp_path / "calls.py").write_text(FILE)
    name = f"{tmp_path / 'calls.py'}:windows"
    options: Any = {"signature": "windows(x: f64[N], k: int) -> (y: f64[N])", "only": ["sizes", "agreement", "layouts"]}
    assert not opwright.check(name, **options).ok
    assert opwright.check(name, examples=f"{tmp_path / 'calls.py'}:examples", **options).ok
    assert opwright.check(name, name, **options).ok  # beside the reference
