"""DPX functions, in kernels and in host code, and dot products of small integers, against Python's integers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from .conftest import build_at

Exact = Callable[[int, int, int], int]
OF_THREE: dict[str, Exact] = {
    "__vimax3": max,
    "__vimin3": min,
    "__viaddmax": lambda x, y, z: max(x + y, z),
    "__viaddmin": lambda x, y, z: min(x + y, z),
}
SUFFIXES = ("s32", "u32", "s16x2", "u16x2", "s32_relu", "s16x2_relu")
WITH_RELU = {"__vimax": lambda x, y, _: max(x, y, 0), "__vimin": lambda x, y, _: max(min(x, y), 0)}
BOUNDS: dict[str, Callable[[int, int], bool]] = {"__vibmax": lambda x, y: x >= y, "__vibmin": lambda x, y: x <= y}
DOTS = ("__dp4a", "__dp2a_lo", "__dp2a_hi")
VECTORS = {"s": ("int", "char4", "short2"), "u": ("unsigned", "uchar4", "ushort2")}


def _calls() -> dict[str, str]:
    """Expressions of the words a, b and c, and for predicates p and q, by name."""
    calls = {f"{name}_{suffix}": f"{name}_{suffix}(a, b, c)" for name in OF_THREE for suffix in SUFFIXES}
    calls |= {f"{name}_{kind}_relu": f"{name}_{kind}_relu(a, b)" for name in WITH_RELU for kind in ("s32", "s16x2")}
    for name in BOUNDS:
        calls |= {f"{name}_{sign}32": f"{name}_{sign}32(a, b, p)" for sign in "su"}
        calls |= {f"{name}_{sign}16x2": f"{name}_{sign}16x2(a, b, p, q)" for sign in "su"}
    for name in DOTS:
        for sign, (word, four, two) in VECTORS.items():
            calls[f"{name}_{sign}"] = f"{name}(({word})a, ({word})b, ({word})c)"
            first = four if name == "__dp4a" else two
            calls[f"{name}_{sign}_vectors"] = f"{name}(*({first} *)&a, *({four} *)&b, ({word})c)"
    return calls


CALLS = _calls()


def _cases(names: Iterable[str]) -> str:
    return "".join(f"    case {number}: return unsigned({CALLS[name]});\n" for number, name in enumerate(names))


DOT_CALLS = [name for name in CALLS if name.startswith(DOTS)]  # which CUDA has in kernels only
TEXT = f"""
__host__ __device__ unsigned word_of(int which, unsigned a, unsigned b, unsigned c, bool *p, bool *q) {{
  switch (which) {{
{_cases(name for name in CALLS if name not in DOT_CALLS)}  }}
  return 0;
}}
__device__ unsigned dot_of(int which, unsigned a, unsigned b, unsigned c) {{
  switch (which) {{
{_cases(DOT_CALLS)}  }}
  return 0;
}}
__global__ void dpx_dots(int which, const unsigned *x, unsigned *y) {{
  const int i = threadIdx.x;
  y[i] = dot_of(which, x[3 * i], x[3 * i + 1], x[3 * i + 2]);
}}
EXPORT void dot_in_kernel(int which, const unsigned *x, unsigned *y, bool *) {{ dpx_dots<<<1, 1024>>>(which, x, y); }}
__global__ void dpx_words(int which, const unsigned *x, unsigned *y, bool *p) {{
  const int i = threadIdx.x;
  y[i] = word_of(which, x[3 * i], x[3 * i + 1], x[3 * i + 2], p + 2 * i, p + 2 * i + 1);
}}
EXPORT void in_kernel(int which, const unsigned *x, unsigned *y, bool *p) {{ dpx_words<<<1, 1024>>>(which, x, y, p); }}
EXPORT void on_host(int which, const unsigned *x, unsigned *y, bool *p) {{
  for (int i = 0; i < 1024; ++i)
    y[i] = word_of(which, x[3 * i], x[3 * i + 1], x[3 * i + 2], p + 2 * i, p + 2 * i + 1);
}}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build_at(tmp_path_factory.mktemp("dpx") / "dpx_words.cu", TEXT)


def _words() -> np.ndarray:
    """1024 times three words: all triples of extreme 32-bit integers, extreme halves, equal words, random ones."""
    words = np.random.default_rng(0).integers(0, 1 << 32, (1024, 3), dtype=np.uint32)
    edges = np.array([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF], np.uint32)
    halves = np.array([0, 1, 0x7FFF, 0x8000, 0xFFFF], np.uint32)
    triples = np.array(np.meshgrid(*[range(5)] * 3)).reshape(3, -1).T
    words[:125] = edges[triples]
    words[125:250] = halves[triples] << 16 | halves[triples[:, ::-1]]
    words[250:300, 1] = words[250:300, 0]
    return words


WORDS = _words()


def called(library: ctypes.CDLL, where: str, name: str) -> tuple[list[int], np.ndarray]:
    """The results as unsigned words, and both predicates of each."""
    results, told = np.zeros(1024, np.uint32), np.zeros((1024, 2), np.bool_)
    arrays = (ctypes.c_void_p(a.ctypes.data) for a in (WORDS, results, told))
    names = DOT_CALLS if where == "dot_in_kernel" else list(CALLS)
    getattr(library, where)(names.index(name), *arrays)
    return results.tolist(), told


def parts(word: int, bits: int, *, signed: bool) -> list[int]:
    """The numbers of so many bits in a word, the lowest first."""
    all_parts = [word >> at & (1 << bits) - 1 for at in range(0, 32, bits)]
    return [x - (1 << bits) if signed and x >> (bits - 1) else x for x in all_parts]


def word(numbers: list[int], bits: int) -> int:
    return sum((x & (1 << bits) - 1) << bits * at for at, x in enumerate(numbers))


def wrapped(exact: Exact, bits: int, *, signed: bool, sums: bool) -> Exact:
    """The same of numbers of so many bits: the sum of the first two wraps around."""
    if not sums:
        return exact
    return lambda x, y, z: exact(parts(word([x + y], bits), bits, signed=signed)[0], 0, z)


@pytest.mark.parametrize("where", ["in_kernel", "on_host"])
def test_of_three(library: ctypes.CDLL, where: str) -> None:
    named = {f"{name}_{suffix}": (name, suffix, exact) for name, exact in OF_THREE.items() for suffix in SUFFIXES}
    named |= {f"{n}_{k}_relu": (n, f"{k}_relu", e) for n, e in WITH_RELU.items() for k in ("s32", "s16x2")}
    for full, (name, suffix, exact) in named.items():
        signed, bits = suffix[0] == "s", 16 if "16x2" in suffix else 32
        number = wrapped(exact, bits, signed=signed, sums="add" in name)
        results, _ = called(library, where, full)
        for triple, result in zip(WORDS.tolist(), results, strict=True):
            numbers = [number(*of) for of in zip(*(parts(w, bits, signed=signed) for w in triple), strict=True)]
            expected = word([max(x, 0) for x in numbers] if "relu" in suffix else numbers, bits)
            assert result == expected, (full, [hex(w) for w in triple])


@pytest.mark.parametrize("where", ["in_kernel", "on_host"])
def test_predicates(library: ctypes.CDLL, where: str) -> None:
    for name, chosen in BOUNDS.items():
        for sign in "su":
            for bits, suffix in ((32, "32"), (16, "16x2")):
                results, told = called(library, where, f"{name}_{sign}{suffix}")
                for triple, result, said in zip(WORDS.tolist(), results, told.tolist(), strict=True):
                    a, b = (parts(w, bits, signed=sign == "s") for w in triple[:2])
                    first = [chosen(x, y) for x, y in zip(a, b, strict=True)]
                    expected = [x if is_first else y for x, y, is_first in zip(a, b, first, strict=True)]
                    assert result == word(expected, bits), (name, sign, suffix)
                    # the first predicate is of the upper half
                    assert said[: len(first)] == first[::-1], (name, sign, suffix)


def test_dot_products(library: ctypes.CDLL) -> None:
    for name in DOTS:
        for sign in "su":
            expected = []
            for a, b, c in WORDS.tolist():
                left = parts(a, 8 if name == "__dp4a" else 16, signed=sign == "s")
                right = parts(b, 8, signed=sign == "s")[2 if name.endswith("hi") else 0 :]
                expected.append(word([c + sum(x * y for x, y in zip(left, right, strict=False))], 32))
            assert called(library, "dot_in_kernel", f"{name}_{sign}")[0] == expected, name
            assert called(library, "dot_in_kernel", f"{name}_{sign}_vectors")[0] == expected, name
