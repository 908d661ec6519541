"""Every function of mathematics that the headers declare has a test."""

from __future__ import annotations

import pytest

from tests.legacy import test_blas, test_random
from tests.legacy.cases import CASES
from tests.legacy.headers import TYPES, declared, operations
from tests.legacy.th import DTYPES

# Functions of the structs themselves: tests/legacy/test_structure.py and its neighbours.
_GENERIC = "THTensorMath.h", "THTensorCopy.h", "THTensorRandom.h"


@pytest.mark.parametrize("kind", TYPES)
def test_every_function_of_mathematics_is_tested(kind: str) -> None:
    dtype = next(dtype for dtype, name in DTYPES.items() if name == kind)
    tested = {case.name for case in CASES if dtype in case.dtypes} | test_random.FUNCTIONS
    assert sorted(operations(of=kind, headers=_GENERIC) - tested) == []


def test_every_function_of_blas_is_tested() -> None:
    names = {name.partition("Blas_")[2] for name in declared() if "Blas_" in name}
    assert names == test_blas.FUNCTIONS
    assert {f"TH{kind}Blas_{name}" for kind in TYPES for name in names} <= declared()
