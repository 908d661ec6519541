"""Atomic functions on global and shared memory, against NumPy, in every order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.cuda.emulation.core.conftest import Program

pytestmark = pytest.mark.usefixtures("any_order")
Programs = Callable[[str], Program]
BLOCKS = 20
TYPES = {
    "int": np.int32,
    "unsigned": np.uint32,
    "int64": np.int64,
    "uint64": np.uint64,
    "float": np.float32,
    "double": np.float64,
}


def results(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """What eight cells hold after every thread has brought its value."""
    out: np.ndarray = start.copy()
    with np.errstate(over="ignore"):
        out[0] += values.sum(dtype=values.dtype)
        out[1] -= values.sum(dtype=values.dtype)
    out[2:5] = min(start[2], values.min()), max(start[3], values.max()), 7
    if values.dtype.kind in "iu":
        one = values.dtype.type(1)
        for value in values:
            out[5] &= ~(one << value % values.dtype.type(20))
            out[6] |= one << value % values.dtype.type(24)
            out[7] ^= value
    return out


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_every_operation(program: Programs, name: str) -> None:
    dtype = np.dtype(TYPES[name])
    start = np.array([5, 3, 60, 40, 1, 0x7FFFFFFF, 0, 12], dtype)
    out = np.zeros((1 + BLOCKS, 8), dtype)
    out[0] = start
    program("memory")(f"atomics_{name}", out, start, BLOCKS)
    values = np.arange(100 * BLOCKS).astype(dtype) - dtype.type(0 if dtype.kind in "iu" else 50)
    np.testing.assert_array_equal(out[0], results(values, start))
    for block in range(BLOCKS):
        np.testing.assert_array_equal(out[1 + block], results(values[100 * block : 100 * (block + 1)], start))


@pytest.mark.slow
def test_half_and_bfloat16(program: Programs) -> None:
    half, bfloat = np.zeros(1, np.float16), np.zeros(1, np.uint16)
    program("memory")("atomics_half", half, bfloat)
    assert half[0] == 2048
    assert (bfloat.astype(np.uint32) << 16).view(np.float32)[0] == 256


def test_counters_that_wrap(program: Programs) -> None:
    out = np.array([0, 2], np.uint32)
    program("memory")("wrapped", out, 9)
    assert out.tolist() == [448 % 10, (2 - 448) % 10]


def test_compare_and_swap(program: Programs) -> None:
    total, small = np.zeros(1), np.zeros(1, np.uint16)
    program("memory")("exchanged", total, small)
    assert total[0] == 1600
    assert small[0] == 3200


def test_threads_that_wait_for_a_lock_let_its_holder_go_on(program: Programs) -> None:
    counter = np.zeros(4, np.int32)
    program("memory")("lock", counter, None)
    assert counter.tolist() == [64] * 4


def test_the_last_block_sees_what_the_others_wrote(program: Programs) -> None:
    given, parts, out = np.arange(5000, dtype=np.float32), np.zeros(40, np.float32), np.zeros(1, np.float32)
    for _ in range(2):
        program("memory")("last", given, parts, out, 5000)
        assert out[0] == pytest.approx(given.sum(dtype=np.float64), rel=1e-6)
