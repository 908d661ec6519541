"""Cooperative groups, against NumPy, in every order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.cuda.emulation.core.conftest import Program

pytestmark = pytest.mark.usefixtures("any_order")
Programs = Callable[[str], Program]
VALUES = np.array([(7 * i + 3) % 11 for i in range(64)], np.int32)


@pytest.mark.parametrize("size", [32, 8, 2])
def test_tiles(program: Programs, size: int) -> None:
    out = np.zeros((64, 8), np.int32)
    program("groups")(f"tiles{size}", VALUES, out)
    for group, (mine, rows) in enumerate(zip(VALUES.reshape(-1, size), out.reshape(-1, size, 8), strict=True)):
        bits = np.packbits(np.resize(mine & 1, 32) * (np.arange(32) < size), bitorder="little").view(np.int32)[0]
        expected = np.stack([
            np.arange(size) + 100 * group + 10000 * (64 // size),
            np.full(size, mine.sum()),
            np.full(size, mine.max()),
            mine.cumsum(),
            mine.cumsum() - mine,
            np.full(size, mine[1]),
            np.full(size, bits),
            np.full(size, (mine > 9).any() + 2 * (mine > 0).all()),
        ], axis=1)  # fmt: skip
        np.testing.assert_array_equal(rows, expected)


def test_groups_whose_type_is_forgotten(program: Programs) -> None:
    out = np.zeros(9, np.int32)
    program("groups")("any_groups", out)
    np.testing.assert_array_equal(out, [*np.arange(128).reshape(8, 16).sum(1), 8128])


def test_coalesced_threads(program: Programs) -> None:
    out = np.zeros((32, 6), np.int32)
    program("groups")("coalesced_lanes", out)
    lanes = np.arange(1, 32, 4)
    rank = np.arange(8)
    expected = np.zeros_like(out)
    expected[lanes] = np.stack([
        rank + 800,
        np.full(8, lanes.sum()),
        lanes.cumsum(),
        np.where(rank + 2 < 8, lanes + 8, lanes),
        np.full(8, lanes[2] + 3 + 4),
        np.full(8, 4),
    ], axis=1)  # fmt: skip
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("blocks", "threads"), [(1, 33), (5, 64), (40, 256)])
def test_the_grid_waits_for_all_its_blocks(program: Programs, blocks: int, threads: int) -> None:
    a, b = np.arange(blocks * threads, dtype=np.int32), np.zeros(blocks * threads, np.int32)
    expected = np.roll(a, -6 * threads) + 6
    program("groups")("neighbour", a, b, 6, blocks, threads)
    np.testing.assert_array_equal(a, expected)


def test_a_grid_too_large_to_be_held_at_once(program: Programs) -> None:
    a = np.zeros(1, np.int32)
    error = program("groups").error("neighbour", a, a, 1, 1000, 256)
    assert error.startswith("a cooperative launch holds all its blocks at once, at most 32768 threads;")
    assert "likely fix" in error


def test_a_block_that_never_comes_to_the_grids_barrier(program: Programs) -> None:
    error = program("groups").error("missing_block")
    assert "groups.cu:" in error.partition(": the grid")[0]
    assert "the grid can't go on: 2 blocks wait for it, and 1 have returned" in error


def test_a_grid_barrier_in_an_ordinary_launch(program: Programs) -> None:
    error = program("groups").error("not_cooperative")
    assert error.startswith("the kernel waits for the whole grid, but its launch isn't cooperative")
    assert "cudaLaunchCooperativeKernel" in error
