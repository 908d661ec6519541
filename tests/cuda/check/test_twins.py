"""The right twin of each planted fault, the same kernel with its mistake mended: nothing is found in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import opwright
from opwright.cuda import emulation
from tests.cuda.check.conftest import ORDERS, preambles, results, sections


@pytest.fixture(scope="module")
def twins() -> opwright.Operators:
    text = [*preambles("faults"), *(planted.mended for planted in sections("faults"))]
    return opwright.load_inline("twins_of_faults", cuda=text, backend=opwright.emulate(check=True))


@pytest.mark.slow
def test_passes_in_all_orders(planted: Any, arguments: Callable[..., list[Any]], twins: opwright.Operators) -> None:
    for extra in (0, 27):
        given = arguments(planted.mended, extra=extra)
        found = []
        for kind, seed in ORDERS:
            with emulation.order(kind, seed=seed):
                found.append(results(getattr(twins, planted.name), given))
        for other in found[1:]:
            for mine, first in zip(other, found[0], strict=True):
                torch.testing.assert_close(mine, first, atol=1e-4, rtol=1e-4)


def test_each_fault_has_one() -> None:
    planted = list(sections("faults"))
    assert len(planted) >= 60
    assert not [each.name for each in planted if each.mended.strip() == each.text.strip()]
