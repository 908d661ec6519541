"""A wrong result is named by when it is wrong; where that can't be told it stays a wrong value."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import opwright

SIGNATURE = "f(x: T[B, N]) -> (y: T[B, N]) where T in (f32, f64)"


def right(x: Tensor) -> Tensor:
    return 2 * x


def broken(holds: Callable[[Tensor], bool]) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        return 2.5 * x if holds(x) else 2 * x

    return function


CASES: list[tuple[str, str, Callable[[Tensor], bool]]] = [
    ("wrong-element-type", "only for T = f64", lambda x: x.dtype == torch.float64),
    ("wrong-when-strided", "only where arguments are strided", lambda x: not x.is_contiguous()),
    ("wrong-for-size-1", "only where N is 1", lambda x: x.shape[1] == 1),
    ("wrong-in-tail", "only where B is no multiple of 2", lambda x: x.shape[0] % 2 == 1),
    ("wrong-in-tail", "only where N is no multiple of 8", lambda x: x.shape[1] % 8 != 0),
    ("wrong-when-large", "only where N is 64 or more", lambda x: x.shape[1] > 32),
    ("wrong-value", "", lambda x: float(x.sum()) > 0),
]


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "text", "holds"), CASES, ids=[f"{kind} {text}" for kind, text, _ in CASES])
def test_when(kind: str, text: str, holds: Callable[[Tensor], bool]) -> None:
    report = opwright.check(broken(holds), right, signature=SIGNATURE, level="quick", only=("agreement",))
    assert report.kinds == {kind}, str(report)
    assert report.findings[0].message.endswith(text)
    assert text or "only" not in report.findings[0].message
