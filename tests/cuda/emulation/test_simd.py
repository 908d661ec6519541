"""SIMD intrinsics of two and four integers in a word, against NumPy's integers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from .conftest import build_at

Wide = Callable[[np.ndarray, np.ndarray], np.ndarray]
WRAPS: dict[str, tuple[str, Wide]] = {
    "__vadd": ("u", lambda x, y: x + y),
    "__vsub": ("u", lambda x, y: x - y),
    "__vabsdiffs": ("i", lambda x, y: abs(x - y)),
    "__vabsdiffu": ("u", lambda x, y: abs(x - y)),
    "__vavgs": ("i", lambda x, y: np.sign(x + y) * ((abs(x + y) + 1) // 2)),
    "__vavgu": ("u", lambda x, y: -(-(x + y) // 2)),
    "__vhaddu": ("u", lambda x, y: (x + y) // 2),
    "__vmaxs": ("i", np.maximum),
    "__vmaxu": ("u", np.maximum),
    "__vmins": ("i", np.minimum),
    "__vminu": ("u", np.minimum),
}
COMPARISONS: dict[str, tuple[str, Wide]] = {
    "eq": ("u", np.equal),
    "ne": ("u", np.not_equal),
    "ges": ("i", np.greater_equal),
    "geu": ("u", np.greater_equal),
    "gts": ("i", np.greater),
    "gtu": ("u", np.greater),
    "les": ("i", np.less_equal),
    "leu": ("u", np.less_equal),
    "lts": ("i", np.less),
    "ltu": ("u", np.less),
}
SATURATES: dict[str, tuple[str, Wide]] = {
    "__vaddss": ("i", lambda x, y: x + y),
    "__vaddus": ("u", lambda x, y: x + y),
    "__vsubss": ("i", lambda x, y: x - y),
    "__vsubus": ("u", lambda x, y: x - y),
}
OF_ONE: dict[str, tuple[bool, Wide]] = {
    "__vabs": (False, lambda x, _: abs(x)),
    "__vneg": (False, lambda x, _: -x),
    "__vabsss": (True, lambda x, _: abs(x)),
    "__vnegss": (True, lambda x, _: -x),
}
SUMS = {"__vsads": "i", "__vsadu": "u"}


def _text() -> str:
    compared = (f"__v{kind}{name}" for kind in ("cmp", "set") for name in COMPARISONS)
    names = [f"{name}{n}" for name in (*WRAPS, *compared, *SATURATES, *SUMS) for n in (2, 4)]
    text = "".join(
        f"__global__ void {name}_k(const unsigned *x, const unsigned *y, unsigned *z) {{\n"
        f"  z[threadIdx.x] = {name}(x[threadIdx.x], y[threadIdx.x]);\n}}\n"
        for name in names
    )
    names_of_one = [f"{name}{n}" for name in OF_ONE for n in (2, 4)]
    text += "".join(
        f"__global__ void {name}_k(const unsigned *x, const unsigned *, unsigned *z) {{\n"
        f"  z[threadIdx.x] = {name}(x[threadIdx.x]);\n}}\n"
        for name in names_of_one
    )
    return text + "".join(
        f"EXPORT void {name}_of(const unsigned *x, const unsigned *y, unsigned *z) {{\n"
        f"  {name}_k<<<1, 1024>>>(x, y, z);\n}}\n"
        for name in (*names, *names_of_one)
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build_at(tmp_path_factory.mktemp("simd") / "simd_words.cu", _text())


def _words() -> tuple[np.ndarray, np.ndarray]:
    """Words of all pairs of extreme bytes, then of extreme 16-bit integers, equal ones, and random ones."""
    x, y = np.random.default_rng(0).integers(0, 1 << 32, (2, 1024), dtype=np.uint32)
    for n, edges in (
        (4, np.array([0, 1, 0x7F, 0x80, 0x81, 0xFE, 0xFF], np.uint8)),
        (2, np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF], np.uint16)),
    ):
        start = 0 if n == 4 else 49
        x[start : start + 49] = np.repeat(edges, 7 * n).view(np.uint32)
        y[start : start + 49] = np.tile(np.repeat(edges, n), 7).view(np.uint32)
    y[98:198] = x[98:198]
    return x, y


X, Y = _words()


def called(library: ctypes.CDLL, name: str) -> np.ndarray:
    result = np.zeros_like(X)
    getattr(library, f"{name}_of")(*(ctypes.c_void_p(a.ctypes.data) for a in (X, Y, result)))
    return result


def elements(words: np.ndarray, n: int, sign: str) -> np.ndarray:
    return words.view(np.dtype(f"{sign}{4 // n}")).astype(np.int64).reshape(-1, n)


@pytest.mark.parametrize("n", [2, 4])
def test_two_words(library: ctypes.CDLL, n: int) -> None:
    for name, (sign, exact) in {**WRAPS, **SATURATES}.items():
        dtype = np.dtype(f"{sign}{4 // n}")
        expected = exact(elements(X, n, sign), elements(Y, n, sign))
        if name in SATURATES:
            expected = expected.clip(np.iinfo(dtype).min, np.iinfo(dtype).max)
        words = expected.astype(dtype).reshape(-1).view(np.uint32)
        np.testing.assert_array_equal(called(library, f"{name}{n}"), words, name)


@pytest.mark.parametrize("n", [2, 4])
def test_comparisons(library: ctypes.CDLL, n: int) -> None:
    for name, (sign, holds) in COMPARISONS.items():
        true = holds(elements(X, n, sign), elements(Y, n, sign))
        for kind, one in (("cmp", -1), ("set", 1)):
            words = np.where(true, one, 0).astype(f"i{4 // n}").reshape(-1).view(np.uint32)
            np.testing.assert_array_equal(called(library, f"__v{kind}{name}{n}"), words, name)


@pytest.mark.parametrize("n", [2, 4])
def test_one_word(library: ctypes.CDLL, n: int) -> None:
    dtype = np.dtype(f"i{4 // n}")
    for name, (saturates, exact) in OF_ONE.items():
        expected = exact(elements(X, n, "i"), np.zeros(()))
        if saturates:
            expected = expected.clip(np.iinfo(dtype).min, np.iinfo(dtype).max)
        words = expected.astype(dtype).reshape(-1).view(np.uint32)
        np.testing.assert_array_equal(called(library, f"{name}{n}"), words, name)


@pytest.mark.parametrize("n", [2, 4])
def test_sums_of_differences(library: ctypes.CDLL, n: int) -> None:
    for name, sign in SUMS.items():
        expected = abs(elements(X, n, sign) - elements(Y, n, sign)).sum(1)
        np.testing.assert_array_equal(called(library, f"{name}{n}"), expected, name)
