"""cub's block, warp and device primitives, against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.cuda.emulation.core.conftest import Program

Programs = Callable[[str], Program]
THREADS, ITEMS = 96, 3
N = THREADS * ITEMS


def integers(n: int) -> np.ndarray:
    """Numbers from -20 to 29, many of them often."""
    return np.random.default_rng(3).integers(-20, 30, n).astype(np.int32)


@pytest.mark.slow
@pytest.mark.usefixtures("any_order")
def test_block_reduce(program: Programs) -> None:
    given = np.random.default_rng(0).random((7, THREADS)).astype(np.float32)
    out = np.zeros((7, 4), np.float32)
    program("cubs")("block_reduces", given, out, 7)
    exact = given.astype(np.float64)
    expected = [exact.sum(1), exact.max(1), exact[:, :40].sum(1), exact.sum(1) + THREADS]
    np.testing.assert_allclose(out, np.stack(expected, axis=1), rtol=1e-6)


@pytest.mark.usefixtures("any_order")
def test_block_scan_load_and_store(program: Programs) -> None:
    given, out = integers(N), np.zeros(3 * N + THREADS + 1, np.int32)
    program("cubs")("block_scans", given, out)
    total = given.cumsum()
    np.testing.assert_array_equal(out[:N], total)
    np.testing.assert_array_equal(out[N : 2 * N], total - given)
    before = np.maximum.accumulate([-5, *given[: THREADS - 1]])
    np.testing.assert_array_equal(out[2 * N : 2 * N + THREADS], before)
    np.testing.assert_array_equal(out[2 * N + THREADS : -1], 1000 + total - given)
    assert out[-1] == given.sum()


@pytest.mark.usefixtures("any_order")
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int16, np.float32, np.float64])
def test_block_radix_sort_is_stable(program: Programs, dtype: type) -> None:
    given: np.ndarray = (integers(N) * (1.5 if np.dtype(dtype).kind == "f" else 1)).astype(dtype)
    up, down, places = np.zeros_like(given), np.zeros_like(given), np.zeros(N, np.int32)
    program("cubs")(f"sort_{np.dtype(dtype).name}", given, up, down, places)
    np.testing.assert_array_equal(places, np.argsort(given, kind="stable"))
    np.testing.assert_array_equal(up, np.sort(given))
    np.testing.assert_array_equal(down, np.sort(given)[::-1])


@pytest.mark.usefixtures("any_order")
def test_warp_primitives(program: Programs) -> None:
    given, out = integers(64), np.zeros((64, 5), np.int32)
    program("cubs")("warps", given, out)
    warps, eights = given.reshape(2, 32), given.reshape(8, 8)
    assert out[::32, 0].tolist() == warps.sum(1).tolist()
    assert out[::32, 1].tolist() == warps[:, :10].max(1).tolist()
    np.testing.assert_array_equal(out[:, 2], eights.cumsum(1).ravel())
    np.testing.assert_array_equal(out[:, 3], (eights.cumsum(1) - eights).ravel())
    np.testing.assert_array_equal(out[:, 4], np.repeat(eights.sum(1), 8))


@pytest.mark.parametrize("n", [1, 1000])
def test_device_primitives(program: Programs, n: int) -> None:
    given, places, squares = integers(n), np.arange(n, dtype=np.int32), np.zeros(1)
    out = np.zeros(8 + 8 * n, np.int32)
    program("cubs")("device", given, places, n, out, squares)
    assert out[:4].tolist() == [given.sum(), given.max(), given.min(), given.argmax()]
    assert squares[0] == (given.astype(np.float64) ** 2).sum()
    inclusive, exclusive, odd, unique, descending, order, ascending, flagged = out[8:].reshape(8, n)
    np.testing.assert_array_equal(inclusive, given.cumsum())
    np.testing.assert_array_equal(exclusive, given.cumsum() - given)
    assert odd[: out[4]].tolist() == given[given % 2 == 1].tolist()
    assert unique[: out[5]].tolist() == given[np.append(True, given[1:] != given[:-1])].tolist()
    np.testing.assert_array_equal(order, np.argsort(-given, kind="stable"))
    np.testing.assert_array_equal(descending, given[order])
    np.testing.assert_array_equal(ascending, np.sort(given))
    assert flagged[: out[6]].tolist() == places[given != 0].tolist()
