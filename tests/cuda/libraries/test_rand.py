"""cuRAND's host interface: the numbers of XORWOW and Philox are cuRAND's, the others have the right distribution.

The numbers below were drawn by `curandCreateGeneratorHost` of cuRAND 10.4.0 (nvidia-curand 10.4.0.35).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from .conftest import Library

XORWOW, MRG32K3A, MTGP32, MT19937, PHILOX = 101, 121, 141, 142, 161
BITS, UNIFORM, UNIFORM_DOUBLE, NORMAL, NORMAL_DOUBLE, LOG_NORMAL, LOG_NORMAL_DOUBLE, POISSON = range(8)
SEED = 987654321012345
PLACES = [0, 1, 2, 3, 4095, 4096, 262143, 262146]
DRAWN = {
    (XORWOW, BITS): [
        *(729625014, 4061609714, 153106156, 3991002712, 3219101799, 583617307, 1574388789, 1301383854),
    ],
    (XORWOW, UNIFORM_DOUBLE): [
        *(0.13588394245885277, 0.6724312770474781, 0.11775496835045157, 0.7380276522735114, 0.5153368264407279),
        *(0.3059498367494558, 0.8091936340216741, 0.5917400200368101),
    ],
    (XORWOW, NORMAL): [
        *(1.419283390045166, 1.2373244762420654, -0.29533904790878296, -0.15653744339942932, 0.5066468119621277),
        *(-0.5842869877815247, -0.4685354232788086, -0.6481981873512268),
    ],
    (XORWOW, NORMAL_DOUBLE): [
        *(1.8757846920770727, -0.6879971167475337, -0.30757354276365034, -0.836127527220346, -1.1447927504042836),
        *(-0.6217099483432905, 1.0715457371248487, -1.485450960032595),
    ],
    (PHILOX, BITS): [
        *(3445913044, 774742771, 342678107, 4241787232, 1520816067, 809966781, 2586782401, 1785440319),
    ],
    (PHILOX, UNIFORM_DOUBLE): [
        *(0.18038395609226626, 0.9876180746130774, 0.5729232671250337, 0.32523223905923965, 0.8346911535283839),
        *(0.10190422535460869, 0.7941629459986081, 0.6636927650412794),
    ],
    (PHILOX, NORMAL): [
        *(0.6012219786643982, 0.281144380569458, -0.17477118968963623, 2.2419345378875732, -1.3865461349487305),
        *(1.0912426710128784, -0.8955563306808472, 1.1796826124191284),
    ],
    (PHILOX, NORMAL_DOUBLE): [
        *(-0.14384057378522472, 1.8451680439256173, 0.939726248228527, -0.4805429735140006, 1.0186704940497935),
        *(2.13237231505527, 0.08772561711781574, -0.505396001606526),
    ],
}
# Four of BITS after 5000 of NORMAL, three of UNIFORM_DOUBLE after 5000 of them, three of BITS from offset 70000 on.
AFTER = {
    XORWOW: (
        [657657889, 1117923727, 19708775, 3729429357],
        [0.1618044691881308, 0.8536977168697641, 0.35619540248152365],
        [3649861982, 3578190550, 3018309917],
    ),
    PHILOX: (
        [609949502, 3092698905, 3667485890, 3149068552],
        [0.7200750251874763, 0.733200065045047, 0.8258300734931212],
        [2886301764, 2401032465, 4163651617],
    ),
}
DTYPES = {
    BITS: torch.uint32,
    UNIFORM: torch.float32,
    NORMAL: torch.float32,
    LOG_NORMAL: torch.float32,
    POISSON: torch.uint32,
}


@pytest.fixture(scope="module")
def rand(built: Callable[[str], Library]) -> Library:
    """Its functions."""
    return built("rand_functions")


def drawn(
    rand: Library,
    generator: int,
    kind: int,
    count: int,
    mean: float = 0.0,
    deviation: float = 1.0,
    *,
    seed: int = SEED,
    offset: int = 0,
    after: tuple[int, int] = (BITS, 0),
) -> torch.Tensor:
    """Numbers of a new generator, after others."""
    first, into = torch.empty(after[1], dtype=torch.float64), torch.empty(count, dtype=DTYPES.get(kind, torch.float64))
    rand.right("generated", generator, seed, offset, after[0], after[1], first, kind, count, into, mean, deviation)
    return into


@pytest.mark.parametrize(("generator", "kind"), list(DRAWN))
def test_the_numbers_are_curands(rand: Library, generator: int, kind: int) -> None:
    got = drawn(rand, generator, kind, 262148).double()[PLACES]
    expected = torch.tensor(DRAWN[generator, kind], dtype=torch.float64)
    exact = kind in (BITS, UNIFORM_DOUBLE)  # the others go through a logarithm
    torch.testing.assert_close(got, expected, rtol=0, atol=0 if exact else 1e-6 if kind == NORMAL else 1e-13)


@pytest.mark.parametrize("generator", list(AFTER))
def test_a_call_goes_on_where_the_last_one_ended(rand: Library, generator: int) -> None:
    bits, doubles, later = AFTER[generator]
    assert drawn(rand, generator, BITS, 4, after=(NORMAL, 5000)).tolist() == bits
    assert drawn(rand, generator, UNIFORM_DOUBLE, 3, after=(UNIFORM_DOUBLE, 5000)).tolist() == doubles
    assert drawn(rand, generator, BITS, 3, offset=70000).tolist() == later


@pytest.mark.parametrize("generator", [XORWOW, MRG32K3A, MTGP32, MT19937, PHILOX])
def test_distributions(rand: Library, generator: int) -> None:
    count = 40000

    def assert_moments(kind: int, mean: float, deviation: float, *given: float) -> None:
        x = drawn(rand, generator, kind, count, *given).double()
        assert abs(x.mean() - mean) < 5 * deviation / math.sqrt(count), kind
        assert abs(x.std() / deviation - 1) < 0.05, kind

    for kind in (UNIFORM, UNIFORM_DOUBLE):
        assert_moments(kind, 0.5, 1 / math.sqrt(12))
        x = drawn(rand, generator, kind, count)
        assert x.min() > 0
        assert x.max() <= 1
    for kind in (NORMAL, NORMAL_DOUBLE):
        assert_moments(kind, 3, 2, 3.0, 2.0)
    for kind in (LOG_NORMAL, LOG_NORMAL_DOUBLE):
        mean = math.exp(0.5 + 0.25**2 / 2)
        assert_moments(kind, mean, mean * math.sqrt(math.exp(0.25**2) - 1), 0.5, 0.25)
    assert_moments(POISSON, 5, math.sqrt(5), 5.0)
    bits = drawn(rand, generator, BITS, count).to(torch.int64)
    for bit in range(32):
        assert abs(float((bits >> bit & 1).double().mean()) - 0.5) < 0.015, bit


def test_seeds_differ_and_types_differ(rand: Library) -> None:
    firsts = [int(drawn(rand, kind, BITS, 1, seed=seed)) for kind in (101, 121, 141, 142, 161) for seed in (1, 2)]
    assert len(set(firsts)) == len(firsts)


def test_what_is_wrong_is_a_status(rand: Library) -> None:
    assert rand("refused") == 0


def test_nccl_with_one_rank(rand: Library) -> None:
    x, y = torch.randn(9), torch.zeros(9)
    assert rand("one_rank", x, y, 9) == 0
    assert torch.equal(x, y)
