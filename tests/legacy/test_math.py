"""Every mathematical function of TH against PyTorch: all element types, layouts, results, 0 to 5 dimensions."""

from __future__ import annotations

import itertools
import zlib

import pytest

from tests.legacy.case import Case
from tests.legacy.cases import CASES
from tests.legacy.th import TH, th
from tests.legacy.twins import check_call

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom")  # PyTorch's own, of one value
QUICK, WIDE = 6, 200


@pytest.fixture(scope="module")
def lib() -> TH:
    return th()


def _check(lib: TH, case: Case, count: int) -> None:
    for dtype, number in itertools.product(case.dtypes, range(count)):
        seed = zlib.crc32(f"{case.name} {dtype} {number}".encode())
        try:
            check_call(lib, case, dtype, seed)
        except AssertionError as error:
            raise AssertionError(f"{case.name}, {dtype}, seed {seed}: {error}") from error


@pytest.mark.sampled(5)
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_pytorch_does_it(case: Case, lib: TH) -> None:
    _check(lib, case, QUICK)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_pytorch_does_it_widely(case: Case, lib: TH) -> None:
    _check(lib, case, WIDE)
