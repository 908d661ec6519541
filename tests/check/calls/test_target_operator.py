"""What is no result, of an operator or of its reference, is told as that."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import opwright
from opwright.check.calls.reproducer import callable_expression

_FEW: dict[str, Any] = {"only": ("agreement", "sizes", "determinism", "scalars"), "level": "quick"}
_ONE = "h(x: T[N], p: float) -> (y: T[N]) where T in (f32)"
_TWO = "h(x: T[N], p: float) -> (y: T[N], z: T[N]) where T in (f32)"


def half(x: Tensor, _: float) -> Tensor:
    return x / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signature", "function", "kind", "says"),
    [
        (_ONE, lambda *_: None, "wrong-results", "h returned None, expected 1 tensor, y"),
        (_ONE, lambda *_: 1.5, "wrong-results", "h returned a float, expected 1 tensor, y"),
        (_ONE, lambda x, _: (x, x), "wrong-results", "h returned 2 results (Tensor, Tensor), expected 1 tensor, y"),
        (_TWO, half, "wrong-results", "h returned 1 tensor, expected 2 tensors, y, z"),
        (_ONE, lambda x, _: x.double() / 2, "wrong-dtype", "y is float64, expected float32"),
        (_ONE, lambda x, _: (x / 2).long(), "wrong-dtype", "y is int64, expected float32"),
    ],
)
def test_an_operator(signature: str, function: Callable[..., Any], kind: str, says: str) -> None:
    for reference in (None, half):
        report = opwright.check(function, reference, signature=signature, **_FEW)
        assert report.kinds == {kind}
        assert all(says in finding.message and finding.reproducer for finding in report.findings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signature", "reference", "says"),
    [
        (_ONE, lambda *_: None, "returned None, expected 1 tensor, y\n  likely fix: it has no `return`"),
        (_ONE, lambda *_: 1.5, "returned a float, expected 1 tensor, y"),
        (_ONE, lambda x, _: (x, x), "returned 2 results (Tensor, Tensor), expected 1 tensor, y"),
        (_TWO, half, "returned 1 tensor, expected 2 tensors, y, z"),
        (_ONE, lambda _: None, "takes 1 positional argument but 2 were given"),
        (_ONE, torch, "raised TypeError: 'module' object is not callable"),
        (_ONE, lambda x, _: half(x, x.max(1)), "raised IndexError: Dimension out of range"),
    ],
)
def test_a_reference(signature: str, reference: Any, says: str) -> None:
    """Said once, of all checks that ask it, and without a call of the operator: that one is right."""
    function = half if signature == _ONE else lambda x, p: (half(x, p), half(x, p))
    report = opwright.check(function, reference, signature=signature, **_FEW)
    (finding,) = report.findings
    assert (finding.kind, finding.reproducer) == ("bad-reference", "")
    assert re.match(r"the reference \S.*, called with x: float64 of shape \(\d,\), p: [-.\de]+, ", finding.message)
    assert says in finding.message
    status = {outcome.check: outcome.status for outcome in report}
    assert status == {"agreement": "failed", "scalars": "skipped", "sizes": "passed", "determinism": "passed"}


@pytest.mark.slow
def test_what_works_in_place_may_return_it() -> None:
    options: dict[str, Any] = {"only": ("agreement", "determinism"), "level": "quick"}
    assert opwright.check(Tensor.add_, Tensor.add_, signature="a(y: T[N]!, x: T[N])", **options).ok


def test_a_float64_is_shown_with_the_digits_that_differ() -> None:
    report = opwright.check(
        lambda x: x * (1 + 1e-13),
        lambda x: x,
        signature="s(x: f64[N]) -> (y: f64[N])",
        only=("agreement",),
        level="quick",
    )
    (finding,) = report.findings
    got, expected = re.findall(r"element \[\d\] is (\S+), expected (\S+) ", finding.message)[0]
    assert float(got) == float(expected) * (1 + 1e-13) != float(expected)


def test_a_reproducer_says_which_callable() -> None:
    """A lambda, whose argument has the name that it would get; it runs, once that name is given."""
    function, signature = lambda function: function.neg(), "n(function: f64[N]) -> (y: f64[N])"
    (finding,) = opwright.check(function, lambda x: x, signature=signature, only=("agreement",), level="quick").findings
    line = function.__code__.co_firstlineno
    named = (
        f"# function_: {__name__}.test_a_reproducer_says_which_callable.<locals>.<lambda>, defined at {__file__}:{line}"
    )
    assert finding.reproducer.splitlines()[1] == named
    assert finding.reproducer.splitlines()[-1] == "print(function_(function))"
    assert callable_expression(functools.partial(torch.add, 1), "partial")[1].startswith(
        "# partial: functools.partial(<built-in"
    )
