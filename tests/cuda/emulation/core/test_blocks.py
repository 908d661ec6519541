"""Grids, blocks, barriers and shared memory, against NumPy, in every order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.cuda.emulation.core.conftest import Program

pytestmark = pytest.mark.usefixtures("any_order")
Programs = Callable[[str], Program]


def test_every_thread_of_three_dimensions_runs_once(program: Programs) -> None:
    out = np.zeros((2, 3, 4, 3, 4, 5), np.int32)
    program("blocks")("places", out)
    bz, by, bx, tz, ty, tx = np.indices(out.shape)
    np.testing.assert_array_equal(out, bz * 100000 + by * 10000 + bx * 1000 + tz * 100 + ty * 10 + tx)


@pytest.mark.parametrize(("x", "y"), [(1, 1), (7, 1), (32, 1), (33, 3), (16, 16), (1024, 1)])
def test_values_go_round_a_block(program: Programs, x: int, y: int) -> None:
    values = np.arange(5 * x * y, dtype=np.int32).reshape(5, x * y)
    out = np.zeros_like(values)
    program("blocks")("rotated", values, out, 5, x, y, 9)
    np.testing.assert_array_equal(out, np.roll(values, -9, axis=1))


@pytest.mark.parametrize("threads", [1, 45, 256])
@pytest.mark.parametrize("yes", ["none", "all", "some"])
def test_barriers_with_predicates(program: Programs, threads: int, yes: str) -> None:
    given = {"none": np.zeros(threads), "all": np.ones(threads), "some": np.arange(threads) % 3 == 1}[yes]
    given = given.astype(np.int32) * 4
    out = np.zeros(threads, np.int32)
    program("blocks")("predicate", given, out, threads)
    expected = 10000 * given.all() + 1000 * given.any() + (given != 0).sum()
    np.testing.assert_array_equal(out, np.full(threads, expected))


@pytest.mark.parametrize("n", [1, 31, 64, 100, 128])
def test_a_barrier_waits_only_for_threads_that_still_run(program: Programs, n: int) -> None:
    out = np.zeros(128, np.int32)
    program("blocks")("early_return", out, n)
    np.testing.assert_array_equal(out[:n], np.arange(n)[::-1] + 2)


def test_barriers_at_two_lines_are_one_barrier(program: Programs) -> None:
    out = np.zeros(96, np.int32)
    program("blocks")("branched", out)
    np.testing.assert_array_equal(out, np.arange(96)[::-1])


def test_static_shared_constant_and_device_variables(program: Programs) -> None:
    out, visits = np.zeros(10), np.zeros(2, np.int32)
    program("blocks")("variables", out, visits, 10)
    np.testing.assert_array_equal(out, 2016.0 * (np.arange(10) % 4 + 1) + 2016)
    np.testing.assert_array_equal(visits, [5, 5])


def test_arguments_are_copies_for_every_thread(program: Programs) -> None:
    out = np.zeros(32, np.int32)
    program("blocks")("consumed", out)
    np.testing.assert_array_equal(out, [sum(range(i, 1000, 32)) for i in range(32)])
