"""Shuffles, votes, matches and reductions, against NumPy, in every order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.cuda.emulation.core.conftest import Program

pytestmark = pytest.mark.usefixtures("any_order")
Programs = Callable[[str], Program]
VALUES = np.array([(7 * i + 3) % 11 for i in range(64)], np.int32)
WARPS = VALUES.reshape(2, 32)


def sources(width: int) -> np.ndarray:
    """Which lane each of the four shuffles of the program reads, by lane."""
    lane = np.arange(32)
    first, rank = lane - lane % width, lane % width
    other = lane ^ 5
    return np.stack([
        first + (lane + 3) % width,
        np.where(rank < 2, lane, lane - 2),
        np.where(rank + 3 >= width, lane, lane + 3),
        np.where(other >= first + width, lane, other),
    ], axis=1)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("width", [32, 16, 8, 2])
@pytest.mark.parametrize(
    ("name", "dtype"), [("float", np.float32), ("double", np.float64), ("int64", np.int64), ("uint32", np.uint32)]
)
def test_shuffles(program: Programs, name: str, dtype: type, width: int) -> None:
    given: np.ndarray = (np.random.default_rng(0).random(192) * 2**31).astype(dtype)
    out: np.ndarray = np.zeros((6, 32, 4), dtype)
    program("warps")(f"shuffle_{name}", given, out, width)
    np.testing.assert_array_equal(out, given.reshape(6, 32)[:, sources(width)])


def test_votes_and_matches(program: Programs) -> None:
    out = np.zeros((2, 32, 6), np.uint32)
    program("warps")("vote", VALUES, out)
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for warp, rows in zip(WARPS, out, strict=True):
        assert (rows[:, 0] == (bits * (warp & 1)).sum()).all()
        assert (rows[:, 1] == (warp > 6).any()).all()
        assert (rows[:, 2] == 1).all()
        np.testing.assert_array_equal(rows[:, 3], [(bits * (warp == mine)).sum() for mine in warp])
    assert (out[0, :, 4:] == [0xFFFFFFFF, 1]).all()
    assert (out[1, :, 4:] == 0).all()


def test_reductions(program: Programs) -> None:
    given = VALUES - 5
    out = np.zeros((2, 32, 7), np.int32)
    program("warps")("reduce", given, out)
    for warp, rows in zip(given.reshape(2, 32), out, strict=True):
        operations = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
        expected = [warp.sum(), warp.min(), warp.max(), *(f.reduce(warp) for f in operations), -1]
        np.testing.assert_array_equal(rows, np.tile(expected, (32, 1)))


def test_lanes_part_and_meet_again(program: Programs) -> None:
    out = np.zeros(96, np.int32)
    program("warps")("half", out)
    low, high = sum(range(16)), sum(range(16, 32))
    np.testing.assert_array_equal(out, np.tile(np.repeat([low, high], 16) + 1000 * high, 3))


def test_a_lane_that_leaves_the_round_loses_nothing(program: Programs) -> None:
    out = np.zeros(32, np.int32)
    program("warps")("left_round", out)
    mine = np.arange(32) + (np.arange(32) == 20)
    for _ in range(2):
        mine = mine + np.append(mine[1:], mine[-1])
    np.testing.assert_array_equal(out, mine)


def test_activemask_is_of_the_lanes_in_one_branch(program: Programs) -> None:
    out = np.zeros(64, np.uint32)
    program("warps")("activemask", out)
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for lanes, masks in zip(np.arange(64).reshape(2, 32), out.reshape(2, 32), strict=True):
        third = lanes % 3 == 0
        np.testing.assert_array_equal(masks, np.where(third, bits[third].sum(), bits[~third].sum()))


def test_syncwarp_orders_shared_memory(program: Programs) -> None:
    out = np.zeros(64, np.int32)
    program("warps")("through_memory", out)
    np.testing.assert_array_equal(out, np.repeat([2 * 31, 2 * 63], 32))
