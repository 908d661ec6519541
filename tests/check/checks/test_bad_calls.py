"""Calls that are mistakes by the signature's rules; what takes them all is told each."""

from __future__ import annotations

import re

import torch

from opwright.check.calls.target_operator import TargetOperator
from opwright.check.checks.bad_calls import bad_calls
from opwright.check.context import Context
from opwright.signature import parse


def _accepted(text: str) -> set[str]:
    signature = parse(text)
    operator = TargetOperator(signature.name, signature, lambda *_: torch.zeros(()), ours=True)
    found = list(bad_calls(Context(operator)))
    for line in {
        line for finding in found for line in finding.reproducer.splitlines() if line.startswith("x = torch.")
    }:
        assert re.fullmatch(r"x = torch\.(tensor|empty)\(.*\)", line)
    return {finding.message.partition(" (float")[0].partition(" (complex")[0].partition(",")[0] for finding in found}


def test_one_of_several_tensors_on_another_device_or_of_another_floating_type() -> None:
    shared = _accepted("a(x: T[N], w: T[N], i: i64[N]) -> (y: T[N]) where T in (f32, f64)")
    assert {f"{name} is on another device (meta)" for name in "xwi"} <= shared
    assert {f"{name} has another floating type" for name in "xw"} <= shared
    assert "i has another floating type" not in shared


def test_what_fits_by_itself_is_no_mistake() -> None:
    alone = _accepted("a(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
    assert alone >= {"x is a str", "x has another element type"}
    assert not alone & {"x is on another device (meta)", "x has another floating type"}
    assert "x has another floating type" in _accepted("a(x: f32[N]) -> (y: f32[N])")


def test_an_error_names_the_argument_as_a_word() -> None:
    def refuse(*_: object) -> None:
        raise TypeError("expected another")

    operator = TargetOperator("a", parse("a(x: f32[N]) -> (y: f32[N])"), refuse, ours=True)
    assert {finding.kind for finding in bad_calls(Context(operator))} == {"unnamed-argument"}


def test_scalars_of_another_kind_and_outside_their_domains() -> None:
    accepted = _accepted("a(x: f32[N], k: int in [1, N], a: float in (0, 1], flag: bool, n: int) -> (y: f32[n])")
    assert {"k is 'text'", "a is 'text'", "flag is 'text'", "k is 0", "a is 0.0", "a is nan"} < accepted
    assert "n is -1" in accepted
    assert not any("None" in text for text in accepted if not text.startswith("x"))


def test_elements_outside_the_domain_of_integers_but_not_of_floats() -> None:
    accepted = _accepted("a(x: f32[N] in [0, 1], i: i64[N] in [0, N)) -> (y: f32[N])")
    assert "i has an element that is -1" in accepted
    assert not any(text.startswith("x has an element") for text in accepted)
