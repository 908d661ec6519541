"""Reproducers draw large tensors like those that something was found in."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from opwright.check.calls.reproducer import random_tensor, reproducer
from opwright.check.calls.target_operator import TargetOperator
from opwright.signature import parse


def again(value: torch.Tensor) -> torch.Tensor:
    made: Any = eval(random_tensor(value, tuple(value.shape), ""), {"torch": torch})  # noqa: S307 - our own words
    assert isinstance(made, torch.Tensor)
    assert made.shape == value.shape
    assert made.dtype == value.dtype
    return made


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_what_is_floating_has_the_range(dtype: torch.dtype) -> None:
    made = again((torch.rand(50, 40) * 3 + 2).to(dtype))
    assert 1.9 < made.min() < 2.2
    assert 4.8 < made.max() < 5.1


def test_what_stands_out_is_among_it_as_often() -> None:
    value = torch.rand(100, 100) + 1
    value[value > 1.8] = float("nan")
    value[value < 1.1] = float("-inf")
    value[0, :50] = -0.0
    made = again(value)
    for same in (torch.isnan, torch.isneginf, lambda x: (x == 0) & torch.signbit(x)):
        assert same(made).any()
    finite = made[torch.isfinite(made) & (made != 0)]
    assert abs(finite.numel() / made.numel() - 0.7) < 0.05
    assert 1.05 < finite.min() < finite.max() < 1.85


@pytest.mark.parametrize(
    "value", [torch.full((80,), float("nan")), torch.zeros(80, 2), torch.full((99,), 2.5), torch.empty(0, 70)]
)
def test_all_alike(value: torch.Tensor) -> None:
    torch.testing.assert_close(again(value), value, equal_nan=True)


def test_whole_numbers_and_truth() -> None:
    assert again(torch.arange(100)).max() < 100
    assert again(torch.arange(100) > 50).any()


def test_lists_choices_and_none_are_python() -> None:
    signature = parse("f(x: T[N], w: list[float, 2], ws: list[float], mode: a | b = a, k: int?) -> (y: T[N])")
    operator = TargetOperator("f", signature, lambda *given: given, expression="f")
    infinity, arguments = float("inf"), {"x": torch.ones(2), "w": [float("inf"), 1.5], "ws": [], "mode": "b", "k": None}
    calls: dict[str, Any] = {"f": lambda *given: given}
    exec(reproducer(operator, arguments, "made = {call}"), calls)  # noqa: S102 - our own words
    assert calls["made"][1:] == ([infinity, 1.5], [], "b", None)
